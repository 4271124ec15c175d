public import Larch
internal import LarchInspection

extension Store {
  /// The form of ids in ``dump(_:ids:)``.
  public enum DumpIDs: Sendable {
    /// The stored ids.
    case stored
    /// Names: `Person#1`, `Person#2`, `UUID#1`.
    case named
  }

  /// Like ``dump(_:)``, with names for ids that differ in the next run: those that the store
  /// assigned, and UUIDs.
  ///
  /// ```text
  /// collection Company: 1 record
  ///   Company#1 {"id":"Company#1","name":"Acme"}
  /// collection Person: 2 records
  ///   Person#1 {"companyID":"Company#1","id":"Person#1","name":"Ada"}
  ///   Person#2 {"companyID":"Company#1","id":"Person#2","name":"Bo"}
  ///   index companyID: 2 entries
  ///     [Company#1] -> Person#1
  ///     [Company#1] -> Person#2
  /// reference Person.companyID: Person to Company, optional, on delete none, nullify
  /// ```
  ///
  /// The names replace ids everywhere: in records, in references, in the keys of indexes and in
  /// lists. Assigned ids are numbered in their own order. Records with UUIDs are numbered in the
  /// order of their contents, and records with equal contents by their related records. A UUID that
  /// is not the id of a record is `UUID#1`; an assigned id whose record does not exist is
  /// `Person#missing1`. Ids that you chose yourself do not change. Dates in keys look as in
  /// records: `"2001-01-01T00:00:00Z"`.
  ///
  /// The file does not show two things. An integer counts as a reference only with an association:
  /// declare a `BelongsTo` for the property. And a set of UUIDs is stored as a list in the order of
  /// the UUIDs, which differs in each run.
  ///
  /// - Throws: `.checksumMismatch` or `.decodingFailed` if a record cannot be read.
  /// - Complexity: O(n log n) for n records and entries in most cases; all of it is held in memory.
  public func dump(_ contents: DumpContents = .all, ids: DumpIDs) throws -> String {
    if ids == .stored { return try dump(contents) }
    var lines: [String] = []
    let parts = contents.parts
    try inspect { inspector in
      var names = try DumpNames(inspector)
      for collection in inspector.collections.sorted(by: { $0.name < $1.name })
      where parts.hasCollections {
        lines.append(collection.summary)
        if parts.hasRecords {
          for record in names.records[collection.name] ?? [] {
            let json = record.json.text { "\"\(names.name($0))\"" }
            lines.append("  \(names.name(record.identity.id)) \(json)")
          }
        }
        guard parts.hasIndexes else { continue }
        for index in collection.indexes.sorted(by: { $0.name < $1.name }) {
          lines.append("  " + index.summary)
          guard parts.hasEntries else { continue }
          lines += try entryLines(of: index, in: collection, inspector, &names)
        }
      }
      for association in inspector.associations where parts.shows(association) {
        lines.append(association.summary)
        if parts.hasLinks {
          lines += linkLines(names.links[association.key] ?? [], names)
        }
      }
    }
    return lines.joined(separator: "\n") + (lines.isEmpty ? "" : "\n")
  }
}

private struct NamedEntry {
  let key: StoreInspector.MarkedKey
  let identity: DumpNames.Identity
}

private func entryLines(
  of index: StoreInspector.Index, in collection: StoreInspector.Collection,
  _ inspector: StoreInspector, _ names: inout DumpNames
) throws -> [String] {
  var entries: [NamedEntry] = []
  try inspector.forEachMarkedEntry(of: index, in: collection) { key, id in
    entries.append(
      NamedEntry(key: key, identity: DumpNames.Identity(id, of: collection, inspector)))
  }
  // A computed property may have a UUID that no record shows: its name comes from its record.
  for entry in entries.enumerated().sorted(by: { isBefore($0, $1, names) }) {
    names.learn(entry.element.key.parts.compactMap(\.id))
  }
  return ordered(entries, part: 0, names).map { entry in
    let parts = entry.key.parts.map { part in
      switch part {
      case .text(let text): text
      case .id(let id): names.name(id)
      }
    }
    return "    " + entry.key.opening + parts.joined(separator: ", ") + entry.key.closing + " -> "
      + names.name(entry.identity.id)
  }
}

/// Entries with equal keys are in the order of their ids, which the names may change.
private func isBefore(
  _ one: (offset: Int, element: NamedEntry), _ other: (offset: Int, element: NamedEntry),
  _ names: DumpNames
) -> Bool {
  // Ids without names have no ranks either, and do not change.
  (names.rank(one.element.identity.id), one.offset)
    < (names.rank(other.element.identity.id), other.offset)
}

/// Entries in the order of their keys, where ids count by their names: entries that are equal up to
/// a part are adjacent, and are sorted by that part if it is an id.
private func ordered(_ entries: [NamedEntry], part: Int, _ names: DumpNames) -> [NamedEntry] {
  guard entries.count > 1 else { return entries }
  guard let most = entries.map(\.key.parts.count).max(), part < most else {
    return entries.enumerated().sorted { isBefore($0, $1, names) }.map(\.element)
  }
  var runs: [[NamedEntry]] = []
  for entry in entries {
    if let last = runs.last?.first, value(part, of: last) == value(part, of: entry) {
      runs[runs.count - 1].append(entry)
    } else {
      runs.append([entry])
    }
  }
  return runs.enumerated().sorted { one, other in
    guard let first = value(part, of: one.element[0])?.id,
      let second = value(part, of: other.element[0])?.id
    else { return one.offset < other.offset }
    return (names.rank(first), one.offset) < (names.rank(second), other.offset)
  }.flatMap { ordered($0.element, part: part + 1, names) }
}

private func value(_ part: Int, of entry: NamedEntry) -> StoreInspector.MarkedKey.Part? {
  part < entry.key.parts.count ? entry.key.parts[part] : nil
}

private func linkLines(_ links: [DumpNames.Link], _ names: DumpNames) -> [String] {
  func ordered(_ ends: [MarkedID]) -> [MarkedID] {
    ends.enumerated().sorted {
      (names.rank($0.element), $0.offset) < (names.rank($1.element), $1.offset)
    }.map(\.element)
  }
  var others: [MarkedID: [MarkedID]] = [:]
  var firsts: [MarkedID] = []
  for link in links {
    if others[link.first.id] == nil { firsts.append(link.first.id) }
    others[link.first.id, default: []].append(link.second.id)
  }
  return ordered(firsts).map { first in
    let list = ordered(others[first] ?? []).map { names.name($0) }
    return "  \(names.name(first)) -> \(list.joined(separator: ", "))"
  }
}

extension StoreInspector.MarkedKey.Part {
  fileprivate var id: MarkedID? {
    if case .id(let id) = self { id } else { nil }
  }
}

extension StoreInspector.Collection {
  fileprivate var summary: String {
    "collection \(name): \(recordCount) \(recordCount == 1 ? "record" : "records")"
  }
}

extension StoreInspector.Index {
  fileprivate var summary: String {
    "\(isUnique ? "unique" : "index") \(name): \(entryCount) "
      + (entryCount == 1 ? "entry" : "entries") + (isReady ? "" : ", being built")
  }
}
