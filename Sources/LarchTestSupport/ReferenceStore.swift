public import Larch

/// A store in memory, with a dictionary instead of a file: the oracle of property tests.
///
/// It has the records of one type and its unique rules, but no bytes, pages or indexes, so that it
/// is unlikely to have the same bugs.
public struct ReferenceStore<R: Record> {
  /// The records by id.
  public private(set) var records: [R.ID: R] = [:]
  private let uniqueValues: (R) -> [AnyHashable]

  /// An empty store; `uniqueValues` returns all values of a record that no other may have (tagged
  /// with the name of the rule, so that two rules do not mix).
  public init(uniqueValues: @escaping (R) -> [AnyHashable] = { _ in [] }) {
    self.uniqueValues = uniqueValues
  }

  /// The id of another record with one of the unique values of this one.
  public func conflict(of record: R) -> R.ID? {
    let wanted = Set(uniqueValues(record))
    if wanted.isEmpty { return nil }
    return records.first { id, other in
      id != record.id && !wanted.isDisjoint(with: uniqueValues(other))
    }?.key
  }

  /// Inserts or replaces; false if a unique value is taken, and then nothing is changed.
  public mutating func save(_ record: R) -> Bool {
    guard conflict(of: record) == nil else { return false }
    records[record.id] = record
    return true
  }

  /// Removes; false if there was no such record.
  @discardableResult
  public mutating func delete(_ id: R.ID) -> Bool { records.removeValue(forKey: id) != nil }

  /// Removes everything.
  public mutating func erase() { records.removeAll() }
}
