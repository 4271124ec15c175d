import LarchTestSupport
import Testing

@testable import Larch

/// Thousands of random steps of a unit of work, and of others who write meanwhile, beside a model
/// of arrays and dictionaries.
@Suite struct UnitModelTests {
  typealias Entry = Units.Entry

  @Test func aUnitOfWorkDoesWhatItsModelDoes() throws {
    var counts: [String: Int] = [:]
    for seed in 1...8 {
      var run = try Run(seed: UInt64(seed))
      for number in 0..<1000 {
        let operation = try run.step()
        try run.check("seed \(seed), step \(number), \(operation)")
      }
      try run.finish()
      #expect(try run.store.verify().isClean)
      counts.merge(run.counts) { $0 + $1 }
    }
    // It must meet what it is for.
    for what in [
      "commit", "conflict", "invalid", "unique_conflict", "dangling_reference", "keepMine",
      "takeTheirs", "merge", "undo", "redo",
    ] {
      #expect(counts[what, default: 0] > 1, "it never met \(what): \(counts)")
    }
  }

  struct Run {
    var random: SeededGenerator
    let store: Store
    let work: UnitOfWork
    var model = UnitModel()
    var drafts: [Draft<Entry>?] = []
    var counts: [String: Int] = [:]

    init(seed: UInt64) throws {
      random = SeededGenerator(seed: seed)
      store = try Units.store()
      work = store.work()
    }

    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    /// A slot whose draft the program still has.
    mutating func anySlot() -> Int? {
      drafts.indices.filter { drafts[$0] != nil }.randomElement(using: &random)
    }

    mutating func anyID() -> Entry.ID? {
      (model.stored.keys.sorted() + model.slots.map(\.record.id)).randomElement(using: &random)
    }

    // MARK: One step

    /// Does something, and returns what.
    mutating func step() throws -> String {
      let place = below(40)
      let name = Self.names.first { $0.value.contains(place) }?.key ?? "elsewhere"
      switch name {
      case "load": try load()
      case "query": try query()
      case "insert": model.push(try insert())
      case "edit": model.push(try edit())
      case "group": try group()
      case "undo": try undo()
      case "redo": try redo()
      case "discard": if below(4) == 0 { discard() }
      case "refresh": try refresh()
      case "commit": try commit()
      case "resolve": try resolve()
      case "forget": forget()
      default: try elsewhere()
      }
      return name
    }

    /// How often each happens, in 40.
    private static let names: [String: Range<Int>] = [
      "load": 0..<4, "query": 4..<5, "insert": 5..<7, "edit": 7..<17, "group": 17..<18,
      "undo": 18..<21, "redo": 21..<23, "discard": 23..<24, "refresh": 24..<25, "commit": 25..<30,
      "resolve": 30..<34, "forget": 34..<35,
    ]

    /// The draft of a slot must be the one that was given before.
    mutating func meet(_ draft: Draft<Entry>, stored: Entry) {
      if let slot = model.slots.firstIndex(where: { $0.record.id == draft.id }) {
        if let known = drafts[slot] { #expect(known === draft) }
        drafts[slot] = draft
        model.slots[slot].refresh(stored)
      } else {
        drafts.append(draft)
        model.slots.append(.init(stored: stored))
      }
    }

    mutating func load() throws {
      guard let id = anyID() else { return }
      let slot = model.slots.firstIndex { $0.record.id == id }
      let found = try work.draft(Entry.self, id)
      if let slot, model.slots[slot].change != nil {
        #expect((found == nil) == model.slots[slot].isDeleted)
        if let found { drafts[slot] = found }
      } else if let stored = model.stored[id] {
        meet(try #require(found), stored: stored)
      } else {
        #expect(found == nil)
        if let slot { model.slots[slot].refresh(nil) }
      }
    }

    mutating func query() throws {
      let found = try work.drafts(Entry.where { $0.name == "n1" })
      let expected = model.stored.values.filter { $0.name == "n1" }.sorted { $0.id < $1.id }
      var place = 0
      for stored in expected {
        let slot = model.slots.firstIndex { $0.record.id == stored.id }
        if let slot, model.slots[slot].change == .deleted { continue }
        try #require(place < found.count)
        #expect(found[place].id == stored.id)
        meet(found[place], stored: stored)
        place += 1
      }
      #expect(place == found.count)
    }

    mutating func randomName() -> String { below(12) == 0 ? "" : "n\(below(5))" }

    mutating func insert() throws -> UnitModel.Step {
      let entry = Entry(
        name: randomName(), code: below(2) == 0 ? below(20) : nil,
        parentID: below(3) == 0 ? anyID() : nil)
      let draft = try work.insert(entry)
      drafts.append(draft)
      var slot = UnitModel.Slot(stored: draft.record)
      (slot.origin, slot.isDeleted) = (nil, true)
      model.slots.append(slot)
      return model.edit(model.slots.count - 1) { $0.isDeleted = false }
    }

    mutating func edit() throws -> UnitModel.Step {
      guard let slot = anySlot(), let draft = drafts[slot] else { return .init() }
      let (kind, number, name, parent) = (below(12), below(20), randomName(), anyID())
      switch kind {
      case 0..<3: draft.name = name
      case 3..<5: draft.code = number
      case 5: draft.code = nil
      case 6: draft.notes.append("m\(number % 3)")
      case 7: draft.parentID = parent
      case 8: draft.parentID = nil
      case 9: try work.delete(draft)
      case 10: draft.revert()
      default:
        draft.edit {
          $0.name = name
          $0.code = number
        }
      }
      return model.edit(slot) { value in
        switch kind {
        case 0..<3: value.record.name = name
        case 3..<5: value.record.code = number
        case 5: value.record.code = nil
        case 6: value.record.notes.append("m\(number % 3)")
        case 7: value.record.parentID = parent
        case 8: value.record.parentID = nil
        case 9: value.isDeleted = true
        case 10:
          guard value.change != nil else { return }
          value.record = value.start
          if value.origin != nil { value.isDeleted = false }
        default:
          value.record.name = name
          value.record.code = number
        }
      }
    }

    /// Several edits as one step, which may fail as a whole.
    mutating func group() throws {
      let before = model
      let fails = below(3) == 0
      var step = UnitModel.Step(name: "group")
      do {
        try work.step("group") {
          for _ in 0..<below(6) { step.edits += try edit().edits }
          if fails { throw Stop() }
        }
        model.push(step)
      } catch is Stop {
        let slots = model.slots
        model = before
        // The edits are taken back one by one; what is changed stays in the order of that.
        #expect(slots.count == model.slots.count)
        model.changed = []
        for draft in work.changedDrafts {
          if let slot = model.slots.firstIndex(where: { $0.record.id == draft.entryID }) {
            model.changed.append(slot)
          }
        }
      }
    }

    mutating func undo() throws {
      let done = model.undo()
      #expect(work.undo() == done)
      if done { counts["undo", default: 0] += 1 }
    }

    mutating func redo() throws {
      let done = model.redo()
      #expect(work.redo() == done)
      if done { counts["redo", default: 0] += 1 }
    }

    mutating func discard() {
      work.discard()
      model.discard()
    }

    mutating func refresh() throws {
      let conflicts = try work.refresh()
      model.refresh()
      #expect(conflicts.map(\.draft.entryID) == model.conflicts.map { model.slots[$0].record.id })
    }

    mutating func commit() throws {
      let outcome = model.outcome()
      let hadChanges = !model.changed.isEmpty
      var thrown: LarchError.Code?
      do {
        try work.commit()
      } catch let error as LarchError {
        thrown = error.code
        if error.code == .conflict {
          let names = model.conflicts.map { "Entry \(model.slots[$0].record.id)" }
          let rest = names.count > 20 ? " and \(names.count - 20) more" : ""
          #expect(error.context.detail == names.prefix(20).joined(separator: ", ") + rest)
        }
      }
      switch outcome {
      case .success(let result):
        #expect(thrown == nil)
        // Drafts that nobody keeps are gone then.
        model.commit(result)
        if hadChanges { counts["commit", default: 0] += 1 }
      case .failure(let error):
        #expect(thrown == error.code)
        counts[error.code.rawValue, default: 0] += 1
        // Otherwise the unit would never commit anything again.
        if error.code != .conflict, below(3) > 0 { discard() }
      }
    }

    mutating func resolve() throws {
      let conflicts = try work.conflicts()
      let expected = model.conflicts
      #expect(conflicts.map(\.draft.entryID) == expected.map { model.slots[$0].record.id })
      for (conflict, slot) in zip(conflicts, expected) {
        #expect(conflict.isMergeable == model.isMergeable(slot))
        let value = model.slots[slot]
        if value.change == .updated, let base = value.origin,
          let theirs = model.stored[value.record.id]
        {
          #expect(conflict.clashes == UnitModel.clashes(base, value.record, theirs))
          #expect(conflict.stored(Entry.self) == theirs)
        }
      }
      if below(3) == 0 {
        // One of them.
        guard let place = conflicts.indices.randomElement(using: &random) else { return }
        let resolution: ConflictResolution =
          conflicts[place].isMergeable ? .merge : below(2) == 0 ? .keepMine : .takeTheirs
        try work.resolve(conflicts[place], by: resolution)
        counts["\(resolution)", default: 0] += 1
        return model.push(model.resolve(expected[place], by: resolution))
      }
      let resolution: ConflictResolution = [.merge, .keepMine, .takeTheirs][below(3)]
      let left = try work.resolveConflicts(by: resolution)
      var step = UnitModel.Step()
      var leftSlots: [Int] = []
      for slot in expected {
        if resolution == .merge, !model.isMergeable(slot) {
          leftSlots.append(slot)
        } else {
          step.edits += model.resolve(slot, by: resolution).edits
          counts["\(resolution)", default: 0] += 1
        }
      }
      #expect(left.map(\.draft.entryID) == leftSlots.map { model.slots[$0].record.id })
      model.push(step)
    }

    /// The program no longer keeps a draft; without changes, it goes.
    mutating func forget() {
      guard let slot = anySlot() else { return }
      weak let draft = drafts[slot]
      drafts[slot] = nil
      let isKept = model.isKept(slot)
      #expect((draft != nil) == isKept)
      if isKept {
        drafts[slot] = draft
      } else {
        drafts.remove(at: slot)
        model.slots.remove(at: slot)
        func moved(_ other: Int) -> Int { other > slot ? other - 1 : other }
        model.changed = model.changed.map(moved)
        for place in model.done.indices {
          model.done[place].edits = model.done[place].edits.map {
            (moved($0.slot), $0.before, $0.after)
          }
        }
        for place in model.undone.indices {
          model.undone[place].edits = model.undone[place].edits.map {
            (moved($0.slot), $0.before, $0.after)
          }
        }
      }
    }

    // MARK: Others

    mutating func elsewhere() throws {
      let taken = Set(model.stored.values.compactMap(\.code))
      let code = (0..<30).filter { !taken.contains($0) }.randomElement(using: &random)
      let kind = below(8)
      guard kind > 1, let id = model.stored.keys.sorted().randomElement(using: &random) else {
        var entry = Entry(name: "n\(below(5))", code: code)
        try store.save(&entry)
        model.stored[entry.id] = entry
        return
      }
      if kind == 2 {
        try store.delete(Entry.self, id)
        model.stored[id] = nil
        for (child, entry) in model.stored where entry.parentID == id {
          model.stored[child]?.parentID = nil
        }
        return
      }
      guard var entry = model.stored[id] else { return }
      switch kind {
      case 3: entry.name = "n\(below(5))"
      case 4: entry.code = code
      case 5: entry.parentID = model.stored.keys.sorted().randomElement(using: &random)
      default: entry.notes.append("e\(below(3))")
      }
      try store.update(entry)
      model.stored[id] = entry
    }

    // MARK: Comparing

    func check(_ what: String) throws {
      for (slot, draft) in drafts.enumerated() {
        guard let draft else { continue }
        let expected = model.slots[slot]
        try #require(draft.record == expected.record, "\(what), record of \(draft.id)")
        try #require(draft.isDeleted == expected.isDeleted, "\(what), deletion of \(draft.id)")
        try #require(draft.change == expected.change, "\(what), change of \(draft.id)")
        try #require(draft.stored == expected.origin, "\(what), stored state of \(draft.id)")
        try #require(draft.hasChanges == (expected.change != nil), "\(what)")
      }
      try #require(work.hasChanges == !model.changed.isEmpty, "\(what)")
      let changed = work.changedDrafts.map(\.entryID)
      try #require(changed == model.changed.map { model.slots[$0].record.id }, "\(what), order")
      try #require(work.canUndo == !model.done.isEmpty && work.canRedo == !model.undone.isEmpty)
      try #require(work.undoName == model.done.last?.name, "\(what)")
      try #require(work.redoName == model.undone.last?.name, "\(what)")
      let stored = try store.fetch(Entry.all)
      try #require(stored == model.stored.values.sorted { $0.id < $1.id }, "\(what), the file")
    }

    /// In the end everything can be committed.
    mutating func finish() throws {
      try work.resolveConflicts(by: .takeTheirs)
      work.discard()
      for draft in work.changedDrafts { try work.delete(draft) }
      try work.refresh()
      #expect(!work.hasChanges)
    }
  }
}

extension AnyDraft {
  fileprivate var entryID: Units.Entry.ID? { (self as? Draft<Units.Entry>)?.id }
}
