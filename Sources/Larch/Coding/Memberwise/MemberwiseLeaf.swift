internal import Foundation

/// A value of variable length that memberwise coding writes by itself, in slot form.
protocol MemberwiseLeaf: Codable, SendableMetatype {
  static var leafKind: FieldKind { get }
  /// Any value, for running `init(from:)` once.
  static var sample: Self { get }
  /// Appends the value; false when only Codable can write it.
  func write(to output: inout MemberwiseOutput) -> Bool
  /// Nil when the bytes are not as the writer makes them: then Codable has the last word.
  static func read(_ bytes: UnsafeRawBufferPointer) -> Self?
}

/// Fixed-width elements of lists whose memory is their element form.
protocol MemberwiseElement: Codable {
  static var elementKind: FieldKind { get }
  static var sample: Self { get }
}

extension Int: MemberwiseElement { static let (elementKind, sample) = (FieldKind.int64, 0) }
extension Int8: MemberwiseElement { static let (elementKind, sample) = (FieldKind.int8, Int8(0)) }
extension Int16: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.int16, Int16(0))
}
extension Int32: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.int32, Int32(0))
}
extension Int64: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.int64, Int64(0))
}
extension UInt: MemberwiseElement { static let (elementKind, sample) = (FieldKind.uint64, UInt(0)) }
extension UInt8: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.uint8, UInt8(0))
}
extension UInt16: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.uint16, UInt16(0))
}
extension UInt32: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.uint32, UInt32(0))
}
extension UInt64: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.uint64, UInt64(0))
}
extension Float: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.float, Float(0))
}
extension Double: MemberwiseElement {
  static let (elementKind, sample) = (FieldKind.double, Double(0))
}
extension Date: MemberwiseElement {
  static var elementKind: FieldKind { .date }
  static var sample: Date { Date(timeIntervalSinceReferenceDate: 0) }
  /// Whether a date's memory is its seconds since 2001, as the format has it.
  static let isPlainSeconds: Bool = {
    guard MemoryLayout<Date>.size == 8, _isPOD(Date.self) else { return false }
    return [0, -1.5, 1e10, 0.1].allSatisfy { seconds in
      var date = Date(timeIntervalSinceReferenceDate: seconds)
      return withUnsafeBytes(of: &date) { $0.load(as: Double.self) } == seconds
    }
  }()
}
extension UUID: MemberwiseElement {
  static var elementKind: FieldKind { .uuid }
  static var sample: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  /// Whether a UUID's memory is its 16 bytes.
  static let isPlainBytes = MemoryLayout<UUID>.size == 16 && _isPOD(UUID.self)
}

extension Array: MemberwiseLeaf where Element: MemberwiseListElement {
  static var leafKind: FieldKind { .list }
  static var sample: [Element] { [] }
  func write(to output: inout MemberwiseOutput) -> Bool {
    Element.writeList(self, to: &output)
    return true
  }
  static func read(_ bytes: UnsafeRawBufferPointer) -> [Element]? { Element.readList(bytes) }
}

/// Elements that know how a whole list of them is written.
protocol MemberwiseListElement: Codable, SendableMetatype {
  static func writeList(_ list: [Self], to output: inout MemberwiseOutput)
  static func readList(_ bytes: UnsafeRawBufferPointer) -> [Self]?
}

extension MemberwiseListElement where Self: MemberwiseElement {
  static func writeList(_ list: [Self], to output: inout MemberwiseOutput) {
    guard !list.isEmpty else { return output.appendEmptyList() }
    let byteCount = list.count &* MemoryLayout<Self>.size
    output.reserve(byteCount &+ 6)
    output.append(byte: elementKind.rawValue)
    output.append(varint: list.count)
    list.withUnsafeBytes { output.append($0) }
  }

  static func readList(_ bytes: UnsafeRawBufferPointer) -> [Self]? {
    var reader = ListReader(bytes)
    guard let (kind, count) = reader.header() else { return nil }
    if count == 0 { return kind == 0 && reader.rest.isEmpty ? [] : nil }
    let rest = reader.rest
    guard kind == elementKind.rawValue,
      rest.count == count.multipliedReportingOverflow(by: MemoryLayout<Self>.size).partialValue,
      rest.count / MemoryLayout<Self>.size == count
    else { return nil }
    var list = [Self](repeating: sample, count: count)
    list.withUnsafeMutableBytes { $0.copyMemory(from: rest) }
    return list
  }
}

extension Int: MemberwiseListElement {}
extension Int8: MemberwiseListElement {}
extension Int16: MemberwiseListElement {}
extension Int32: MemberwiseListElement {}
extension Int64: MemberwiseListElement {}
extension UInt: MemberwiseListElement {}
extension UInt8: MemberwiseListElement {}
extension UInt16: MemberwiseListElement {}
extension UInt32: MemberwiseListElement {}
extension UInt64: MemberwiseListElement {}
extension Float: MemberwiseListElement {}
extension Double: MemberwiseListElement {}

extension String: MemberwiseListElement {
  static func writeList(_ list: [String], to output: inout MemberwiseOutput) {
    guard !list.isEmpty else { return output.appendEmptyList() }
    output.reserve(6)
    output.append(byte: FieldKind.string.rawValue)
    output.append(varint: list.count)
    for text in list {
      output.reserve(text.utf8.count &+ 5)
      output.append(varint: text.utf8.count)
      output.append(text)
    }
  }

  static func readList(_ bytes: UnsafeRawBufferPointer) -> [String]? {
    var reader = ListReader(bytes)
    guard let (kind, count) = reader.header() else { return nil }
    if count == 0 { return kind == 0 && reader.rest.isEmpty ? [] : nil }
    // Every element takes at least its length byte, so a false count cannot ask for memory.
    guard kind == FieldKind.string.rawValue, count <= reader.rest.count else { return nil }
    var list: [String] = []
    list.reserveCapacity(count)
    for _ in 0..<count {
      guard let length = reader.varint(), let utf8 = reader.take(length),
        let text = SmallString.text(utf8)
      else { return nil }
      list.append(text)
    }
    return reader.rest.isEmpty ? list : nil
  }
}

extension Data: MemberwiseLeaf {
  static var leafKind: FieldKind { .data }
  static var sample: Data { Data() }
  func write(to output: inout MemberwiseOutput) -> Bool {
    output.reserve(count)
    withUnsafeBytes { output.append($0) }
    return true
  }
  static func read(_ bytes: UnsafeRawBufferPointer) -> Data? { Data(bytes) }
}

extension URL: MemberwiseLeaf {
  static var leafKind: FieldKind { .url }
  static var sample: URL { URL(fileURLWithPath: "/") }
  func write(to output: inout MemberwiseOutput) -> Bool {
    guard let text = Leaf.text(ofURL: self) else { return false }
    output.reserve(text.utf8.count)
    output.append(text)
    return true
  }
  static func read(_ bytes: UnsafeRawBufferPointer) -> URL? {
    SmallString.text(bytes).flatMap { URL(string: $0) }
  }
}

/// Reads the parts of a list; every step answers nil rather than leave the bytes.
struct ListReader {
  private(set) var rest: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

  mutating func header() -> (kind: UInt8, count: Int)? {
    guard let kind = take(1)?.first, let count = varint() else { return nil }
    return (kind, count)
  }

  mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, count <= rest.count else { return nil }
    defer { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
    return UnsafeRawBufferPointer(rebasing: rest[..<count])
  }

  /// LEB128, at most 32 bits, the shortest form only.
  mutating func varint() -> Int? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    for (index, byte) in rest.prefix(5).enumerated() {
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 {
        guard byte != 0 || index == 0, value <= UInt64(UInt32.max) else { return nil }
        _ = take(index + 1)
        return Int(value)
      }
      shift += 7
    }
    return nil
  }
}
