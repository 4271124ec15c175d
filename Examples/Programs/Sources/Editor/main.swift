import Foundation
import Larch

/// A list in an editor: a unit of work, undo, and a colleague who saves the same list meanwhile. It
/// checks what it prints, and ends with 1 where something is wrong.
func check(_ isRight: Bool, _ what: String) {
  guard !isRight else { return }
  print("wrong: \(what)")
  exit(1)
}

/// What a screen keeps: the list, its lines, and the unit that they are edited in.
@MainActor final class Editor {
  let work: UnitOfWork
  let list: Draft<TodoList>
  private(set) var items: [Draft<Item>] = []

  init?(_ id: TodoList.ID, in store: Store) throws {
    work = store.work()
    guard let list = try work.draft(TodoList.self, id) else { return nil }
    self.list = list
    try load()
  }

  /// The lines as they are stored, with those that were added here, and without the deleted ones.
  func load() throws {
    let stored = try work.drafts(list.record.related(TodoList.items))
    let added = work.drafts(of: Item.self, .inserted).filter { !stored.contains($0) }
    items = (stored + added).sorted { ($0.place, $0.id) < ($1.place, $1.id) }
  }

  func add(_ text: String) async throws {
    items.append(try await work.insert(Item(text: text, place: items.count, listID: list.id)))
  }

  func remove(_ item: Draft<Item>) throws {
    try work.step("Remove \(item.text)") {
      try work.delete(item)
      for other in items where other.place > item.place { other.place -= 1 }
    }
    try load()
  }

  /// Saves. Different fields are merged; where both changed the same one, the user is asked.
  func save(_ ask: (DraftConflict) -> ConflictResolution) async throws {
    while true {
      do {
        try await work.commit(author: "editor")
        return try load()
      } catch let error as LarchError where error.code == .conflict {
        print("not saved: \(error.context.detail ?? "")")
        for conflict in try work.resolveConflicts(by: .merge) {
          print("  \(conflict)")
          try work.resolve(conflict, by: ask(conflict))
        }
      }
    }
  }

  var text: String {
    items.map { "\($0.hasChanges ? "*" : " ") [\($0.isDone ? "x" : " ")] \($0.text)" }
      .joined(separator: "\n")
  }
}

@MainActor func run(_ store: Store) async throws {
  var garden = TodoList(title: "Garden")
  try await garden.save(in: store)
  try await store.write { [garden] tx in
    for (place, text) in ["Dig", "Sow", "Water"].enumerated() {
      var item = Item(text: text, place: place, listID: garden.id)
      try tx.save(&item)
    }
  }
  guard let editor = try Editor(garden.id, in: store) else {
    return check(false, "the list is there")
  }

  // MARK: Edits, and one too many

  editor.items[0].text = "Dig deeply"
  editor.items[1].isDone = true
  try await editor.add("Harvest")
  try editor.remove(editor.items[2])
  check(editor.items.map(\.text) == ["Dig deeply", "Sow", "Harvest"], "a line was removed")
  check(editor.work.undoName == "Remove Water", "the step has its name")
  editor.work.undo()
  try editor.load()
  check(editor.items.map(\.text) == ["Dig deeply", "Sow", "Water", "Harvest"], "and is back")
  print("edited:\n\(editor.text)")
  check(try store.fetch(Item.select(\.text)) == ["Dig", "Sow", "Water"], "nothing is saved yet")

  // MARK: A colleague is faster

  try await store.write(author: "colleague") { tx in
    for var item in try tx.fetch(Item.all) {
      if item.text == "Dig" { item.text = "Dig with a spade" }
      if item.text == "Sow" { item.text = "Sow peas" }
      if item.text == "Water" { item.isDone = true }
      try tx.update(item)
    }
  }
  var asked: [String] = []
  try await editor.save { conflict in
    asked += conflict.clashes
    return .keepMine
  }
  print("saved:\n\(editor.text)")
  check(asked == ["text"], "only the line whose text both changed was asked for")
  let stored = try store.fetch(Item.all.sorted(by: \.place))
  check(stored.map(\.text) == ["Dig deeply", "Sow peas", "Water", "Harvest"], "both are kept")
  check(stored.map(\.isDone) == [false, true, true, false], "and so is what was ticked")
  check(!editor.work.hasChanges && !editor.text.contains("*"), "the editor has what is stored")

  // MARK: A rule of the schema

  editor.items[3].text = " "
  do {
    try await editor.work.commit()
    check(false, "an empty line is refused")
  } catch let error as LarchError where error.code == .invalid {
    print("not saved: \(error.validationErrors[0].keyword)")
  }
  check(editor.items[3].hasChanges, "the edit is still there")
  editor.items[3].revert()
  editor.work.discard()
  check(!editor.work.hasChanges, "and was taken back")
}

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("editor-\(UUID())")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
let store = try Store(
  at: folder.appendingPathComponent("lists.larch").path, for: TodoList.self, Item.self)
defer { store.close() }
try await run(store)
print("fine")
