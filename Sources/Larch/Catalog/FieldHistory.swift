/// The declarations under which records of a collection were written: one for each version of the
/// type since the collection was last empty.
///
/// Any record that is stored has one of these forms, so a type reads them all if it reads each
/// form. A version that only opened the file has no records, so it is kept separately: no type has
/// to read it. The first write under it makes it one of the versions.
package struct FieldHistory: Equatable, Sendable {
  /// The maximum number of versions; further ones are merged, with less detail.
  static let versionLimit = 64

  /// The oldest version comes first.
  package private(set) var versions: [FieldForm]
  /// The declarations that opened the file, but under which no record was written yet; the oldest
  /// first.
  package private(set) var unwritten: [FieldForm] = []

  package init(_ versions: [FieldForm], unwritten: [FieldForm] = []) {
    self.versions = []
    for version in versions { add(version) }
    for version in unwritten { addUnwritten(version) }
  }

  /// All declarations that opened the file; its indexes belong to the last one.
  package var declarations: [FieldForm] { versions + unwritten }

  func knows(_ version: FieldForm) -> Bool {
    versions.contains(version) || unwritten.contains(version)
  }

  /// Notes a declaration under which no record was written yet.
  mutating func addUnwritten(_ version: FieldForm) {
    guard !knows(version) else { return }
    unwritten.append(version)
    // A program that still writes under an omitted version adds it again.
    if unwritten.count > FieldHistory.versionLimit { unwritten.removeFirst() }
  }

  /// Notes a declaration under which records are written.
  package mutating func add(_ version: FieldForm) {
    unwritten.removeAll { $0 == version }
    guard !versions.contains(version) else { return }
    versions.append(version)
    if versions.count > FieldHistory.versionLimit {
      let merged = versions[0].merged(with: versions[1])
      versions.removeFirst(2)
      versions.insert(merged, at: 0)
    }
  }

  /// The entry of the versions; those without records have a separate entry.
  func encoded() -> [UInt8] { FieldHistory.encoded(versions) }

  fileprivate static func encoded(_ forms: [FieldForm]) -> [UInt8] {
    var writer = StoredWriter()
    writer.append(varint: UInt64(forms.count))
    for form in forms { form.write(to: &writer) }
    return writer.bytes
  }

  /// Reads the entry of the versions.
  init(decoding bytes: UnsafeRawBufferPointer) throws {
    versions = try FieldHistory.forms(bytes)
  }

  fileprivate init(decoding versions: [UInt8], unwritten: [UInt8]?) throws {
    self.versions = try versions.withUnsafeBytes { try FieldHistory.forms($0) }
    self.unwritten = try unwritten?.withUnsafeBytes { try FieldHistory.forms($0) } ?? []
  }

  private static func forms(_ bytes: UnsafeRawBufferPointer) throws -> [FieldForm] {
    var reader = StoredReader(bytes)
    var forms: [FieldForm] = []
    for _ in 0..<(try reader.count()) { forms.append(try FieldForm(reading: &reader)) }
    try reader.expectEnd()
    return forms
  }
}

extension FieldForm {
  /// A form that includes the values of both.
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
  /// The declarations under which the records of a collection were written; nil if an earlier
  /// version of Larch, which did not keep them, made the file.
  package func fieldHistory(
    of collection: UInt32, in transaction: LMDBTransaction
  ) throws -> FieldHistory? {
    guard let versions = try value(.fields(collection), in: transaction) else { return nil }
    return try FieldHistory(
      decoding: versions, unwritten: try value(.opened(collection), in: transaction))
  }

  /// Collection and declarations, if the entry is of that kind.
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
    if history.unwritten.isEmpty {
      try remove(.opened(collection), in: transaction)
    } else {
      try set(.opened(collection), to: FieldHistory.encoded(history.unwritten), in: transaction)
    }
  }

  package func removeFieldHistory(of collection: UInt32, in transaction: LMDBTransaction) throws {
    try remove(.fields(collection), in: transaction)
    try remove(.opened(collection), in: transaction)
  }

  /// Notes that records were written under declarations that had only opened the file. Called in
  /// the transaction that writes the first of them: programs with other declarations then check
  /// whether they can read these records.
  func noteWritten(
    under forms: [FieldForm], of collection: UInt32, in transaction: LMDBTransaction
  ) throws {
    guard let before = try fieldHistory(of: collection, in: transaction) else { return }
    var history = before
    for form in forms where before.unwritten.contains(form) { history.add(form) }
    guard history != before else { return }
    try setFieldHistory(history, of: collection, in: transaction)
    try setGeneration(try generation(in: transaction) + 1, in: transaction)
  }

  /// Removes earlier declarations, because all records of the collection have the present form.
  /// Called in the transaction that rewrote the last of them.
  func resetFieldHistory(
    of collection: UInt32, to schema: CollectionSchema, in transaction: LMDBTransaction
  ) throws {
    let history = FieldHistory([schema.form])
    guard try fieldHistory(of: collection, in: transaction) != history else { return }
    try setFieldHistory(history, of: collection, in: transaction)
    try setGeneration(try generation(in: transaction) + 1, in: transaction)
  }
}
