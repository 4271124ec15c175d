/// A record that knows what is stored of it, and stores what differs.
///
/// Its properties are read and set as those of the record itself.
///
/// ```swift
/// var ada = try store.tracked(Person.self, id)!
/// ada.age += 1
/// print(ada.state, try ada.changes())   // changed [age: 36 -> 37]
/// try ada.persist(in: store)            // updates; once more would do nothing
/// ada.markDeleted()
/// try ada.persist(in: store)            // deletes
/// ```
///
/// It compares with what was stored when it was read or persisted last, and asks no store for that.
/// What others do to the record meanwhile it learns by ``reload(in:)``.
///
/// When a transaction or a savepoint is undone, whatever was persisted in it counts as never done:
/// the state is that from before, a record that was inserted there has no assigned id any more, and
/// what hooks and ``Timestamped`` made of it is taken back unless it was changed after that. A record
/// that is an object has others who hold it, and stays as the save made it.
@dynamicMemberLookup
public struct Tracked<R: Record>: Sendable {
  /// The record in memory. Use ``value``, which takes back what was undone.
  var current: R
  /// Rises with each change in memory.
  var edits = 0
  /// Set by ``markDeleted()``.
  var marker = false
  /// What is stored, as far as it is certain.
  var base: Known
  /// What was done in transactions that may still be undone, oldest first.
  var pending: [Step] = []

  init(_ record: R, base: Known) {
    current = record
    self.base = base
  }

  /// The record, to be changed in any way.
  public var value: R {
    get { settled.current }
    _modify {
      settle()
      edits &+= 1
      yield &current
    }
  }

  /// A property of the record.
  public subscript<Value>(dynamicMember keyPath: KeyPath<R, Value>) -> Value {
    settled.current[keyPath: keyPath]
  }

  /// A property of the record, to be changed.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<R, Value>) -> Value {
    get { settled.current[keyPath: keyPath] }
    _modify {
      settle()
      edits &+= 1
      yield &current[keyPath: keyPath]
    }
  }

  /// The record as it was stored when it was read or persisted last; nil when it is not stored.
  public var stored: R? {
    let known = settled.known
    return known.standing == .stored ? known.record : nil
  }

  /// What ``persist(in:)-(RecordWriting)`` would do: insert a new one, update a changed one, delete
  /// a deleted one, and nothing for an unchanged one.
  ///
  /// A record is deleted from ``markDeleted()`` on, also when that was persisted. A value that
  /// cannot be encoded is a change; ``changes()`` and ``persist(in:)-(RecordWriting)`` throw the
  /// error.
  ///
  /// - Complexity: the encoding of the record and of what is stored, where both are there.
  public var state: RecordState { settled.settledState }

  private var settledState: RecordState {
    if marker { return .deleted }
    let known = known
    switch known.standing {
    case .absent: return .new
    case .uncertain: return .changed
    case .stored:
      let record = current.keepingTimes(of: known.record)
      let isSame = try? RecordComparer.with { try $0.isSame(known.record, record) }
      return isSame == true ? .unchanged : .changed
    }
  }

  /// The fields that the record and what is stored differ in: see ``RecordReading/changes(of:)``.
  /// For a record that is not stored, all fields that have a value.
  ///
  /// - Throws: `.encodingFailed`.
  /// - Complexity: as ``state``.
  public func changes() throws -> [FieldChange] {
    let settled = settled
    let known = settled.known
    let record = settled.current
    guard known.standing == .stored else {
      return try StoredComparison(state: .new, record: record, stored: nil).changes()
    }
    return try StoredComparison(
      state: .changed, record: record.keepingTimes(of: known.record), stored: known.record
    ).changes()
  }

  // MARK: Deleting

  /// Whether ``persist(in:)-(RecordWriting)`` deletes the record, or has deleted it.
  public var isMarkedDeleted: Bool { marker }

  /// Lets the next ``persist(in:)-(RecordWriting)`` delete the record.
  public mutating func markDeleted() { marker = true }

  /// Takes ``markDeleted()`` back. A record that was deleted meanwhile is new: the next
  /// ``persist(in:)-(RecordWriting)`` inserts it again, under its id.
  public mutating func unmarkDeleted() { marker = false }

  // MARK: Reverting

  /// Makes the record what is stored of it, and takes ``markDeleted()`` back.
  ///
  /// A new record is what it was when it began to be tracked. What others stored meanwhile brings
  /// ``reload(in:)``.
  public mutating func revert() {
    settle()
    edits &+= 1
    marker = false
    let id = current.id
    current = Known.snapshot(known.record)
    // A deleted record keeps the id that it had.
    if known.standing == .absent { current.id = id }
  }

  /// Makes single properties what is stored of them.
  ///
  /// ```swift
  /// ada.revert(\.name, \.address.city)
  /// ```
  public mutating func revert<Value, each Other>(
    _ field: WritableKeyPath<R, Value>, _ others: repeat WritableKeyPath<R, each Other>
  ) {
    settle()
    edits &+= 1
    let stored = Known.snapshot(known.record)
    current[keyPath: field] = stored[keyPath: field]
    for other in repeat each others { current[keyPath: other] = stored[keyPath: other] }
  }
}

extension Tracked: Identifiable {
  /// The id of the record. Once the record is stored, it is not changed any more.
  public var id: R.ID {
    get { settled.current.id }
    set { value.id = newValue }
  }
}

extension Tracked: Equatable where R: Equatable {
  /// Whether the records, what is stored of them and the marks are equal.
  public static func == (a: Self, b: Self) -> Bool {
    let (a, b) = (a.settled, b.settled)
    return a.current == b.current && a.marker == b.marker && a.known.standing == b.known.standing
      && a.known.record == b.known.record
  }
}
