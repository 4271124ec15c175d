/// A draft whose record somebody else changed, deleted or inserted after the unit had read it.
///
/// Nothing is written until each is resolved: see ``UnitOfWork/resolve(_:by:)``.
public struct DraftConflict {
  /// What somebody else did with the record.
  public enum Kind: Hashable, Sendable {
    /// The stored record differs from the one that was read.
    case changed
    /// The record is not stored any more.
    case deleted
    /// A record was stored under the id of one that the unit inserts.
    case inserted
  }

  /// The draft, with its edits.
  public let draft: AnyDraft
  /// What somebody else did.
  public let kind: Kind
  /// The fields that the unit changed; none if it deletes the record.
  public let mine: [FieldChange]
  /// The fields that somebody else changed; none if the record is not stored any more.
  public let theirs: [FieldChange]
  /// The stored properties that both changed, to different values: the names that `mine` and
  /// `theirs` have in common. Without any, ``ConflictResolution/merge`` keeps both changes.
  public let clashes: [String]
  /// Whether ``ConflictResolution/merge`` resolves it: both sides changed the record, and no
  /// property clashes.
  public let isMergeable: Bool
  /// The record that is stored now, and how to use it: a `StoredSide`.
  let stored: any Sendable

  /// The name of the collection.
  public var collection: String { draft.collection }

  /// The id as text.
  public var id: String { draft.idText }

  /// The record that is stored now; nil if there is none, and for another type.
  ///
  /// ```swift
  /// let theirs = conflict.stored(Person.self)
  /// ```
  public func stored<R: Record>(_ type: R.Type) -> R? { (stored as? StoredSide<R>)?.record }
}

extension DraftConflict: CustomStringConvertible {
  /// The record, what was done with it, and the properties that clash.
  public var description: String {
    let names = clashes.isEmpty ? "" : ", both changed \(clashes.joined(separator: ", "))"
    return "\(collection) \(id) was \(kind)\(names)"
  }
}

/// What to do about a conflict.
public enum ConflictResolution: Hashable, Sendable {
  /// The draft stays as it is, whole: the commit overwrites what somebody else changed, deletes a
  /// record that was changed, and inserts again one that was deleted.
  case keepMine
  /// The draft becomes what is stored, and loses its edits.
  case takeTheirs
  /// The properties that the unit changed stay as the draft has them, the others become what is
  /// stored. Only if both sides changed the record, and different properties.
  case merge
}

/// The stored record of a conflict.
struct StoredSide<R: Record>: Sendable {
  let record: R?
  /// What the edits began with when the conflict was found; nil for a record that was not stored.
  let base: R?
  let version: VersionDeclaration<R>?
}

extension Draft {
  func findConflict(in tx: ReadTransaction) throws -> DraftConflict? {
    guard let change = state.change else { return nil }
    let stored = try tx.find(R.self, state.record.id)
    let kind: DraftConflict.Kind
    if let stored {
      if change != .deleted, state.isSame(state.record.keepingTimes(of: stored), stored) {
        return nil
      }
      if state.isStored, state.isSame(state.origin.keepingTimes(of: stored), stored) { return nil }
      kind = state.isStored ? .changed : .inserted
    } else {
      if change != .updated { return nil }
      kind = .deleted
    }
    let mine = change == .deleted ? [] : try state.changes()
    let theirs = try stored.map { try $0.changes(from: state.isStored ? state.origin : nil) } ?? []
    let clashes = change == .deleted ? [] : try stored.map { try self.clashes(with: $0) } ?? []
    let declarations = try tx.context.collection(of: R.self).declarations(of: R.self)
    return DraftConflict(
      draft: self, kind: kind, mine: mine, theirs: theirs, clashes: clashes,
      isMergeable: kind == .changed && change == .updated && clashes.isEmpty,
      stored: StoredSide(
        record: stored, base: state.isStored ? state.origin : nil, version: declarations.version))
  }

  /// The stored properties that the edits and somebody else changed, to different values.
  private func clashes(with stored: R) throws -> [String] {
    let mine = state.record.keepingTimes(of: stored)
    let differing = Self.properties(try mine.changes(from: stored))
    guard state.isStored else { return differing.sorted() }
    let changed = Self.properties(try state.changes())
    let theirs = Self.properties(try stored.changes(from: state.origin))
    return changed.intersection(theirs).intersection(differing).sorted()
  }

  /// The unit of a merge is a stored property.
  private static func properties(_ changes: [FieldChange]) -> Set<String> {
    Set(changes.map { $0.path.first ?? "" })
  }

  func settle(_ conflict: DraftConflict, by resolution: ConflictResolution) throws {
    guard let side = conflict.stored as? StoredSide<R> else { return }
    let isCurrent = side.base.map { state.isStored && state.isSame($0, state.origin) }
    guard isCurrent ?? !state.isStored else { throw outdated }
    guard let change = state.change else {
      // Its edits were taken back meanwhile, so there is nothing to keep.
      return take(side.record.map { DraftState(stored: $0) } ?? DraftState(absent: state.record))
    }
    var next = state
    switch resolution {
    case .takeTheirs:
      next = side.record.map { DraftState(stored: $0) } ?? DraftState(absent: state.record)
    case .keepMine:
      next.isStored = side.record != nil
      if let stored = side.record {
        next.origin = RecordComparer.snapshot(of: stored)
        next.record = RecordComparer.snapshot(of: state.record).keepingTimes(of: stored)
        if let version = side.version { version.set(&next.record, version.number(stored)) }
      }
    case .merge:
      guard conflict.kind == .changed, change == .updated, let stored = side.record,
        try clashes(with: stored).isEmpty
      else { throw try cannotMerge(with: side.record) }
      next = try state.rebased(on: stored)
    }
    self.change(to: next)
  }

  private var outdated: LarchError {
    LarchError(
      .conflict,
      "The conflict is out of date, since the draft was resolved, committed or read again; `conflicts()` has those of now."
    ) {
      $0.collection = collection
      $0.id = idText
    }
  }

  private func cannotMerge(with stored: R?) throws -> LarchError {
    let names = try stored.map { try clashes(with: $0) } ?? []
    return LarchError(
      .conflict,
      "The changes of both sides cannot be merged; keep yours, take theirs, or edit the draft first."
    ) {
      $0.collection = collection
      $0.id = idText
      $0.detail =
        names.isEmpty
        ? "one side deleted or inserted it" : "both changed \(names.joined(separator: ", "))"
    }
  }
}

extension Record {
  fileprivate func changes(from old: Self?) throws -> [FieldChange] {
    try RecordComparer.with { try $0.changes(from: old, to: self) }
  }
}
