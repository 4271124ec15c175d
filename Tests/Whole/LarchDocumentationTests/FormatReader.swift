import Foundation

/// A reader of store files that was written from docs/file-format.md alone, without any code of the
/// library. If it cannot read a file, the document is wrong or the format has changed.
struct FormatReader {
  struct Wrong: Error {
    let what: String
    init(_ what: String) { self.what = what }
  }

  struct Collection {
    let number: UInt32
    let name: String
    let idKind: UInt8
    var indexes: [(number: UInt32, name: String, isUnique: Bool, definition: String, state: UInt8)]
  }

  struct Association {
    let key: String
    let kind: UInt8
    let ends: [String]
    let rules: [UInt8]
    let path: [String]
    let traits: UInt8
    let number: UInt32
  }

  let file: [UInt8]
  let pageSize: Int
  private(set) var databases: [String: [UInt8]] = [:]
  private(set) var shapes: [UInt16: [(kind: UInt8, name: String)]] = [:]

  init(path: String) throws {
    file = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let size = Int(file.u32(40))
    pageSize = size
    let metas = [0, size].map { (transaction: file.u64($0 + 144), offset: $0) }
    for meta in metas {
      guard file.u32(meta.offset + 16) == 0xBEEF_C0DE, file.u32(meta.offset + 20) == 1 else {
        throw Wrong("meta page")
      }
    }
    guard let newest = metas.max(by: { $0.transaction < $1.transaction }) else { return }
    for node in try nodes(ofTree: Array(file[(newest.offset + 88)..<(newest.offset + 136)]))
    where node.flags == 2 {
      databases[String(decoding: node.key, as: UTF8.self)] = node.value
    }
    for (key, value) in try entries("larch.shapes") {
      var bytes = try Bytes(checked(key, value))
      _ = try bytes.text16()
      let fields = try (0..<(try bytes.integer(UInt16.self))).map { _ in
        (try bytes.integer(UInt8.self), try bytes.text16())
      }
      try bytes.expectEnd()
      shapes[UInt16(key[0]) << 8 | UInt16(key[1])] = fields
    }
  }
}

// MARK: - Pages

extension FormatReader {
  struct Node {
    let flags: UInt16
    let key: [UInt8]
    let value: [UInt8]
  }

  /// All leaf nodes of the tree that a tree record describes.
  private func nodes(ofTree record: [UInt8]) throws -> [Node] {
    let root = record.u64(40)
    return root == .max ? [] : try nodes(below: root)
  }

  private func nodes(below number: UInt64) throws -> [Node] {
    let start = Int(number) * pageSize
    guard start + pageSize <= file.count else { throw Wrong("page number") }
    let page = Array(file[start..<(start + pageSize)])
    guard page.u64(0) == number else { throw Wrong("page header") }
    switch page.u16(10) {
    case 0x01:
      return try raw(page).flatMap { node in
        try nodes(below: UInt64(node.size) | UInt64(node.flags) << 32)
      }
    case 0x02:
      return raw(page).map { node in
        var value = node.rest
        if node.flags & 1 != 0 {
          let run = Int(value.u64(0)) * pageSize + 16
          value = Array(file[run..<(run + node.size)])
        }
        return Node(flags: node.flags & ~1, key: node.key, value: Array(value.prefix(node.size)))
      }
    case 0x22: return fixed(page).map { Node(flags: 0, key: $0, value: []) }
    default: throw Wrong("page flags")
    }
  }

  private func raw(
    _ page: [UInt8]
  ) -> [(size: Int, flags: UInt16, key: [UInt8], rest: [UInt8])] {
    (0..<((Int(page.u16(12)) - 16) / 2)).map { index in
      let at = Int(page.u16(16 + 2 * index))
      let keyEnd = at + 8 + Int(page.u16(at + 6))
      return (
        Int(page.u16(at)) | Int(page.u16(at + 2)) << 16, page.u16(at + 4),
        Array(page[(at + 8)..<keyEnd]), Array(page[keyEnd...])
      )
    }
  }

  private func fixed(_ page: [UInt8]) -> [[UInt8]] {
    let size = Int(page.u16(8))
    return (0..<((Int(page.u16(12)) - 16) / 2)).map { index in
      Array(page[(16 + index * size)..<(16 + (index + 1) * size)])
    }
  }

  /// The entries of a named database, each duplicate by itself.
  func entries(_ name: String) throws -> [(key: [UInt8], value: [UInt8])] {
    guard let record = databases[name] else { throw Wrong("no database \(name)") }
    let hasDuplicates = record.u16(4) & 0x04 != 0
    return try nodes(ofTree: record).flatMap { node -> [([UInt8], [UInt8])] in
      if !hasDuplicates || node.flags == 0 { return [(node.key, node.value)] }
      let values: [[UInt8]] =
        switch node.flags {
        case 0x04:
          node.value.u16(10) == 0x72 ? fixed(node.value) : raw(node.value).map(\.key)
        case 0x06: try nodes(ofTree: node.value).map(\.key)
        default: throw Wrong("node flags")
        }
      return values.map { (node.key, $0) }
    }
  }
}

// MARK: - Catalog

extension FormatReader {
  static func crc32c(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var sum = UInt32.max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0x82F6_3B78 : 0) }
    }
    return ~sum
  }

  private func checked(_ key: [UInt8], _ value: [UInt8]) throws -> [UInt8] {
    let body = Array(value.dropLast(4))
    guard Self.crc32c(key + body) == value.u32(body.count) else { throw Wrong("checksum") }
    return body
  }

  func catalog() throws -> [String: [UInt8]] {
    try entries("larch").reduce(into: [:]) { result, entry in
      result[String(decoding: entry.key, as: UTF8.self)] = try checked(entry.key, entry.value)
    }
  }

  func collections() throws -> [Collection] {
    try catalog().filter { $0.key.hasPrefix("collection/") }.map { _, value in
      var bytes = Bytes(value)
      var result = Collection(
        number: try bytes.integer(), name: try bytes.text8(),
        idKind: try { (_: String) in try bytes.integer() }(try bytes.text8()), indexes: [])
      for _ in 0..<(try bytes.varint()) {
        result.indexes.append(
          (
            try bytes.integer(), try bytes.text8(), try bytes.integer(UInt8.self) == 1,
            try bytes.text8(), try bytes.integer()
          ))
      }
      try bytes.expectEnd()
      return result
    }
  }
}

// MARK: - Declarations

extension FormatReader {
  /// The versions of a collection, each as text.
  func declarations(of number: UInt32) throws -> [String] {
    guard let value = try catalog()["fields/\(number)"] else { return [] }
    var bytes = Bytes(value)
    let forms = try (0..<(try bytes.varint())).map { _ in try form(&bytes) }
    try bytes.expectEnd()
    return forms
  }

  private func form(_ bytes: inout Bytes) throws -> String {
    let kind: UInt8 = try bytes.integer()
    switch kind {
    case 0: return "?"
    case 35:
      let isComplete: UInt8 = try bytes.integer()
      let fields = try (0..<(try bytes.varint())).map { _ in
        let name = try bytes.text8()
        let mark = try bytes.integer(UInt8.self) == 1 ? "?" : ""
        return "\(name)\(mark):\(try form(&bytes))"
      }
      return "{\(fields.joined(separator: ","))\(isComplete == 1 ? "" : "…")}"
    case 36: return "[\(try form(&bytes))]"
    case 37: return "<\(try form(&bytes))>"
    case 1...16, 32...34: return "\(kind)"
    default: throw Wrong("form")
    }
  }
}

// MARK: - Associations

extension FormatReader {
  /// In the order of their keys.
  func associations() throws -> [Association] {
    let prefix = "association/"
    return try catalog().filter { $0.key.hasPrefix(prefix) }.map { key, value in
      var bytes = Bytes(value)
      let kind: UInt8 = try bytes.integer()
      let ends = [try bytes.text8(), try bytes.text8()]
      let rules: [UInt8] = [try bytes.integer(), try bytes.integer()]
      let path = try (0..<(try bytes.varint())).map { _ in try bytes.text8() }
      let result = Association(
        key: String(key.dropFirst(prefix.count)), kind: kind, ends: ends, rules: rules,
        path: path, traits: try bytes.integer(), number: try bytes.integer())
      try bytes.expectEnd()
      return result
    }.sorted { $0.key < $1.key }
  }

  /// The links of lists, from the first end to the second; both directions must agree.
  func links(of association: Association) throws -> [[[UInt8]]] {
    let forward = try entries("links.\(association.number)").map { [$0.key, $0.value] }
    let inverse = try entries("links.\(association.number).inverse").map { [$0.value, $0.key] }
    guard forward.count == inverse.count, Set(forward) == Set(inverse) else {
      throw Wrong("directions of links")
    }
    return forward
  }
}

// MARK: - Migrations

extension FormatReader {
  /// The names in the order in which they ran, with their times.
  func migrations() throws -> [(name: String, seconds: Double)] {
    let prefix = "migration/"
    return try catalog().filter { $0.key.hasPrefix(prefix) }.map { key, value in
      var bytes = Bytes(value)
      let number: UInt32 = try bytes.integer()
      let seconds = Double(bitPattern: try bytes.integer())
      try bytes.expectEnd()
      return (number, String(key.dropFirst(prefix.count)), seconds)
    }.sorted { $0.0 < $1.0 }.map { ($0.1, $0.2) }
  }
}

// MARK: - Records

extension FormatReader {
  /// A value of any kind. Numbers are kept as their bytes, so that all of them are distinct.
  indirect enum Value: Equatable {
    case null
    case fixed(kind: UInt8, [UInt8])
    case text(String)
    case data([UInt8])
    case list([Value])
    case map([String: Value])
    case record([String: Value])
  }

  func records(of collection: Collection) throws -> [[UInt8]: Value] {
    try entries("records.\(collection.number)").reduce(into: [:]) { result, entry in
      let body = Array(entry.value.dropLast(4))
      let number = withUnsafeBytes(of: collection.number.littleEndian) { [UInt8]($0) }
      guard Self.crc32c(number + entry.key + body) == entry.value.u32(body.count) else {
        throw Wrong("checksum")
      }
      result[entry.key] = try record(body)
    }
  }

  private func record(_ bytes: [UInt8]) throws -> Value {
    let header = bytes.u16(0)
    guard header & 0x8000 == 0 else { throw Wrong("header") }
    if header & 0x3FFF == 0 { return try value(38, Array(bytes[2...])) }
    guard let fields = shapes[header & 0x3FFF] else { throw Wrong("shape") }
    let isWide = header & 0x4000 != 0
    var offset = 2 + (fields.count + 7) / 8
    var result: [String: Value] = [:]
    var variable: [(kind: UInt8, name: String, isPresent: Bool, end: Int)] = []
    for (index, field) in fields.enumerated() {
      let isPresent = bytes[2 + index / 8] >> (index % 8) & 1 == 1
      if let width = Self.width(field.kind) {
        let slot = Array(bytes[offset..<(offset + width)])
        if isPresent { result[field.name] = try value(field.kind, slot) }
        offset += width
      } else {
        let end = isWide ? Int(bytes.u32(offset)) : Int(bytes.u16(offset))
        variable.append((field.kind, field.name, isPresent, end))
        offset += isWide ? 4 : 2
      }
    }
    for field in variable {
      if field.isPresent {
        result[field.name] = try value(field.kind, Array(bytes[offset..<field.end]))
      } else if field.end != offset {
        throw Wrong("end of an absent field")
      }
      offset = field.end
    }
    guard offset == bytes.count else { throw Wrong("end of a record") }
    return .record(result)
  }

  private static func width(_ kind: UInt8) -> Int? {
    switch kind {
    case 1, 2, 6: 1
    case 3, 7: 2
    case 4, 8, 10: 4
    case 5, 9, 11, 12: 8
    case 13, 15, 16: 16
    case 14: 18
    default: nil
    }
  }

  private func value(_ kind: UInt8, _ raw: [UInt8]) throws -> Value {
    var bytes = Bytes(raw)
    let result: Value
    switch kind {
    case 32, 34: return .text(String(decoding: raw, as: UTF8.self))
    case 33: return .data(raw)
    case 35: return try record(raw)
    case 36:
      let kind = try bytes.integer(UInt8.self)
      result = .list(try (0..<(try bytes.varint())).map { _ in try element(kind, &bytes) })
    case 37:
      let kind = try bytes.integer(UInt8.self)
      var entries: [String: Value] = [:]
      for _ in 0..<(try bytes.varint()) {
        entries[try bytes.text8()] = try element(kind, &bytes)
      }
      result = .map(entries)
    case 38: result = try element(38, &bytes)
    default: return .fixed(kind: kind, raw)
    }
    try bytes.expectEnd()
    return result
  }

  private func element(_ kind: UInt8, _ bytes: inout Bytes) throws -> Value {
    if let width = Self.width(kind) { return try value(kind, bytes.take(width)) }
    switch kind {
    case 32...34: return try value(kind, bytes.take(bytes.varint()))
    case 35...37: return try value(kind, bytes.take(Int(try bytes.integer(UInt32.self))))
    case 38:
      let kind = try bytes.integer(UInt8.self)
      return kind == 0 ? .null : try element(kind, &bytes)
    default: throw Wrong("kind")
    }
  }
}

// MARK: - Bytes

/// Reads bytes from first to last.
private struct Bytes {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  mutating func take(_ count: Int) throws -> [UInt8] {
    guard count <= rest.count else { throw FormatReader.Wrong("too few bytes") }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) throws -> T {
    try take(T.bitWidth / 8).reversed().reduce(0) { $0 << 8 | T($1) }
  }

  mutating func varint() throws -> Int {
    var result = 0
    for shift in stride(from: 0, to: 63, by: 7) {
      let byte = try integer(UInt8.self)
      result |= Int(byte & 0x7F) << shift
      if byte < 0x80 { break }
    }
    return result
  }

  mutating func text8() throws -> String { String(decoding: try take(try varint()), as: UTF8.self) }

  mutating func text16() throws -> String {
    String(decoding: try take(Int(try integer(UInt16.self))), as: UTF8.self)
  }

  func expectEnd() throws { if !rest.isEmpty { throw FormatReader.Wrong("bytes left over") } }
}

extension [UInt8] {
  fileprivate func u16(_ at: Int) -> UInt16 { UInt16(self[at]) | UInt16(self[at + 1]) << 8 }
  fileprivate func u32(_ at: Int) -> UInt32 { UInt32(u16(at)) | UInt32(u16(at + 2)) << 16 }
  fileprivate func u64(_ at: Int) -> UInt64 { UInt64(u32(at)) | UInt64(u32(at + 4)) << 32 }
}
