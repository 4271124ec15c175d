import LarchTestSupport
import Testing

@testable import Larch

/// A unit of work in plain arrays and dictionaries, and a store that is one dictionary.
struct UnitModel {
  typealias Entry = Units.Entry

  /// A draft: what it began with, and what it is now.
  struct Slot: Equatable {
    /// Nil if it is not stored.
    var origin: Entry?
    /// What it is reverted to.
    var start: Entry
    var record: Entry
    var isDeleted: Bool

    init(stored: Entry) {
      (origin, start, record, isDeleted) = (stored, stored, stored, false)
    }

    var change: RecordChange? {
      if isDeleted { return origin == nil ? nil : .deleted }
      guard let origin else { return .inserted }
      return record == origin ? nil : .updated
    }

    /// Without edits, it becomes what is stored.
    mutating func refresh(_ stored: Entry?) {
      guard change == nil else { return }
      if let stored {
        self = Slot(stored: stored)
      } else if origin != nil {
        (origin, isDeleted, start) = (nil, true, record)
      }
    }

    func isConflict(_ stored: Entry?) -> Bool {
      switch change {
      case nil: false
      case .inserted: stored != nil && stored != record
      case .updated: stored != origin && stored != record
      case .deleted: stored != nil && stored != origin
      }
    }
  }

  struct Step {
    var name: String?
    var edits: [(slot: Int, before: Slot, after: Slot)] = []
  }

  var stored: [Entry.ID: Entry] = [:]
  var slots: [Slot] = []
  var done: [Step] = []
  var undone: [Step] = []
  /// The slots with changes, in the order in which they got them.
  var changed: [Int] = []

  // MARK: Edits

  mutating func set(_ slot: Int, _ value: Slot) {
    let old = slots[slot].change
    slots[slot] = value
    if old == nil, value.change != nil { changed.append(slot) }
    if value.change == nil { changed.removeAll { $0 == slot } }
  }

  /// Makes an edit; returns it for a step.
  mutating func edit(_ slot: Int, _ body: (inout Slot) -> Void) -> Step {
    let before = slots[slot]
    var after = before
    body(&after)
    if before == after { return Step() }
    set(slot, after)
    return Step(edits: [(slot, before, after)])
  }

  mutating func push(_ step: Step) {
    if step.edits.isEmpty { return }
    done.append(step)
    undone = []
  }

  mutating func undo() -> Bool {
    guard let step = done.popLast() else { return false }
    for edit in step.edits.reversed() { set(edit.slot, edit.before) }
    undone.append(step)
    return true
  }

  mutating func redo() -> Bool {
    guard let step = undone.popLast() else { return false }
    for edit in step.edits { set(edit.slot, edit.after) }
    done.append(step)
    return true
  }

  mutating func discard() {
    for slot in changed {
      var value = slots[slot]
      value.record = value.start
      value.isDeleted = value.origin == nil
      set(slot, value)
    }
    (done, undone) = ([], [])
  }

  mutating func refresh() {
    for slot in slots.indices { slots[slot].refresh(stored[slots[slot].record.id]) }
  }

  /// Whether a step or a change holds a draft that nobody else keeps.
  func isKept(_ slot: Int) -> Bool {
    slots[slot].change != nil
      || (done + undone).contains { $0.edits.contains { $0.slot == slot } }
  }

  // MARK: Conflicts

  var conflicts: [Int] {
    changed.filter { slots[$0].isConflict(stored[slots[$0].record.id]) }
  }

  static func merged(_ base: Entry, _ mine: Entry, into stored: Entry) -> Entry {
    var result = stored
    if mine.name != base.name { result.name = mine.name }
    if mine.code != base.code { result.code = mine.code }
    if mine.notes != base.notes { result.notes = mine.notes }
    if mine.parentID != base.parentID { result.parentID = mine.parentID }
    return result
  }

  /// The fields that both sides changed, to different values.
  static func clashes(_ base: Entry, _ mine: Entry, _ theirs: Entry) -> [String] {
    func clash<Value: Equatable>(_ name: String, _ field: KeyPath<Entry, Value>) -> [String] {
      let (mine, theirs, base) = (
        mine[keyPath: field], theirs[keyPath: field], base[keyPath: field]
      )
      return mine != base && theirs != base && mine != theirs ? [name] : []
    }
    return clash("code", \.code) + clash("name", \.name) + clash("notes", \.notes)
      + clash("parentID", \.parentID)
  }

  func isMergeable(_ slot: Int) -> Bool {
    let value = slots[slot]
    guard value.change == .updated, let base = value.origin, let theirs = stored[value.record.id]
    else { return false }
    return Self.clashes(base, value.record, theirs).isEmpty
  }

  mutating func resolve(_ slot: Int, by resolution: ConflictResolution) -> Step {
    let theirs = stored[slots[slot].record.id]
    return edit(slot) { value in
      switch resolution {
      case .takeTheirs:
        if let theirs {
          value = Slot(stored: theirs)
        } else {
          (value.origin, value.isDeleted, value.start) = (nil, true, value.record)
        }
      case .keepMine:
        value.origin = theirs
        if let theirs { value.start = theirs }
      case .merge:
        // Only where it is mergeable, so that both exist.
        value.record = Self.merged(value.origin!, value.record, into: theirs!)
        (value.origin, value.start) = (theirs, theirs!)
      }
    }
  }

  // MARK: The commit

  /// What a commit stores, or the code of its error.
  func outcome() -> Result<[Entry.ID: Entry], CommitError> {
    if changed.isEmpty { return .success(stored) }
    if !conflicts.isEmpty { return .failure(CommitError(code: .conflict)) }
    let saved = changed.filter { slots[$0].change != .deleted }
    let deleted = changed.filter { slots[$0].change == .deleted }
    var result: [Entry.ID: Entry]
    do throws(CommitError) {
      do throws(CommitError) {
        result = stored
        try save(saved, to: &result)
        delete(deleted, from: &result)
      } catch {
        if deleted.isEmpty { throw error }
        result = stored
        delete(deleted, from: &result)
        guard (try? save(saved, to: &result)) != nil else { throw error }
      }
    } catch {
      return .failure(error)
    }
    for entry in result.values {
      if let parent = entry.parentID, result[parent] == nil {
        return .failure(CommitError(code: .danglingReference))
      }
    }
    return .success(result)
  }

  struct CommitError: Error, Equatable { let code: LarchError.Code }

  private func delete(_ deleted: [Int], from result: inout [Entry.ID: Entry]) {
    for slot in deleted {
      let id = slots[slot].record.id
      result[id] = nil
      for (child, entry) in result where entry.parentID == id { result[child]?.parentID = nil }
    }
  }

  private func save(
    _ slots: [Int], to result: inout [Entry.ID: Entry]
  ) throws(CommitError) {
    var left = slots
    while !left.isEmpty {
      var failed: [Int] = []
      var first: CommitError?
      for slot in left {
        do throws(CommitError) { try save(self.slots[slot], to: &result) } catch {
          failed.append(slot)
          first = first ?? error
        }
      }
      if let first, failed.count == left.count { throw first }
      left = failed
    }
  }

  private func save(_ slot: Slot, to result: inout [Entry.ID: Entry]) throws(CommitError) {
    var record = slot.record
    let now = result[record.id]
    if now == record { return }
    if let origin = slot.origin {
      guard let now else { throw CommitError(code: .recordNotFound) }
      if now != origin { record = Self.merged(origin, record, into: now) }
    }
    if record.name.isEmpty, now?.name != record.name { throw CommitError(code: .invalid) }
    if let code = record.code,
      result.values.contains(where: { $0.code == code && $0.id != record.id })
    {
      throw CommitError(code: .uniqueConflict)
    }
    result[record.id] = record
  }

  /// After a commit, everything is what is stored.
  mutating func commit(_ result: [Entry.ID: Entry]) {
    if changed.isEmpty { return }
    stored = result
    (done, undone, changed) = ([], [], [])
    for slot in slots.indices {
      let id = slots[slot].record.id
      if let record = stored[id] {
        slots[slot] = Slot(stored: record)
      } else if slots[slot].origin != nil || !slots[slot].isDeleted {
        let record = slots[slot].record
        slots[slot] = Slot(stored: record)
        (slots[slot].origin, slots[slot].isDeleted) = (nil, true)
      }
    }
  }
}
