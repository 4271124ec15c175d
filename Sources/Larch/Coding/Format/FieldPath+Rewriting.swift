/// The new value of a field of a record.
enum FieldReplacement {
  /// The field does not change.
  case same
  /// It becomes nil.
  case absent
  /// It gets this value, in slot form, of the field's kind.
  case value(FieldKind, [UInt8])
}

/// Writes records with another value in one field, without decoding them: all other bytes and the
/// shape stay.
extension FieldPath {
  /// The bytes of a record with the result of `change` in the field; nil if the bytes have no such
  /// field, or no room for the new value.
  ///
  /// - Parameter change: receives the old value, `absent` for nil.
  func rewritten(
    _ record: UnsafeRawBufferPointer, shapes: ShapeTable,
    _ change: (RawField) throws -> FieldReplacement
  ) throws -> [UInt8]? {
    let value = try RecordFormat.value(of: record)
    guard value.state == .value else { return nil }
    switch value.kind {
    case .record: return try rewrittenRecord(value.bytes, 0, shapes, change)
    case .map:
      guard let map = try rewrittenMap(value.bytes, 0, shapes, change) else { return nil }
      return try map.withUnsafeBytes { try FieldValueWriter.tagged(.value(.map, $0)) }
    default: return nil
    }
  }

  /// The new value of the field at a level, from the old one.
  private func rewritten(
    _ value: RawField, _ level: Int, _ shapes: ShapeTable,
    _ change: (RawField) throws -> FieldReplacement,
    _ take: (RawField) throws -> [UInt8]?
  ) throws -> [UInt8]? {
    if level == names.count - 1 {
      switch try change(value) {
      case .same: return try take(value)
      case .absent: return try take(.absent)
      case .value(let kind, let bytes):
        return try bytes.withUnsafeBytes { try take(.value(kind, $0)) }
      }
    }
    switch value {
    case .value(.record, let bytes):
      return try rewrittenRecord(bytes, level + 1, shapes, change).flatMap { inner in
        try inner.withUnsafeBytes { try take(.value(.record, $0)) }
      }
    case .value(.map, let bytes):
      return try rewrittenMap(bytes, level + 1, shapes, change).flatMap { inner in
        try inner.withUnsafeBytes { try take(.value(.map, $0)) }
      }
    case .value, .absent, .missing: return nil
    }
  }

  // MARK: Records

  private func rewrittenRecord(
    _ record: UnsafeRawBufferPointer, _ level: Int, _ shapes: ShapeTable,
    _ change: (RawField) throws -> FieldReplacement
  ) throws -> [UInt8]? {
    let parts = try RecordParts(record, shapes)
    guard let slot = slot(level, in: parts.shape) else { return nil }
    return try rewritten(try parts.value(slot), level, shapes, change) { value in
      try parts.encoded(slot, value)
    }
  }

  // MARK: Maps

  private func rewrittenMap(
    _ map: UnsafeRawBufferPointer, _ level: Int, _ shapes: ShapeTable,
    _ change: (RawField) throws -> FieldReplacement
  ) throws -> [UInt8]? {
    var list = try RawList(.map, map)
    var entries: [(key: [UInt8], value: RawField)] = []
    while let value = try list.next() { entries.append(([UInt8](list.key), value)) }
    let place = ([names[level]] + (older.isEmpty ? [] : older[level])).lazy.compactMap { name in
      entries.firstIndex { $0.key.elementsEqual(name.utf8) }
    }.first
    guard let place else { return nil }
    return try rewritten(entries[place].value, level, shapes, change) { value in
      var entries = entries
      entries[place].value = value
      return try FieldValueWriter.mapSlot(entries)
    }
  }
}

/// The fields of a stored record as bytes, for writing it with another value in one of them. Valid
/// as long as the bytes of the record are.
private struct RecordParts {
  let shape: Shape
  /// The bytes in the slot, or in the heap; nil for an absent field.
  private var parts: [UnsafeRawBufferPointer?] = []

  init(_ record: UnsafeRawBufferPointer, _ shapes: ShapeTable) throws {
    let view = try RecordView(record)
    shape = try view.shape(shapes)
    let isWide = view.isWide
    var start = try view.slotsEnd(shape)
    for (slot, field) in shape.fields.enumerated() {
      let layout = shape.layouts[slot]
      let offset = Int(isWide ? layout.wideOffset : layout.offset)
      var bytes = UnsafeRawBufferPointer(rebasing: record[offset..<offset + field.kind.width])
      if !field.kind.isFixed {
        let end =
          isWide
          ? Int(record.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
          : Int(record.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
        guard start <= end, end <= record.count else {
          throw ByteReader.damaged("offset of a field")
        }
        bytes = UnsafeRawBufferPointer(rebasing: record[start..<end])
        start = end
      }
      let isPresent = record[2 + slot >> 3] & (1 << UInt8(slot & 7)) != 0
      parts.append(isPresent ? bytes : nil)
    }
    guard start == record.count else { throw ByteReader.damaged("length") }
  }

  func value(_ slot: Int) throws -> RawField {
    guard let part = parts[slot] else { return .absent }
    let kind = shape.fields[slot].kind
    return kind == .tagged ? RawField(try DecodeFramePointer.untag(part)) : .value(kind, part)
  }

  /// The record with another value in a slot; nil if the shape has another kind there.
  func encoded(_ slot: Int, _ value: RawField) throws -> [UInt8]? {
    let kind = shape.fields[slot].kind
    switch value {
    case .missing: return nil
    case .absent where kind != .tagged || parts[slot] == nil: return try encoded(slot, nil)
    case .absent: return try [UInt8(0)].withUnsafeBytes { try encoded(slot, $0) }
    case .value where kind == .tagged:
      return try FieldValueWriter.taggedSlot(value).withUnsafeBytes { try encoded(slot, $0) }
    case .value(let other, let bytes):
      guard other == kind, !kind.isFixed || bytes.count == kind.width else { return nil }
      return try encoded(slot, bytes)
    }
  }

  private func encoded(_ slot: Int, _ part: UnsafeRawBufferPointer?) throws -> [UInt8] {
    var parts = parts
    parts[slot] = part
    let heap = zip(shape.fields, parts).reduce(0) { sum, item in
      item.0.kind.isFixed ? sum : sum + (item.1?.count ?? 0)
    }
    let isWide = shape.slotsEnd + heap > RecordFormat.narrowLimit
    var end = isWide ? shape.wideSlotsEnd : shape.slotsEnd
    guard end + heap <= RecordFormat.lengthLimit else { throw ByteReader.damaged("length") }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(end + heap)
    func append<T: FixedWidthInteger>(_ number: T) {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
    append(shape.id | (isWide ? RecordFormat.wideBit : 0))
    var mask = [UInt8](repeating: 0, count: shape.maskBytes)
    for (slot, part) in parts.enumerated() where part != nil {
      mask[slot >> 3] |= 1 << UInt8(slot & 7)
    }
    bytes += mask
    for (field, part) in zip(shape.fields, parts) {
      if field.kind.isFixed {
        if let part {
          bytes.append(contentsOf: part)
        } else {
          bytes.append(contentsOf: repeatElement(0, count: field.kind.width))
        }
        continue
      }
      end += part?.count ?? 0
      if isWide {
        append(UInt32(truncatingIfNeeded: end))
      } else {
        append(UInt16(truncatingIfNeeded: end))
      }
    }
    for (field, part) in zip(shape.fields, parts) where !field.kind.isFixed {
      if let part { bytes.append(contentsOf: part) }
    }
    return bytes
  }
}
