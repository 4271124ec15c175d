internal import Foundation
internal import Larch

/// Single values as JSON that reads back to exactly the same bytes.
///
/// Numbers are written in full, floating point in the shortest form that reads back the same.
/// Values that are not JSON numbers are texts: `"inf"`, `"-inf"`, `"nan"`, or for any other NaN
/// `"nan:` and its bits in hexadecimal.
package enum ExactText {
  static func write(
    _ kind: FieldKind, _ value: UnsafeRawBufferPointer, to writer: inout JSONTextWriter
  ) throws {
    guard !kind.isFixed || value.count == kind.width else { throw ByteReader.damaged("length") }
    switch kind {
    case .float:
      let number = value.loadUnaligned(as: Float.self)
      if let text = name(of: number, bits: number.bitPattern) { return writer.text(text) }
    case .double:
      let number = value.loadUnaligned(as: Double.self)
      if let text = name(of: number, bits: number.bitPattern) { return writer.text(text) }
    case .date:
      let seconds = value.loadUnaligned(as: Double.self)
      if let iso = ISODate.text(seconds),
        date(iso)?.bitPattern == seconds.bitPattern
      {
        return writer.text(iso)
      }
      return try write(.double, value, to: &writer)
    case .decimal: return try write(decimal: value, to: &writer)
    default: break
    }
    try writer.scalar(kind, value)
  }

  /// The bytes of a value of this kind, in slot form; nil if the JSON is not one.
  static func bytes(of node: JSONNode, _ kind: FieldKind) -> [UInt8]? {
    switch kind {
    case .bool: node.bool.map { [$0 ? 1 : 0] }
    case .int8: little(node.integer(Int8.self))
    case .int16: little(node.integer(Int16.self))
    case .int32: little(node.integer(Int32.self))
    case .int64: little(node.integer(Int64.self))
    case .uint8: little(node.integer(UInt8.self))
    case .uint16: little(node.integer(UInt16.self))
    case .uint32: little(node.integer(UInt32.self))
    case .uint64: little(node.integer(UInt64.self))
    case .int128: little(node.integer(Int128.self))
    case .uint128: little(node.integer(UInt128.self))
    case .float: little(float(node))
    case .double: little(double(node))
    case .date: little(node.string.flatMap { date($0)?.bitPattern } ?? double(node))
    case .uuid:
      node.string.flatMap { UUID(uuidString: $0) }.map { uuid in
        withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) }
      }
    case .decimal: decimal(node)
    case .string, .url: node.string.map { [UInt8]($0.utf8) }
    case .data: node.string.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
    case .record, .list, .map, .tagged: nil
    }
  }

  private static func little<T: FixedWidthInteger>(_ number: T?) -> [UInt8]? {
    guard let number else { return nil }
    return withUnsafeBytes(of: number.littleEndian) { [UInt8]($0) }
  }

  // MARK: Floating point

  /// The text for a number that JSON does not have; nil for any other.
  private static func name<F: BinaryFloatingPoint>(
    of number: F, bits: some FixedWidthInteger
  ) -> String? {
    if number.isFinite { return nil }
    if number.isInfinite { return number < 0 ? "-inf" : "inf" }
    return isUsualNaN(bits) ? "nan" : "nan:" + String(bits, radix: 16)
  }

  private static func isUsualNaN(_ bits: some FixedWidthInteger) -> Bool {
    UInt64(truncatingIfNeeded: bits) == Double.nan.bitPattern
      || UInt64(truncatingIfNeeded: bits) == UInt64(Float.nan.bitPattern)
  }

  private static func double(_ node: JSONNode) -> UInt64? {
    switch node {
    case .number(let text):
      guard let number = Double(text), number.isFinite else { return nil }
      return number.bitPattern
    case .string(let text):
      return bits(
        text, infinity: Double.infinity.bitPattern, sign: 1 << 63, nan: Double.nan.bitPattern
      ) { Double(bitPattern: $0).isNaN }
    default: return nil
    }
  }

  private static func float(_ node: JSONNode) -> UInt32? {
    switch node {
    case .number(let text):
      guard let number = Float(text), number.isFinite else { return nil }
      return number.bitPattern
    case .string(let text):
      return bits(
        text, infinity: Float.infinity.bitPattern, sign: 1 << 31, nan: Float.nan.bitPattern
      ) { Float(bitPattern: $0).isNaN }
    default: return nil
    }
  }

  private static func bits<T: FixedWidthInteger>(
    _ text: String, infinity: T, sign: T, nan: T, isNaN: (T) -> Bool
  ) -> T? {
    switch text {
    case "inf": return infinity
    case "-inf": return infinity | sign
    case "nan": return nan
    default:
      guard text.hasPrefix("nan:"), let bits = T(text.dropFirst(4), radix: 16), isNaN(bits) else {
        return nil
      }
      return bits
    }
  }

  // MARK: Dates

  /// The seconds since 2001 of `2026-01-31T12:00:00.25Z`, with the calculation of the writer.
  package static func date(_ text: String) -> Double? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes.count <= 30, bytes[bytes.count - 1] == UInt8(ascii: "Z"),
      bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"),
      bytes[16] == UInt8(ascii: ":")
    else { return nil }
    func number(_ range: Range<Int>) -> Int64? {
      var result: Int64 = 0
      for byte in bytes[range] {
        guard (0x30...0x39).contains(byte) else { return nil }
        result = result * 10 + Int64(byte - 0x30)
      }
      return result
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      (1...9999).contains(year), (1...12).contains(month), day >= 1,
      day <= days(in: month, of: year), hour < 24, minute < 60, second < 60
    else { return nil }
    var fraction = 0.0
    if bytes.count > 20 {
      guard bytes[19] == UInt8(ascii: "."), bytes.count > 21,
        let digits = number(20..<bytes.count - 1)
      else { return nil }
      var power: Int64 = 1
      for _ in 20..<bytes.count - 1 { power *= 10 }
      fraction = Double(digits) / Double(power)
    }
    // Days since 1970-01-01, in years that end with February.
    let shifted = month > 2 ? year : year - 1
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let dayNumber = era * 146_097 + dayOfEra - 719_468
    let whole = dayNumber * 86_400 + hour * 3600 + minute * 60 + second - 978_307_200
    return Double(whole) + fraction
  }

  private static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  // MARK: Decimals

  /// The stored digits, with a point if that needs few zeros.
  private static func write(
    decimal value: UnsafeRawBufferPointer, to writer: inout JSONTextWriter
  ) throws {
    let exponent = Int(value.loadUnaligned(as: Int8.self))
    let flags = value.loadUnaligned(fromByteOffset: 1, as: UInt8.self)
    let mantissa = value.loadUnaligned(fromByteOffset: 2, as: UInt128.self)
    guard flags <= 2 else { throw ByteReader.damaged("decimal") }
    if flags == 2 { return writer.text("nan") }
    var digits = String(mantissa)
    if exponent > 0, digits.count + exponent <= 30 {
      digits += String(repeating: "0", count: exponent)
    } else if exponent < 0, exponent >= -40 {
      let missing = 1 - exponent - digits.count
      if missing > 0 { digits = String(repeating: "0", count: missing) + digits }
      let point = digits.index(digits.endIndex, offsetBy: exponent)
      digits.insert(".", at: point)
    } else if exponent != 0 {
      digits += "e\(exponent)"
    }
    writer.raw((flags == 1 ? "-" : "") + digits)
  }

  private static func decimal(_ node: JSONNode) -> [UInt8]? {
    if node.string == "nan" { return [0, 2] + [UInt8](repeating: 0, count: 16) }
    guard case .number(let text) = node else { return nil }
    var rest = Substring(text)
    let isNegative = rest.first == "-"
    if isNegative { rest.removeFirst() }
    var exponent = 0
    if let place = rest.firstIndex(where: { $0 == "e" || $0 == "E" }) {
      var power = rest[rest.index(after: place)...]
      if power.first == "+" { power.removeFirst() }
      guard let number = Int(power), (-999...999).contains(number) else { return nil }
      exponent = number
      rest = rest[..<place]
    }
    if let point = rest.firstIndex(of: ".") {
      exponent -= rest.distance(from: point, to: rest.endIndex) - 1
      rest.remove(at: point)
    }
    guard var mantissa = UInt128(rest) else { return nil }
    if mantissa == 0 { return [UInt8](repeating: 0, count: 18) }
    // Without trailing zeros, as it is stored.
    while mantissa % 10 == 0, exponent < 127 {
      mantissa /= 10
      exponent += 1
    }
    guard let stored = Int8(exactly: exponent) else { return nil }
    return [UInt8(bitPattern: stored), isNegative ? 1 : 0]
      + withUnsafeBytes(of: mantissa.littleEndian) { [UInt8]($0) }
  }
}
