package import Larch

extension StoreInspector {
  /// A record that differs from an earlier state. All values are JSON.
  package struct ChangedRecord: Sendable {
    /// A field that differs; nil on the side where the record has none.
    package struct Field: Sendable {
      package let name: String
      package let before: String?
      package let after: String?
    }

    package let id: String
    /// The whole record; nil if there was none, or is none any more.
    package let before: String?
    package let after: String?
    /// Sorted by name; empty if one of them is nil.
    package let fields: [Field]
  }

  /// The records of a collection that differ from an earlier state, in the order of their ids.
  ///
  /// - Returns: nil if they are too many, or cannot be found.
  /// - Throws: the error of a damaged record; `.closed`.
  /// - Complexity: the pages that differ.
  package func changes(
    of name: String, since snapshot: Snapshot
  ) throws -> [ChangedRecord]? {
    guard let collection = collections.first(where: { $0.name == name }) else { return nil }
    let stored: [StoredChange]?
    do {
      stored = try snapshot.changedRecords(of: collection.handle, until: transaction)
    } catch let error as LarchError where error.code == .snapshotEnded {
      return nil
    }
    return try stored?.map { try changed($0, in: collection) }
  }

  private func changed(
    _ change: StoredChange, in collection: Collection
  ) throws -> ChangedRecord {
    let old = try change.before.map { try text(of: $0, change.id, in: collection) }
    let new = try change.after.map { try text(of: $0, change.id, in: collection) }
    var fields: [ChangedRecord.Field] = []
    if let old = old?.fields, let new = new?.fields {
      let names = Set(old.keys).union(new.keys).sorted()
      fields = names.filter { old[$0] != new[$0] }.map {
        ChangedRecord.Field(name: $0, before: old[$0], after: new[$0])
      }
    }
    return ChangedRecord(
      id: change.id.withUnsafeBytes { collection.stored.idKind.text(of: $0) },
      before: old?.json, after: new?.json, fields: fields)
  }

  private func text(
    of stored: [UInt8], _ id: [UInt8], in collection: Collection
  ) throws -> (json: String, fields: [String: String]) {
    try stored.withUnsafeBytes { stored in
      try id.withUnsafeBytes { id in
        let bytes = try RecordEnvelope.open(stored, id: id, in: collection.handle)
        let record = RawRecord(bytes, shapes: shapes)
        let row = TypelessQuery.Row(id: "", record)
        let fields = try row.fields().map { ($0.name, $0.json) }
        return (try row.json(), Dictionary(fields) { first, _ in first })
      }
    }
  }
}
