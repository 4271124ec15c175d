public import Larch
internal import LarchInspection

extension Store {
  /// The contents of ``dump(_:)``.
  public struct DumpContents: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Contents from bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The records, as JSON with sorted keys.
    public static let records = Self(rawValue: 1)
    /// The entries of every index, and its name.
    public static let entries = Self(rawValue: 2)
    /// The links of every many-to-many association, by its first end.
    public static let links = Self(rawValue: 4)
    /// The name of every index, and the number of its entries.
    public static let indexes = Self(rawValue: 8)
    /// Every association: its ends and its rules.
    public static let associations = Self(rawValue: 16)
    /// All of them.
    public static let all: Self = [.records, .indexes, .entries, .associations, .links]

    var parts: DumpParts {
      DumpParts(
        hasRecords: contains(.records), hasIndexes: contains(.indexes),
        hasEntries: contains(.entries), hasAssociations: contains(.associations),
        hasLinks: contains(.links))
    }
  }

  /// A stable, readable text of everything in the store: collections by name, records in the order
  /// of their ids, index entries in the order of their keys, counts; then associations by their
  /// keys, with their ends and the rules of these, and lists in the order of their ids.
  ///
  /// ```text
  /// collection Person: 2 records
  ///   1 {"age":36,"city":"London","id":1,"name":"Ada"}
  ///   2 {"age":41,"city":"Oslo","id":2,"name":"Bo"}
  ///   index city_age: 2 entries
  ///     ["London", 36] -> 1
  ///     ["Oslo", 41] -> 2
  /// lists Club/Person/members: Club with Person, 2 links, on delete nullify, nullify
  ///   7 -> 1, 2
  /// ```
  ///
  /// With a part of the contents, only their lines are shown: the lines of `.records` do not depend
  /// on indexes and associations, and those of `.links` do not depend on records. Collections and
  /// their record counts are shown, except with only `.links` and `.associations`; with `[]`
  /// nothing else is shown.
  ///
  /// Equal contents give equal texts on every machine. Compare them with
  /// ``TextDifference/between(expected:actual:lineLimit:)``.
  ///
  /// - Throws: `.checksumMismatch` or `.decodingFailed` if a record cannot be read.
  /// - Complexity: O(n) for the whole store; meant for tests.
  public func dump(_ contents: DumpContents = .all) throws -> String {
    var text = ""
    try inspect { try $0.forEachDumpLine(contents.parts) { text += $0 + "\n" } }
    return text
  }
}
