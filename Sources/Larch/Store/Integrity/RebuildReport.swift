/// What `Store.rebuild()` could not do: the records that are missing in an index, since their type
/// cannot decode them any more and only the decoded record tells their entries.
///
/// An index that lacks a record stays unfinished: no query uses it, so nothing is missed. Delete the
/// records by their ids, or save others in their place, and call `rebuild()` again; or open the store
/// with a type that can read them.
public struct RebuildReport: Sendable {
  /// One record that is missing in one index.
  public struct MissingRecord: Sendable, Hashable, CustomStringConvertible {
    /// The collection of the record.
    public let collection: String
    /// The index in which it is missing.
    public let index: String
    /// The id of the record, as text.
    public let id: String
    /// The field that cannot be decoded, where it is known.
    public let field: String?

    /// All that is known, on one line.
    public var description: String {
      "collection \(collection), index \(index), id \(id)" + (field.map { ", field \($0)" } ?? "")
    }
  }

  /// The first thousand.
  public private(set) var records: [MissingRecord] = []
  /// How many there are, over all indexes.
  public private(set) var count = 0

  /// Whether every index has every record.
  public var isComplete: Bool { count == 0 }

  mutating func add(_ error: LarchError, _ index: String) {
    count += 1
    guard records.count < VerificationReport.faultLimit else { return }
    records.append(
      MissingRecord(
        collection: error.context.collection ?? "", index: index, id: error.context.id ?? "",
        field: error.context.field))
  }
}

extension RebuildReport: CustomStringConvertible {
  /// The count, and one line a record.
  public var description: String {
    if isComplete { return "all indexes are complete" }
    return
      (["\(count) records are in no index that needs them decoded"]
      + records.map { "  \($0)" }).joined(separator: "\n")
  }
}
