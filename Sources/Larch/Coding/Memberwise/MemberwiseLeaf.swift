internal import Foundation

/// A value of variable length that memberwise coding writes by itself, in slot form.
protocol MemberwiseLeaf: Codable, SendableMetatype {
  static var leafKind: FieldKind { get }
  /// Appends the value; false if only Codable can write it.
  func write(to output: inout RecordOutput) -> Bool
  /// Nil if the bytes differ from those of the writer: then Codable decides.
  static func read(_ bytes: UnsafeRawBufferPointer) -> Self?
  /// Values for a proof of coding, the first of which is ordinary and different for each number.
  static func madeUp(_ number: Int) -> [Self]
}

/// Fixed-width elements of lists whose memory is their element form.
protocol MemberwiseElement: Codable {
  static var elementKind: FieldKind { get }
}

extension Int: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .int64 }
}
extension Int8: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .int8 }
}
extension Int16: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .int16 }
}
extension Int32: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .int32 }
}
extension Int64: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .int64 }
}
extension UInt: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .uint64 }
}
extension UInt8: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .uint8 }
}
extension UInt16: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .uint16 }
}
extension UInt32: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .uint32 }
}
extension UInt64: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .uint64 }
}
extension Float: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .float }
}
extension Double: MemberwiseElement, MemberwiseListElement {
  static var elementKind: FieldKind { .double }
}
extension Date: MemberwiseElement { static var elementKind: FieldKind { .date } }
extension UUID: MemberwiseElement { static var elementKind: FieldKind { .uuid } }

extension Array: MemberwiseLeaf where Element: MemberwiseListElement {
  static var leafKind: FieldKind { .list }
  func write(to output: inout RecordOutput) -> Bool {
    Element.writeList(self, to: &output)
    return true
  }
  static func read(_ bytes: UnsafeRawBufferPointer) -> [Element]? { Element.readList(bytes) }
  static func madeUp(_ number: Int) -> [[Element]] {
    ProofValues.lists(of: Element.madeUpElements(number))
  }
}

/// Elements that can write a whole list of them.
protocol MemberwiseListElement: Codable, SendableMetatype {
  static func writeList(_ list: [Self], to output: inout RecordOutput)
  static func readList(_ bytes: UnsafeRawBufferPointer) -> [Self]?
  static func madeUpElements(_ number: Int) -> [Self]
}

extension MemberwiseListElement where Self: MemberwiseElement {
  static func madeUpElements(_ number: Int) -> [Self] { ProofValues.numbers(Self.self, number) }

  static func writeList(_ list: [Self], to output: inout RecordOutput) {
    guard !list.isEmpty else { return output.appendEmptyList() }
    output.append(elementKind.rawValue)
    output.append(varint: list.count)
    list.withUnsafeBytes { output.append($0) }
  }

  static func readList(_ bytes: UnsafeRawBufferPointer) -> [Self]? {
    var reader = ByteReader(bytes)
    guard let (kind, count) = try? reader.listHeader(isMap: false) else { return nil }
    guard let kind else { return reader.isAtEnd ? [] : nil }
    let size = MemoryLayout<Self>.size
    // No overflow: the header has at most as many elements as there are bytes.
    guard kind == elementKind, reader.remaining == count * size,
      let elements = try? reader.take(count * size)
    else { return nil }
    return [Self](unsafeUninitializedCapacity: count) { memory, filled in
      UnsafeMutableRawBufferPointer(memory).copyMemory(from: elements)
      filled = count
    }
  }
}

extension String: MemberwiseListElement {
  static func madeUpElements(_ number: Int) -> [String] { ProofValues.strings(number) }

  static func writeList(_ list: [String], to output: inout RecordOutput) {
    guard !list.isEmpty else { return output.appendEmptyList() }
    output.append(FieldKind.string.rawValue)
    output.append(varint: list.count)
    for text in list {
      output.append(varint: text.utf8.count)
      output.append(text)
    }
  }

  static func readList(_ bytes: UnsafeRawBufferPointer) -> [String]? {
    var reader = ByteReader(bytes)
    guard let (kind, count) = try? reader.listHeader(isMap: false) else { return nil }
    guard let kind else { return reader.isAtEnd ? [] : nil }
    guard kind == .string else { return nil }
    var list: [String] = []
    list.reserveCapacity(count)
    for _ in 0..<count {
      guard let utf8 = try? reader.bytes(kind), let text = SmallString.text(utf8) else {
        return nil
      }
      list.append(text)
    }
    return reader.isAtEnd ? list : nil
  }
}

extension Data: MemberwiseLeaf {
  static var leafKind: FieldKind { .data }
  func write(to output: inout RecordOutput) -> Bool {
    withUnsafeBytes { output.append($0) }
    return true
  }
  static func read(_ bytes: UnsafeRawBufferPointer) -> Data? { Data(bytes) }
  static func madeUp(_ number: Int) -> [Data] {
    [
      Data([1, UInt8(truncatingIfNeeded: number)]), Data(), Data([0]),
      Data(repeating: 7, count: 300), Data(repeating: 7, count: ProofValues.longest),
    ]
  }
}

extension URL: MemberwiseLeaf {
  static var leafKind: FieldKind { .url }
  func write(to output: inout RecordOutput) -> Bool {
    guard let text = Leaf.text(ofURL: self) else { return false }
    output.append(text)
    return true
  }
  static func read(_ bytes: UnsafeRawBufferPointer) -> URL? {
    SmallString.text(bytes).flatMap { URL(string: $0) }
  }
  static func madeUp(_ number: Int) -> [URL] {
    [
      "https://larch.example/\(number)?q=1#f", "http://x", "HTTPS://Larch.Example/A/", "/tmp/a",
      "a", "mailto:a@b.c", "https://larch.example:8080/a%20b/../c",
    ].compactMap { URL(string: $0) }
  }
}
