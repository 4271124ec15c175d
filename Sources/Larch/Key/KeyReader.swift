/// The values of a key, read back from its bytes.
package struct DecodedKey: Sendable {
  /// The values in the key. The last one is incomplete if the key is cut in it.
  package var values: [KeyValue] = []
  /// Whether the key is cut: the last value may be incomplete, and others may be missing.
  package var isCut = false
}

extension DecodedKey: CustomStringConvertible {
  /// The values in brackets: `["London", 18]`; a cut key ends with an ellipsis.
  package var description: String {
    "[" + values.map(\.description).joined(separator: ", ") + (isCut ? "…]" : "]")
  }
}

/// Reads keys by their form. Bytes that no `KeyWriter` writes for the form are an error.
package struct KeyReader {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  private var result = DecodedKey()
  /// Whether the key has the length at which `KeyWriter` cuts all keys, so that any component may
  /// be incomplete.
  private let isFull: Bool

  private init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    isFull = bytes.count == KeyWriter.keyLimit
  }

  package static func read(_ bytes: UnsafeRawBufferPointer, as form: KeyForm) throws -> DecodedKey {
    guard bytes.count <= KeyWriter.keyLimit else { throw damaged }
    var reader = KeyReader(bytes)
    try reader.read(form, isLast: true)
    guard reader.offset == bytes.count else { throw damaged }
    // Like the writer, the reader treats a key at the limit as cut, even if it has all values.
    if reader.isFull { reader.result.isCut = true }
    return reader.result
  }

  private static var damaged: LarchError {
    LarchError(
      .corrupted, "A key of an index does not have the form of the index; rebuild the indexes.")
  }

  private mutating func read(_ form: KeyForm, isLast: Bool) throws {
    if result.isCut { return }
    switch form.node {
    case .composite(let parts):
      for (place, part) in parts.enumerated() {
        try read(part, isLast: isLast && place == parts.count - 1)
      }
    case .optional(let wrapped):
      guard let flag = try take(UInt8.self) else { return }
      switch flag {
      case 0: result.values.append(.null)
      case 1:
        if wrapped.mayBeginWithNil { result.values.append(.present) }
        try read(wrapped, isLast: isLast)
      default: throw Self.damaged
      }
    case .primitive(let primitive): try read(primitive, isLast: isLast)
    }
  }

  private mutating func read(_ primitive: KeyForm.Primitive, isLast: Bool) throws {
    switch primitive {
    case .bool:
      guard let byte = try take(UInt8.self) else { return }
      guard byte <= 1 else { throw Self.damaged }
      result.values.append(.bool(byte == 1))
    case .int8: try readSigned(UInt8.self) { Int64(Int8(bitPattern: $0 ^ 1 << 7)) }
    case .int16: try readSigned(UInt16.self) { Int64(Int16(bitPattern: $0 ^ 1 << 15)) }
    case .int32: try readSigned(UInt32.self) { Int64(Int32(bitPattern: $0 ^ 1 << 31)) }
    case .int64: try readSigned(UInt64.self) { Int64(bitPattern: $0 ^ 1 << 63) }
    case .uint8: try readUnsigned(UInt8.self)
    case .uint16: try readUnsigned(UInt16.self)
    case .uint32: try readUnsigned(UInt32.self)
    case .uint64: try readUnsigned(UInt64.self)
    case .float:
      guard let bits = try take(UInt32.self) else { return }
      let value = Float(bitPattern: bits >> 31 == 1 ? bits ^ 1 << 31 : ~bits)
      try check(value, isAllOnes: bits == .max, isNegativeZero: bits == ~(1 << 31))
      result.values.append(.float(value))
    case .double:
      if let value = try readDouble() { result.values.append(.double(value)) }
    case .date:
      if let value = try readDouble() { result.values.append(.date(value)) }
    case .uuid:
      guard bytes.count - offset >= 16 else { return try endCut() }
      result.values.append(.uuid([UInt8](bytes[offset..<(offset + 16)])))
      offset += 16
    case .decimal: try readDecimal()
    case .string:
      if let payload = try readPayload(isLast) {
        result.values.append(.string(try text(payload)))
      }
    case .url:
      if let payload = try readPayload(isLast) { result.values.append(.url(try text(payload))) }
    case .data:
      if let payload = try readPayload(isLast) { result.values.append(.data(payload)) }
    }
  }

  private mutating func readSigned<T: FixedWidthInteger>(_: T.Type, _ value: (T) -> Int64) throws {
    if let bits = try take(T.self) { result.values.append(.signed(value(bits))) }
  }

  private mutating func readUnsigned<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) throws {
    if let bits = try take(T.self) { result.values.append(.unsigned(UInt64(bits))) }
  }

  private mutating func readDecimal() throws {
    switch DecimalDigits.end(ofKey: bytes, from: offset) {
    case .missing: try endCut()
    case .none: throw Self.damaged
    case .at(let end):
      guard let digits = DecimalDigits(key: UnsafeRawBufferPointer(rebasing: bytes[offset..<end]))
      else { throw Self.damaged }
      result.values.append(.decimal(DecimalKey(digits)))
      offset = end
    }
  }

  private mutating func readDouble() throws -> Double? {
    guard let bits = try take(UInt64.self) else { return nil }
    let value = Double(bitPattern: bits >> 63 == 1 ? bits ^ 1 << 63 : ~bits)
    try check(value, isAllOnes: bits == .max, isNegativeZero: bits == ~(1 << 63))
    return value
  }

  /// Of the many bit patterns of NaN, and of the two zeros, only one is written.
  private func check(
    _ value: some BinaryFloatingPoint, isAllOnes: Bool, isNegativeZero: Bool
  ) throws {
    if value.isNaN != isAllOnes || isNegativeZero { throw Self.damaged }
  }

  /// The next big-endian integer; nil if the key is cut in it.
  private mutating func take<T: FixedWidthInteger>(_: T.Type) throws -> T? {
    let size = MemoryLayout<T>.size
    guard bytes.count - offset >= size else {
      try endCut()
      return nil
    }
    defer { offset += size }
    return T(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// The bytes end inside a value: valid only if the writer cuts all keys.
  private mutating func endCut() throws {
    guard isFull else { throw Self.damaged }
    result.isCut = true
    offset = bytes.count
  }

  /// The bytes of a String or Data without escapes; nil if the key ends before them.
  private mutating func readPayload(_ isLast: Bool) throws -> [UInt8]? {
    guard let lead = try take(UInt8.self) else { return nil }
    guard lead == 1 else { throw Self.damaged }
    return isLast ? try readRest() : try readEscaped()
  }

  private mutating func readRest() throws -> [UInt8] {
    let payload = [UInt8](bytes[offset...])
    guard payload.count <= KeyWriter.componentLimit else { throw Self.damaged }
    result.isCut = isFull || payload.count == KeyWriter.componentLimit
    offset = bytes.count
    return payload
  }

  private mutating func readEscaped() throws -> [UInt8] {
    var payload: [UInt8] = []
    let start = offset
    while offset < bytes.count {
      if offset - start >= KeyWriter.componentLimit {
        guard offset == bytes.count else { throw Self.damaged }
        break
      }
      let byte = bytes[offset]
      offset += 1
      guard byte == 0 else {
        payload.append(byte)
        continue
      }
      // A full key may end between the halves of an escape.
      guard offset < bytes.count else {
        try endCut()
        return payload
      }
      let second = bytes[offset]
      offset += 1
      if second == 0 { return payload }
      guard second == 0xFF else { throw Self.damaged }
      payload.append(0)
    }
    guard isFull || offset - start >= KeyWriter.componentLimit else { throw Self.damaged }
    result.isCut = true
    return payload
  }

  /// The text of a whole component, which must be exactly as written; for a cut one, its complete
  /// scalars.
  private func text(_ payload: [UInt8]) throws -> String {
    let isPiece = result.isCut
    for dropped in 0...(isPiece ? min(3, payload.count) : 0) {
      let part = payload.dropLast(dropped)
      guard let text = String(validating: part, as: UTF8.self) else { continue }
      // The last scalar of a cut text may be denormalized, since its next one is missing; that does
      // not matter.
      guard isPiece || part.withUnsafeBytes({ NFC.isNormalized($0) }) else { break }
      return text
    }
    throw Self.damaged
  }
}
