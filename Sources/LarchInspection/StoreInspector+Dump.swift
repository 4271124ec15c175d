internal import Larch

/// The parts of a store in a dump, in addition to names and counts.
package struct DumpParts: Sendable {
  package var hasRecords: Bool
  /// Whether there is a line for each index; with entries there always is.
  package var hasIndexes: Bool
  package var hasEntries: Bool
  /// Whether there is a line for each association; with links there always is.
  package var hasAssociations: Bool
  package var hasLinks: Bool

  package init(
    hasRecords: Bool, hasIndexes: Bool = true, hasEntries: Bool, hasAssociations: Bool = true,
    hasLinks: Bool
  ) {
    self.hasRecords = hasRecords
    self.hasIndexes = hasIndexes || hasEntries
    self.hasEntries = hasEntries
    self.hasAssociations = hasAssociations
    self.hasLinks = hasLinks
  }

  /// Whether there is a line for each collection: if any part of it is shown, or nothing else is.
  package var hasCollections: Bool {
    hasRecords || hasIndexes || !(hasAssociations || hasLinks)
  }

  package func shows(_ association: StoreInspector.Association) -> Bool {
    hasAssociations || hasLinks && association.isLists
  }
}

extension StoreInspector {
  /// Writes the store as a stable text, line by line: collections by name, records in the order of
  /// their ids, index entries in the order of their keys, then associations by their keys.
  ///
  /// - Parameters:
  ///   - collection: the only collection to show, with its associations; nil for all.
  ///   - body: called with each line; nothing else is held in memory.
  /// - Throws: `.checksumMismatch` or `.decodingFailed` if a record cannot be read; the errors of
  ///   `body`.
  /// - Complexity: O(n) for the data shown.
  package func forEachDumpLine(
    _ parts: DumpParts, of collection: String? = nil, _ body: (String) throws -> Void
  ) throws {
    for found in collections.sorted(by: { $0.name < $1.name })
    where parts.hasCollections && (collection == nil || found.name == collection) {
      try body("collection \(found.name): \(counted(found.recordCount, "record"))")
      if parts.hasRecords {
        try forEachRecord(in: found) { id, json in try body("  \(id) \(json)") }
      }
      guard parts.hasIndexes else { continue }
      for index in found.indexes.sorted(by: { $0.name < $1.name }) {
        let state = index.isReady ? "" : ", being built"
        let kind = index.isUnique ? "unique" : "index"
        try body(
          "  \(kind) \(index.name): \(counted(index.entryCount, "entry", "entries"))\(state)")
        if parts.hasEntries {
          try forEachEntry(of: index, in: found) { key, id in try body("    \(key) -> \(id)") }
        }
      }
    }
    for association in associations where parts.shows(association) {
      guard
        collection == nil || association.first == collection || association.second == collection
      else { continue }
      try body(association.summary)
      if parts.hasLinks { try forEachListLine(of: association, body) }
    }
  }

  /// One line for each id that has links.
  private func forEachListLine(
    of association: Association, _ body: (String) throws -> Void
  ) throws {
    var line = ""
    var last: String?
    try forEachLink(of: association) { id, other in
      if id == last {
        line += ", \(other)"
        return
      }
      if last != nil { try body(line) }
      line = "  \(id) -> \(other)"
      last = id
    }
    if last != nil { try body(line) }
  }
}

private func counted(_ count: Int, _ one: String, _ many: String? = nil) -> String {
  "\(count) \(count == 1 ? one : many ?? one + "s")"
}
