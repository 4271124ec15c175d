/// Merges the changes of one copy of a record into the stored record, which others may have
/// changed.
///
/// The unit is a field of the stored record: a nested value, a list or a dictionary is one field. A
/// record that is not written as fields is one value, as is an enum.
struct RecordMerger {
  /// Without shapes, so that equal fields have equal bytes.
  let coder: RecordCoder

  /// The stored value, with the fields in which `changed` differs from `base`.
  func merged<R: Codable>(_ base: R, _ changed: R, into stored: R) throws -> R {
    let before = try bytes(of: base)
    let now = try bytes(of: stored)
    if before == now { return changed }
    let new = try bytes(of: changed)
    // The cases of an enum are written as fields, but a record is one of them.
    if Reflection.Kind(of: R.self) == .enumeration { return before == new ? stored : changed }
    let merged = try before.withUnsafeBytes { before in
      try new.withUnsafeBytes { new in
        try now.withUnsafeBytes { now in try mergedFields(before, new, into: now) }
      }
    }
    guard let merged else { return before == new ? stored : changed }
    return try merged.withUnsafeBytes { try coder.decode(R.self, from: $0) }
  }

  private func bytes<R: Encodable>(of record: R) throws -> [UInt8] {
    [UInt8](try coder.encode(record))
  }

  /// Nil if a record has no fields.
  private func mergedFields(
    _ base: UnsafeRawBufferPointer, _ changed: UnsafeRawBufferPointer,
    into stored: UnsafeRawBufferPointer
  ) throws -> [UInt8]? {
    guard let before = try fields(of: base), let new = try fields(of: changed),
      var result = try fields(of: stored)
    else { return nil }
    for name in Set(before.keys).union(new.keys) {
      if RawField.isSame(before[name] ?? .missing, new[name] ?? .missing) { continue }
      result[name] = new[name]
    }
    return try FieldValueWriter.map(raw: result)
  }

  private func fields(of record: UnsafeRawBufferPointer) throws -> [[UInt8]: RawField]? {
    let value = try RecordFormat.value(of: record)
    guard value.state == .value, value.kind == .map else { return nil }
    var list = try RawList(.map, value.bytes)
    var fields: [[UInt8]: RawField] = [:]
    while let field = try list.next() { fields[[UInt8](list.key)] = field }
    return fields
  }
}
