public import Larch

extension Store {
  /// What ``dump(_:)`` shows.
  public struct DumpContents: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// From bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The records, as JSON with sorted keys.
    public static let records = Self(rawValue: 1)
    /// The entries of every index.
    public static let entries = Self(rawValue: 2)
    /// The links of every association that is lists of ids, by its first end.
    public static let links = Self(rawValue: 4)
    /// All of them.
    public static let all: Self = [.records, .entries, .links]
  }

  /// A stable, readable text of everything in the store: collections by name, records in the
  /// order of their ids, index entries in the order of their keys, counts; then associations by
  /// their keys, with their ends and the rules of these, and lists in the order of their ids.
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
  /// Equal contents give equal texts, on every machine. Compare with
  /// ``TextDifference/between(expected:actual:lineLimit:)``.
  ///
  /// - Throws: `.checksumMismatch` or `.decodingFailed` when something cannot be read.
  /// - Complexity: O(everything); meant for tests.
  public func dump(_ contents: DumpContents = .all) throws -> String {
    var lines: [String] = []
    try inspect { inspector in
      for collection in inspector.collections.sorted(by: { $0.name < $1.name }) {
        lines.append("collection \(collection.name): \(counted(collection.recordCount, "record"))")
        if contents.contains(.records) {
          try inspector.forEachRecord(in: collection) { id, json in lines.append("  \(id) \(json)")
          }
        }
        for index in collection.indexes.sorted(by: { $0.name < $1.name }) {
          let state = index.isReady ? "" : ", being built"
          let kind = index.isUnique ? "unique" : "index"
          lines.append(
            "  \(kind) \(index.name): \(counted(index.entryCount, "entry", "entries"))\(state)")
          if contents.contains(.entries) {
            try inspector.forEachEntry(of: index, in: collection) { key, id in
              lines.append("    \(key) -> \(id)")
            }
          }
        }
      }
      for association in inspector.associations {
        lines.append(association.summary)
        if contents.contains(.links) { lines += try listLines(of: association, inspector) }
      }
    }
    return lines.joined(separator: "\n") + (lines.isEmpty ? "" : "\n")
  }
}

/// One line for each id that is linked with others.
private func listLines(
  of association: StoreInspector.Association, _ inspector: StoreInspector
) throws -> [String] {
  var lines: [String] = []
  var last: String?
  try inspector.forEachLink(of: association) { id, other in
    if id == last {
      lines[lines.count - 1] += ", \(other)"
    } else {
      lines.append("  \(id) -> \(other)")
      last = id
    }
  }
  return lines
}

private func counted(_ count: Int, _ one: String, _ many: String? = nil) -> String {
  "\(count) \(count == 1 ? one : many ?? one + "s")"
}
