/// The result of `Store.rebuild()`: the records that are missing in an index, because their type
/// cannot decode them any more and the keys need the decoded record.
///
/// An index with a missing record is incomplete: no query uses it, so no result is missed. Delete
/// the records by their ids, or save others under their ids, and call `rebuild()` again; or open
/// the store with a type that can read them.
public struct RebuildReport: Sendable {
  /// One record that is missing in one index.
  public struct MissingRecord: Sendable, Hashable, CustomStringConvertible {
    /// The collection of the record.
    public let collection: String
    /// The index in which it is missing.
    public let index: String
    /// The id of the record, as text.
    public let id: String
    /// The field that cannot be decoded, if it is known.
    public let field: String?

    /// All details on one line.
    public var description: String {
      "collection \(collection), index \(index), id \(id)" + (field.map { ", field \($0)" } ?? "")
    }
  }

  /// The first thousand, one for each index in which a record is missing.
  public private(set) var records: [MissingRecord] = []
  /// The number of missing entries: a record that is missing in two indexes counts twice.
  public var count: Int { indexes.reduce(0) { $0 + $1.count } }
  /// The number of records that are missing in at least one index: each counts once.
  public var recordCount: Int { ids.values.reduce(0) { $0 + $1.count } }

  /// Whether every index has every record.
  public var isComplete: Bool { indexes.isEmpty }

  /// One index that misses records.
  struct MissingIndex: Sendable {
    let collection: String
    let index: String
    let firstID: String
    var count = 0
  }

  /// In the order in which they were built.
  private(set) var indexes: [MissingIndex] = []
  /// The ids of the records, by collection.
  private var ids: [String: Set<String>] = [:]

  mutating func add(_ error: LarchError, _ index: String) {
    let collection = error.context.collection ?? ""
    let id = error.context.id ?? ""
    if indexes.last?.index != index || indexes.last?.collection != collection {
      indexes.append(MissingIndex(collection: collection, index: index, firstID: id))
    }
    indexes[indexes.count - 1].count += 1
    ids[collection, default: []].insert(id)
    guard records.count < VerificationReport.faultLimit else { return }
    records.append(
      MissingRecord(collection: collection, index: index, id: id, field: error.context.field))
  }
}

extension RebuildReport: CustomStringConvertible {
  /// The counts, and one line for each record of ``records``.
  public var description: String {
    if isComplete { return "all indexes are complete" }
    let (records, times) = (recordCount, count)
    let head =
      (records == 1 ? "1 record is" : "\(records) records are") + " missing in "
      + (indexes.count == 1 ? "1 index that needs " : "\(indexes.count) indexes that need ")
      + (records == 1 ? "it" : "them") + " decoded"
      + (times == records ? "" : ", \(times) times in all")
    return ([head] + self.records.map { "  \($0)" }).joined(separator: "\n")
  }
}

extension RebuildReport.MissingIndex {
  /// For the log.
  var text: String {
    count == 1
      ? "1 record, it has the id \(firstID)"
      : "\(count) records, the first has the id \(firstID)"
  }
}
