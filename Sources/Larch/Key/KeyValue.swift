/// One value read back from a key.
package enum KeyValue: Sendable {
  case null
  case bool(Bool)
  case signed(Int64)
  case unsigned(UInt64)
  case float(Float)
  case double(Double)
  /// Seconds since the reference date.
  case date(Double)
  case string(String)
  case data([UInt8])
  case uuid([UInt8])
  case url(String)
  case decimal(DecimalKey)
}

extension KeyValue {
  /// Comes before the values of an optional that is not nil, if they may begin with a nil of their own.
  static let present = KeyValue.bool(true)
}

extension KeyValue: CustomStringConvertible {
  /// The value on one line; characters that could break the line are escaped.
  package var description: String {
    switch self {
    case .null: "nil"
    case .bool(let value): String(value)
    case .signed(let value): String(value)
    case .unsigned(let value): String(value)
    case .float(let value): String(describing: value)
    case .double(let value): String(describing: value)
    case .date(let value): "date(\(value))"
    case .string(let value), .url(let value): Self.quoted(value)
    case .data(let value): "0x" + Self.hexadecimal(value)
    case .uuid(let value): Self.uuidText(value)
    case .decimal(let value): value.description
    }
  }

  /// Printable ASCII and letters beyond ASCII are unchanged; marks, controls and invisible
  /// characters become `\u{…}`, so that equal text means equal bytes.
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        if isReadable(scalar) {
          result.unicodeScalars.append(scalar)
        } else {
          result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        }
      }
    }
    return result + "\""
  }

  private static func isReadable(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F }
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
      .paragraphSeparator, .spaceSeparator, .nonspacingMark, .enclosingMark, .spacingMark:
      return false
    default: return true
    }
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static func uuidText(_ bytes: [UInt8]) -> String {
    let text = hexadecimal(bytes).uppercased()
    var result = ""
    for (place, digit) in text.enumerated() {
      if [8, 12, 16, 20].contains(place) { result += "-" }
      result.append(digit)
    }
    return result
  }
}

extension KeyWriter {
  /// Writes values of this form; false if they do not have it.
  ///
  /// - Parameter isLast: whether the key ends with them.
  mutating func append(_ values: [KeyValue], as form: KeyForm, isLast: Bool = true) -> Bool {
    // Mostly a number, a text, or an optional of these.
    if values.count == 1 {
      switch form.node {
      case .primitive(let primitive): return append(values[0], as: primitive, isLast: isLast)
      case .optional(let wrapped):
        if case .null = values[0] { break }
        guard case .primitive(let primitive) = wrapped.node else { break }
        appendPresent()
        return append(values[0], as: primitive, isLast: isLast)
      case .composite: break
      }
    }
    var rest = values[...]
    return append(&rest, as: form, isLast: isLast) && rest.isEmpty
  }

  private mutating func append(
    _ values: inout ArraySlice<KeyValue>, as form: KeyForm, isLast: Bool
  ) -> Bool {
    switch form.node {
    case .composite(let parts):
      for (place, part) in parts.enumerated()
      where !append(&values, as: part, isLast: isLast && place == parts.count - 1) {
        return false
      }
      return true
    case .optional(let wrapped):
      if case .null? = values.first {
        values.removeFirst()
        appendNil()
        return true
      }
      appendPresent()
      if wrapped.mayBeginWithNil {
        guard case .bool(true)? = values.popFirst() else { return false }
      }
      return append(&values, as: wrapped, isLast: isLast)
    case .primitive(let primitive):
      guard let value = values.popFirst() else { return false }
      return append(value, as: primitive, isLast: isLast)
    }
  }

  private mutating func append(
    _ value: KeyValue, as primitive: KeyForm.Primitive, isLast: Bool
  ) -> Bool {
    switch (primitive, value) {
    case (.bool, .bool(let value)): append(bool: value)
    case (.int8, .signed(let value)): append(int8: Int8(truncatingIfNeeded: value))
    case (.int16, .signed(let value)): append(int16: Int16(truncatingIfNeeded: value))
    case (.int32, .signed(let value)): append(int32: Int32(truncatingIfNeeded: value))
    case (.int64, .signed(let value)): append(int64: value)
    case (.uint8, .unsigned(let value)): append(uint8: UInt8(truncatingIfNeeded: value))
    case (.uint16, .unsigned(let value)): append(uint16: UInt16(truncatingIfNeeded: value))
    case (.uint32, .unsigned(let value)): append(uint32: UInt32(truncatingIfNeeded: value))
    case (.uint64, .unsigned(let value)): append(uint64: value)
    case (.float, .float(let value)): append(float: value)
    case (.double, .double(let value)): append(double: value)
    case (.date, .date(let value)): append(date: value)
    case (.string, .string(let value)): append(string: value, isLast: isLast)
    case (.url, .url(let value)): append(exactString: value, isLast: isLast)
    case (.data, .data(let value)):
      value.withUnsafeBytes { append(data: $0, isLast: isLast) }
    case (.uuid, .uuid(let value)): value.withUnsafeBytes { append(uuid: $0) }
    case (.decimal, .decimal(let value)): value.bytes.withUnsafeBytes { append(decimal: $0) }
    default: return false
    }
    return true
  }
}
