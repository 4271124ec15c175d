/// Reads and removes the references of a stored record in its bytes alone.
///
/// For code that must not depend on the type decoding the record: typeless programs, and records
/// that their type cannot decode any more.
struct StoredReference {
  let path: FieldPath
  /// The stored form of the ids, as the keys of their records.
  let kind: RecordIDKind

  /// Calls with the bytes of each id, written as ``RecordIdentifier/writeReference(to:)`` does.
  ///
  /// False if the bytes do not have all of them: the record does not have the field, whose default
  /// only decoding supplies, or the value represents an id in a form of its own.
  func forEachID(
    in record: UnsafeRawBufferPointer, _ shapes: ShapeTable, _ writer: inout KeyWriter,
    _ emit: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    switch try path.read(in: record, shapes: shapes) {
    case .missing: return false
    case .absent: return true
    case .value(.list, let bytes):
      var isComplete = true
      var elements = try RawList(.list, bytes)
      while let element = try elements.next() {
        if try write(element, to: &writer) {
          try emit(writer.bytes)
        } else if case .value = element {
          isComplete = false
        }
      }
      return isComplete
    case let value:
      guard try write(value, to: &writer) else { return false }
      try emit(writer.bytes)
      return true
    }
  }

  /// The bytes of the record without the ids for which the closure returns true: a single id
  /// becomes nil, and ids in a list are removed. Nil if the bytes do not have the ids.
  func removing(
    from record: UnsafeRawBufferPointer, _ shapes: ShapeTable, _ writer: inout KeyWriter,
    _ isRemoved: (UnsafeRawBufferPointer) throws -> Bool
  ) throws -> [UInt8]? {
    var isComplete = true
    func stays(_ id: RawField) throws -> Bool {
      guard case .value = id else { return true }
      guard try write(id, to: &writer) else {
        isComplete = false
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
    return isComplete ? rewritten : nil
  }

  /// Writes a stored value as the bytes of its id; false if it is not an id of this kind.
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
    case (.string, .string(let text)): _ = writer.append(idString: text)
    default: return false
    }
    return true
  }
}
