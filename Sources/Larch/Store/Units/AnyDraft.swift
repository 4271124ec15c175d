public import Observation

/// A record in a ``UnitOfWork``, whatever its type: what lists and conflicts of several types have
/// in common. See ``Draft``.
public class AnyDraft: Observable {
  /// Its unit, which keeps the drafts with changes. A draft keeps no unit.
  final weak var unit: UnitOfWork?
  final let registrar = ObservationRegistrar()
  final let key: DraftKey
  /// Rises with each change of its state, so that a commit knows what came after it began.
  final var edits = 0
  /// The place among the drafts with changes.
  final var order = 0

  /// The name of its collection.
  public final let collection: String

  init(_ key: DraftKey, collection: String, unit: UnitOfWork) {
    self.key = key
    self.collection = collection
    self.unit = unit
  }

  // The rest is overridden by `Draft`, which knows the type.

  /// What the next commit does with the record; nil for nothing.
  ///
  /// - Complexity: O(1).
  public var change: RecordChange? { nil }

  /// Whether the next commit does anything with the record.
  ///
  /// - Complexity: O(1).
  public final var hasChanges: Bool { change != nil }

  /// Whether the record will be deleted by the next commit, or is not stored any more, or was
  /// inserted and taken back.
  ///
  /// - Complexity: O(1).
  public var isDeleted: Bool { false }

  /// The id as text, for messages.
  public var idText: String { "" }

  /// The fields in which the record differs from the stored one that was read; for a record that is
  /// not stored, all fields that have a value. See ``RecordReading/changes(of:)``.
  ///
  /// - Throws: `.encodingFailed`.
  /// - Complexity: the encoding of both records.
  public func changes() throws -> [FieldChange] { [] }

  /// Takes the edits of this record back, a deletion too. It is an edit itself, which can be
  /// undone.
  ///
  /// A record that the unit inserted becomes what it was then; it stays inserted.
  ///
  /// - Complexity: the encoding of the record.
  public func revert() {}

  // What a unit asks of it.

  /// Whether there are changes, for the unit, which is no reader of it.
  var isChangedNow: Bool { false }
  func markDeleted() {}
  func makePart() throws -> any DraftPart {
    // Only Larch makes drafts, each is a `Draft`, and that overrides this.
    preconditionFailure("\(Self.self) has no part in a commit.")
  }
  func discard() {}
  func beginCommit() {}
  func endCommit() {}
  func conflict(in tx: ReadTransaction) throws -> DraftConflict? { nil }
  func resolve(_ conflict: DraftConflict, by resolution: ConflictResolution) throws {}
  /// Reads the record; what is returned takes it, after the transaction.
  func refresh(in tx: ReadTransaction) throws -> () -> Void { {} }
}

extension AnyDraft: Hashable {
  /// Whether both are one draft.
  public static func == (a: AnyDraft, b: AnyDraft) -> Bool { a === b }

  /// Hashes its identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

@available(*, unavailable)
extension AnyDraft: Sendable {}

/// The identity of a record: its type, and its id as the store has it.
struct DraftKey: Hashable, Sendable {
  let type: ObjectIdentifier
  let id: [UInt8]

  init<R: Record>(_ type: R.Type, _ id: R.ID) throws {
    self.type = ObjectIdentifier(type)
    var writer = KeyWriter()
    try id._writeID(to: &writer)
    self.id = [UInt8](writer.bytes)
  }
}
