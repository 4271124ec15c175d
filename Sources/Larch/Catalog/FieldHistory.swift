/// The declarations under which records of a collection were written: one for each version of the
/// type since the collection was last empty.
///
/// Any record that is stored has one of these forms, so a type reads them all if it reads each
/// form.
package struct FieldHistory: Equatable, Sendable {
  /// More versions than this are kept as fewer, which know less.
  static let versionLimit = 64

  /// The oldest first.
  package private(set) var versions: [FieldForm]

  package init(_ versions: [FieldForm]) {
    self.versions = []
    for version in versions { add(version) }
  }

  package mutating func add(_ version: FieldForm) {
    guard !versions.contains(version) else { return }
    versions.append(version)
    if versions.count > FieldHistory.versionLimit {
      let merged = versions[0].merged(with: versions[1])
      versions.removeFirst(2)
      versions.insert(merged, at: 0)
    }
  }

  func encoded() -> [UInt8] {
    var writer = StoredWriter()
    writer.append(varint: UInt64(versions.count))
    for version in versions { version.write(to: &writer) }
    return writer.bytes
  }

  init(decoding bytes: UnsafeRawBufferPointer) throws {
    var reader = StoredReader(bytes)
    versions = []
    for _ in 0..<(try reader.count()) { versions.append(try FieldForm(reading: &reader)) }
    try reader.expectEnd()
  }
}

extension FieldForm {
  /// A form that values of both have.
  fileprivate func merged(with other: FieldForm) -> FieldForm {
    if self == other { return self }
    switch (self, other) {
    case (.record(let a), .record(let b)):
      let names = Set((a.fields + b.fields).map(\.name))
      let fields = names.map { name -> RecordForm.Field in
        guard let one = a.field(name), let two = b.field(name) else {
          let form = a.field(name)?.form ?? b.field(name)?.form ?? .unknown
          return RecordForm.Field(name: name, form: form, isOptional: true)
        }
        return RecordForm.Field(
          name: name, form: one.form.merged(with: two.form),
          isOptional: one.isOptional || two.isOptional)
      }
      return .record(RecordForm(fields, isComplete: a.isComplete && b.isComplete))
    case (.list(let a), .list(let b)): return .list(a.merged(with: b))
    case (.map(let a), .map(let b)): return .map(a.merged(with: b))
    default: return .unknown
    }
  }
}

extension CatalogStorage {
  /// Under which declarations the records of a collection were written; nil where an earlier
  /// version of Larch made the file, which did not keep it.
  package func fieldHistory(
    of collection: UInt32, in transaction: LMDBTransaction
  ) throws -> FieldHistory? {
    guard let bytes = try value(.fields(collection), in: transaction) else { return nil }
    return try bytes.withUnsafeBytes { try FieldHistory(decoding: $0) }
  }

  /// Collection and declarations, if the entry of a catalog is that.
  static func fieldHistory(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> (collection: UInt32, history: FieldHistory)? {
    let prefix = "fields/".utf8
    guard key.starts(with: prefix),
      let collection = UInt32(String(decoding: key.dropFirst(prefix.count), as: UTF8.self)),
      let history = try? FieldHistory(decoding: value)
    else { return nil }
    return (collection, history)
  }

  package func setFieldHistory(
    _ history: FieldHistory, of collection: UInt32, in transaction: LMDBTransaction
  ) throws {
    try set(.fields(collection), to: history.encoded(), in: transaction)
  }

  /// Forgets earlier declarations: all records of the collection are as the type is now. Called in
  /// the transaction that rewrote the last of them.
  func resetFieldHistory(
    of collection: UInt32, to schema: CollectionSchema, in transaction: LMDBTransaction
  ) throws {
    let history = FieldHistory([schema.form])
    guard try fieldHistory(of: collection, in: transaction) != history else { return }
    try setFieldHistory(history, of: collection, in: transaction)
    try setGeneration(try generation(in: transaction) + 1, in: transaction)
  }
}
