/// A record that knows its stored state, and saves only the differences.
///
/// You read and set its properties like those of the record itself.
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
/// It compares with the stored state of the last read or persist, and needs no store for that. Call
/// ``reload(in:)`` to get the later changes of others.
///
/// When a transaction or a savepoint is undone, the tracked record returns to its state before it:
/// a record that was inserted there loses its assigned id, and changes of hooks and ``Timestamped``
/// are undone, unless the field was changed again. A record of a class may be shared, so it keeps
/// its values.
@dynamicMemberLookup
public struct Tracked<R: Record>: Sendable {
  /// The record in memory. Use ``value``, which applies what was undone.
  var current: R
  /// Rises with each change in memory.
  var edits = 0
  /// Set by ``markDeleted()``.
  var marker = false
  /// The stored state, as far as it is certain.
  var base: Known
  /// What was done in transactions that may still be undone, the oldest first.
  var pending: [Step] = []

  init(_ record: R, base: Known) {
    current = record
    self.base = base
  }

  /// The record; you can change it in any way.
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

  /// A property of the record, which can be set.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<R, Value>) -> Value {
    get { settled.current[keyPath: keyPath] }
    _modify {
      settle()
      edits &+= 1
      yield &current[keyPath: keyPath]
    }
  }

  /// The record as it was stored at the last read or persist; nil if it is not stored.
  public var stored: R? {
    let known = settled.known
    return known.standing == .stored ? known.record : nil
  }

  /// The action of ``persist(in:)-(RecordWriting)``: it inserts a new record, updates a changed
  /// one, deletes a deleted one, and does nothing for an unchanged one.
  ///
  /// A record is deleted from ``markDeleted()`` on, even after that was persisted. A value that
  /// cannot be encoded counts as a change; ``changes()`` and ``persist(in:)-(RecordWriting)`` throw
  /// the error.
  ///
  /// - Complexity: the encoding of the record and of the stored one, if both exist.
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

  /// The fields in which the record differs from the stored one: see
  /// ``RecordReading/changes(of:)``. For a record that is not stored, all fields that have a value.
  ///
  /// - Throws: `.encodingFailed`.
  /// - Complexity: that of ``state``.
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

  /// Undoes ``markDeleted()``. A record that was deleted meanwhile is new: the next
  /// ``persist(in:)-(RecordWriting)`` inserts it again, under its id.
  public mutating func unmarkDeleted() { marker = false }

  // MARK: Reverting

  /// Resets the record to its stored state, and undoes ``markDeleted()``.
  ///
  /// A new record becomes what it was when tracking began. Call ``reload(in:)`` to get the later
  /// changes of others.
  public mutating func revert() {
    settle()
    edits &+= 1
    marker = false
    let id = current.id
    current = Known.snapshot(known.record)
    // A deleted record keeps its id.
    if known.standing == .absent { current.id = id }
  }

  /// Resets single properties to their stored values.
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
  /// The id of the record. It must not change once the record is stored.
  public var id: R.ID {
    get { settled.current.id }
    set { value.id = newValue }
  }
}

extension Tracked: Equatable where R: Equatable {
  /// Whether the records, their stored states and the marks are equal.
  public static func == (a: Self, b: Self) -> Bool {
    let (a, b) = (a.settled, b.settled)
    return a.current == b.current && a.marker == b.marker && a.known.standing == b.known.standing
      && a.known.record == b.known.record
  }
}
