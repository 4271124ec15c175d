extension KeyWriter {
  /// Writes a stored field as a key of the declared form; false if only the decoded record has the
  /// key, and then the written bytes have no meaning.
  @inline(__always)
  mutating func append(
    _ value: RawField, _ step: UnsafeMutablePointer<KeyPlan.Step>, isLast: Bool
  ) -> Bool {
    switch value {
    case .missing: return false
    case .absent:
      // A property without a value that is not optional: the type's own decoding supplies the
      // value.
      guard step.pointee.isOptional else { return false }
      appendNil()
      return true
    case .value(let kind, let bytes):
      if step.pointee.isOptional { appendPresent() }
      textForm = step.pointee.textForm
      defer { textForm = .exact }
      return append(bytes, stored: kind, as: step.pointee.primitive, isLast: isLast)
    }
  }

  private mutating func append(
    _ bytes: UnsafeRawBufferPointer, stored: FieldKind, as kind: KeyForm.Primitive, isLast: Bool
  ) -> Bool {
    switch (kind, stored) {
    case (.int64, .int64): append(int64: little(bytes))
    case (.string, .string), (.url, .url): append(stringUTF8: bytes, isLast: isLast)
    case (.double, .double), (.date, .date):
      append(double: Double(bitPattern: little(bytes)))
    case (.bool, .bool): append(bool: bytes[0] != 0)
    case (.uuid, .uuid): append(uuid: bytes)
    case (.data, .data): append(data: bytes, isLast: isLast)
    case (.int32, .int32): append(int32: little(bytes))
    case (.int16, .int16): append(int16: little(bytes))
    case (.int8, .int8): append(int8: little(bytes))
    case (.uint64, .uint64): append(uint64: little(bytes))
    case (.uint32, .uint32): append(uint32: little(bytes))
    case (.uint16, .uint16): append(uint16: little(bytes))
    case (.uint8, .uint8): append(uint8: bytes[0])
    case (.decimal, .decimal):
      guard let digits = DecimalDigits(stored: bytes) else { return false }
      append(decimal: digits)
    case (.float, .float): append(float: Float(bitPattern: little(bytes)))
    default: return false
    }
    return true
  }

  @inline(__always)
  private func little<T: FixedWidthInteger>(_ bytes: UnsafeRawBufferPointer) -> T {
    T(littleEndian: bytes.loadUnaligned(as: T.self))
  }
}
