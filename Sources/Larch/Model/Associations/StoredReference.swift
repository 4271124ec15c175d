/// Reads and removes the ids that a stored record refers to, from its bytes alone.
///
/// For whatever must not depend on the type being able to decode the record: programs without
/// types, and records that their type cannot decode any more.
struct StoredReference {
  let path: FieldPath
  /// How the ids are stored as those of their records.
  let kind: RecordIDKind

  /// Calls with the bytes of each id; false where the bytes do not tell all of them: the record has
  /// no such field, whose default only decoding supplies, or a value that stands for an id in a way
  /// of its own.
  func forEachID(
    in record: UnsafeRawBufferPointer, _ shapes: ShapeTable, _ writer: inout KeyWriter,
    _ emit: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    switch try path.read(in: record, shapes: shapes) {
    case .missing: return false
    case .absent: return true
    case .value(.list, let bytes):
      var isTold = true
      var elements = try RawList(.list, bytes)
      while let element = try elements.next() {
        if try write(element, to: &writer) {
          try emit(writer.bytes)
        } else if case .value = element {
          isTold = false
        }
      }
      return isTold
    case let value:
      guard try write(value, to: &writer) else { return false }
      try emit(writer.bytes)
      return true
    }
  }

  /// The bytes of the record without the ids that the closure is true for: an id alone becomes nil,
  /// those in a list leave it. Nil where the bytes do not tell the ids.
  func removing(
    from record: UnsafeRawBufferPointer, _ shapes: ShapeTable, _ writer: inout KeyWriter,
    _ isRemoved: (UnsafeRawBufferPointer) throws -> Bool
  ) throws -> [UInt8]? {
    var isTold = true
    func stays(_ id: RawField) throws -> Bool {
      guard case .value = id else { return true }
      guard try write(id, to: &writer) else {
        isTold = false
        return true
      }
      return try !isRemoved(writer.bytes)
    }
    let rewritten = try path.rewritten(record, shapes: shapes) { value in
      guard case .value(.list, let bytes) = value else {
        return try stays(value) ? .same : .absent
      }
      var elements = try RawList(.list, bytes)
      var kept: [RawField] = []
      while let element = try elements.next() {
        if try stays(element) { kept.append(element) }
      }
      return .value(.list, try FieldValueWriter.listSlot(kept))
    }
    return isTold ? rewritten : nil
  }

  /// Writes a stored value as the bytes of the id that it is; false where it is none of this kind.
  private func write(_ value: RawField, to writer: inout KeyWriter) throws -> Bool {
    guard case .value(let stored, _) = value, stored != .record, stored != .list, stored != .map
    else { return false }
    writer.clear()
    switch (kind, try FieldValue(value, shapes: ShapeTable())) {
    case (.assigned, .int(let number)), (.integer, .int(let number)):
      writer.append(int64: number)
    case (.unsigned, .int(let number)): writer.append(uint64: UInt64(truncatingIfNeeded: number))
    case (.unsigned, .bigInt(let number)):
      writer.append(uint64: UInt64(truncatingIfNeeded: number))
    case (.uuid, .uuid(let uuid)): withUnsafeBytes(of: uuid.uuid) { writer.append(uuid: $0) }
    case (.string, .string(let text)): return writer.append(idString: text)
    default: return false
    }
    return true
  }
}
