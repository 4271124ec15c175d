/// The form of the ids of a reference as keys in its index.
///
/// Usually a key is the id itself, after one byte if the property is optional. Integers narrower
/// than 64 bits keep their width, and long texts are cut.
struct ReferenceForm: Sendable {
  private let isOptional: Bool
  private let primitive: KeyForm.Primitive
  /// Whether a key has the exact bytes of an id, unless it is cut.
  private let isPlain: Bool

  /// Nil if keys of this form cannot represent ids of this kind.
  init?(_ form: KeyForm, _ kind: RecordIDKind) {
    isOptional = form.isOptional
    guard !form.hasNestedOptionals, case .primitive(let primitive) = form.unwrapped.node else {
      return nil
    }
    self.primitive = primitive
    switch (primitive, kind) {
    case (.int64, .assigned), (.int64, .integer), (.uint64, .unsigned), (.uuid, .uuid),
      (.string, .string):
      isPlain = true
    case (.int8, .integer), (.int16, .integer), (.int32, .integer), (.uint8, .unsigned),
      (.uint16, .unsigned), (.uint32, .unsigned):
      isPlain = false
    default: return nil
    }
  }

  /// Writes the key of an id; false if no reference of this form can hold the id.
  ///
  /// If the key is cut, `isCut` of the writer is true, and other ids may have the same key.
  func writeKey(of id: UnsafeRawBufferPointer, to writer: inout KeyWriter) -> Bool {
    writer.clear()
    if isOptional { writer.appendPresent() }
    switch primitive {
    case .uuid: writer.append(uuid: id)
    case .string:
      guard id.count > 0 else { return false }
      writer.append(stringUTF8: UnsafeRawBufferPointer(rebasing: id.dropFirst()), isLast: true)
    case .uint8, .uint16, .uint32, .uint64:
      guard id.count == 8 else { return false }
      return write(unsigned: UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)), to: &writer)
    default:
      guard id.count == 8 else { return false }
      let number = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)) ^ 1 << 63
      return write(signed: Int64(bitPattern: number), to: &writer)
    }
    return true
  }

  private func write(signed number: Int64, to writer: inout KeyWriter) -> Bool {
    switch primitive {
    case .int64: writer.append(int64: number)
    case .int32:
      guard let narrow = Int32(exactly: number) else { return false }
      writer.append(int32: narrow)
    case .int16:
      guard let narrow = Int16(exactly: number) else { return false }
      writer.append(int16: narrow)
    default:
      guard let narrow = Int8(exactly: number) else { return false }
      writer.append(int8: narrow)
    }
    return true
  }

  private func write(unsigned number: UInt64, to writer: inout KeyWriter) -> Bool {
    switch primitive {
    case .uint64: writer.append(uint64: number)
    case .uint32:
      guard let narrow = UInt32(exactly: number) else { return false }
      writer.append(uint32: narrow)
    case .uint16:
      guard let narrow = UInt16(exactly: number) else { return false }
      writer.append(uint16: narrow)
    default:
      guard let narrow = UInt8(exactly: number) else { return false }
      writer.append(uint8: narrow)
    }
    return true
  }

  /// Calls with the id of a key; nil, without a call, for the key of nil. The key must not be cut.
  func withID<T>(
    inKey key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> T
  ) rethrows -> T? {
    var part = key
    if isOptional {
      guard key.count > 1, key[0] != 0 else { return nil }
      part = UnsafeRawBufferPointer(rebasing: key.dropFirst())
    }
    if isPlain { return try body(part) }
    var number: UInt64 = 0
    for byte in part { number = number << 8 | UInt64(byte) }
    switch primitive {
    case .uint8, .uint16, .uint32: break
    default:
      // The sign bit is flipped in the narrow number, and must be flipped in the wide one.
      let shift = UInt64(max(0, 64 - part.count * 8))
      let value = Int64(bitPattern: (number ^ 1 << (63 - shift)) << shift) >> Int64(shift)
      number = UInt64(bitPattern: value) ^ 1 << 63
    }
    return try withUnsafeBytes(of: number.bigEndian) { try body($0) }
  }
}
