/// What a commit does with one draft. A value, so that it can run on another thread and more than
/// once.
protocol DraftPart: Sendable {
  var change: RecordChange? { get }
  /// The record, for messages.
  var name: (collection: String, id: String) { get }
  func isConflict(in tx: WriteTransaction) throws -> Bool
  func save(in tx: WriteTransaction) throws
  func delete(in tx: WriteTransaction) throws
  /// What is stored at the end.
  func result(in tx: WriteTransaction) throws -> any DraftResult
}

/// What a commit stored of one draft.
protocol DraftResult: Sendable {
  func take(into draft: AnyDraft)
}

struct RecordPart<R: Record>: DraftPart {
  let state: DraftState<R>
  let change: RecordChange?

  private var id: R.ID { state.record.id }
  var name: (collection: String, id: String) { (R.collectionName, "\(id)") }

  func isConflict(in tx: WriteTransaction) throws -> Bool {
    switch change {
    case nil: false
    case .inserted:
      try tx.exists(R.self, id) && tx.comparison(of: state.record).state != .unchanged
    case .updated:
      try tx.comparison(of: state.origin).state != .unchanged
        && tx.comparison(of: state.record).state != .unchanged
    case .deleted:
      try tx.exists(R.self, id) && tx.comparison(of: state.origin).state != .unchanged
    }
  }

  func save(in tx: WriteTransaction) throws {
    var record = state.record
    if try tx.comparison(of: record).state == .unchanged { return }
    switch change {
    case .inserted:
      try tx.insert(&record)
    case .updated:
      // There was no conflict, so a difference comes from this commit: from hooks and rules of
      // other records. Their changes stay, as do those of the draft.
      if try tx.comparison(of: state.origin).state != .unchanged,
        let stored = try tx.find(R.self, id)
      {
        record = try state.rebased(on: stored).record
      }
      // Records were compared as they are stored, versions included. A draft that was replaced as a
      // whole may have another version.
      try tx.takeStoredVersion(into: &record)
      try tx.update(&record)
    default: break
    }
  }

  func delete(in tx: WriteTransaction) throws { try tx.delete(R.self, id) }

  func result(in tx: WriteTransaction) throws -> any DraftResult {
    do {
      return RecordResult(record: try tx.find(R.self, id))
    } catch let error as LarchError where error.code == .decodingFailed && change == nil {
      // The unit does not change it; whoever loads it gets the error.
      return RecordResult(record: state.isStored ? state.origin : nil)
    }
  }
}

private struct RecordResult<R: Record>: DraftResult {
  let record: R?

  func take(into draft: AnyDraft) { (draft as? Draft<R>)?.finish(record) }
}

/// A whole commit.
struct CommitTask: Sendable {
  let parts: [any DraftPart]

  /// How many records the error of a conflict names.
  private static let namedCount = 20

  func run(in tx: WriteTransaction) throws -> [any DraftResult] {
    let conflicts = try parts.filter { try $0.isConflict(in: tx) }
    if !conflicts.isEmpty { throw Self.error(of: conflicts) }
    try write(in: tx)
    return try parts.map { try $0.result(in: tx) }
  }

  /// Saves first, so that records leave a record that is deleted before its rules reach them. Where
  /// that breaks a rule, deletions come first: a value that must be unique may move to another
  /// record.
  private func write(in tx: WriteTransaction) throws {
    let deleted = parts.filter { $0.change == .deleted }
    let saved = parts.filter { $0.change == .inserted || $0.change == .updated }
    func save() throws { try Self.run(saved) { try $0.save(in: tx) } }
    func delete() throws { try Self.run(deleted) { try $0.delete(in: tx) } }
    if deleted.isEmpty { return try save() }
    do {
      try tx.undoablePart {
        try save()
        try delete()
      }
    } catch let error as LarchError where Self.mayDependOnOrder(error) && !saved.isEmpty {
      do {
        try tx.undoablePart {
          try delete()
          try save()
        }
      } catch let other as LarchError where Self.mayDependOnOrder(other) {
        throw error
      }
    }
  }

  /// Runs all parts; those that fail run again after the others, as long as that helps.
  private static func run(
    _ parts: [any DraftPart], _ body: (any DraftPart) throws -> Void
  ) throws {
    var left = parts
    var isTurned = false
    while !left.isEmpty {
      var failed: [any DraftPart] = []
      // That of the part which comes first in the unit.
      var leading: LarchError?
      for part in left {
        do {
          try body(part)
        } catch let error as LarchError where mayDependOnOrder(error) {
          failed.append(part)
          leading = isTurned ? error : leading ?? error
        }
      }
      if let leading, failed.count == left.count { throw leading }
      // A record that waits for the one after it is written after that one now.
      left = failed.reversed()
      isTurned.toggle()
    }
  }

  /// Whether an error may disappear once other records of the unit are written.
  private static func mayDependOnOrder(_ error: LarchError) -> Bool {
    [.uniqueConflict, .invalid, .deleteDenied, .recordNotFound].contains(error.code)
  }

  private static func error(of conflicts: [any DraftPart]) -> LarchError {
    let names = conflicts.prefix(namedCount).map { "\($0.name.collection) \($0.name.id)" }
    let rest = conflicts.count - names.count
    return LarchError(
      .conflict,
      "Somebody else changed or deleted records of the unit after they were read; nothing was written. `conflicts()` has them: resolve each, then commit again."
    ) {
      $0.collection = conflicts[0].name.collection
      $0.id = conflicts[0].name.id
      $0.detail = names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
  }
}
