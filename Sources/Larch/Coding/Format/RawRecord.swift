internal import Foundation

/// A record without its Swift type, from the catalog and the bytes.
///
/// Its JSON is on one line, with keys sorted by their bytes:
/// - numbers are exact: integers in full, floating point in the shortest form that reads back the
///   same; values that JSON does not have are `{"$double": "nan"}`, `"inf"` or `"-inf"`;
/// - a date is ISO 8601 in UTC with up to nine digits of a second, or `{"$date": seconds since
///   2001}` if that is not exact;
/// - data is base64 text, a UUID its text, a decimal a number;
/// - absent fields are omitted, and a nil that was written explicitly is null.
package struct RawRecord {
  let bytes: UnsafeRawBufferPointer
  package let shapes: ShapeTable

  package init(_ bytes: UnsafeRawBufferPointer, shapes: ShapeTable) {
    self.bytes = bytes
    self.shapes = shapes
  }

  /// The shape of the record; nil for a tagged value.
  func shape() throws -> Shape? {
    let value = try RecordFormat.value(of: bytes)
    guard value.state == .value, value.kind == .record else { return nil }
    return try RecordView(value.bytes).shape(shapes)
  }

  /// The fields in stored order, for a record; the entries, for a tagged map.
  package func fields() throws -> [(name: String, value: RawField)] {
    let value = try RecordFormat.value(of: bytes)
    guard value.state == .value else { return [] }
    switch value.kind {
    case .record: return try RawRecord(value.bytes, shapes: shapes).slots()
    case .map: return try Self.entries(value.bytes).map { ($0.name, $0.value) }
    default: return []
    }
  }

  /// The fields of a nested record in slot form, which is never a tagged value.
  func slots() throws -> [(name: String, value: RawField)] {
    try RecordView(bytes).fields(shapes).map { ($0.name, RawField($0.value)) }
  }

  /// The whole record as JSON.
  package func json() throws -> String {
    var writer = JSONTextWriter()
    try Self.write(RecordFormat.value(of: bytes), to: &writer, shapes, depth: 0)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// One value of a record as JSON.
  package static func json(of value: RawField, shapes: ShapeTable) throws -> String {
    var writer = JSONTextWriter()
    try write(FoundValue(value), to: &writer, shapes, depth: 0)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// The whole record as JSON, with some of its values replaced.
  ///
  /// - Parameter substitute: receives each single value: its path, its kind and its JSON. It
  ///   returns the replacement; nil keeps the value.
  package func json(
    substituting substitute:
      @escaping (_ path: [String], _ kind: FieldKind, _ json: String) ->
      String?
  ) throws -> String {
    var writer = JSONTextWriter()
    writer.substitute = substitute
    try Self.write(RecordFormat.value(of: bytes), to: &writer, shapes, depth: 0)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  // MARK: Reading

  private static func entries(
    _ map: UnsafeRawBufferPointer
  ) throws -> [(name: String, value: RawField)] {
    var list = try RawList(.map, map)
    var result: [(name: String, value: RawField)] = []
    while let value = try list.next() { result.append((try Leaf.string(list.key), value)) }
    return result
  }

  // MARK: JSON

  private static func write(
    _ value: FoundValue, to writer: inout JSONTextWriter, _ shapes: ShapeTable, depth: Int
  ) throws {
    guard !value.isNil else { return writer.raw("null") }
    guard depth < RecordFormat.depthLimit * 2 else {
      throw ByteReader.damaged("nesting depth of values")
    }
    let bytes = value.bytes
    switch value.kind {
    case .record:
      try write(members: RecordView(bytes).fields(shapes), to: &writer, shapes, depth: depth)
    case .map:
      let members = try entries(bytes).map { ($0.name, FoundValue($0.value)) }
      try write(members: members, to: &writer, shapes, depth: depth)
    case .list:
      var list = try RawList(.list, bytes)
      writer.raw("[")
      while let element = try list.next() {
        if list.index > 1 { writer.raw(",") }
        try write(FoundValue(element), to: &writer, shapes, depth: depth + 1)
      }
      writer.raw("]")
    default:
      if let substitute = writer.substitute {
        try writer.scalar(value.kind, bytes, substitute)
      } else {
        try writer.scalar(value.kind, bytes)
      }
    }
  }

  private static func write(
    members: [(name: String, value: FoundValue)], to writer: inout JSONTextWriter,
    _ shapes: ShapeTable, depth: Int
  ) throws {
    writer.raw("{")
    let sorted = members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    for (index, member) in sorted.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.text(member.name)
      writer.raw(":")
      if writer.substitute != nil { writer.path.append(member.name) }
      try write(member.value, to: &writer, shapes, depth: depth + 1)
      if writer.substitute != nil { writer.path.removeLast() }
    }
    writer.raw("}")
  }
}

extension FoundValue {
  package init(_ field: RawField) {
    switch field {
    case .missing: self.init(state: .missing)
    case .absent: self.init(state: .null)
    case .value(let kind, let bytes): self.init(state: .value, kind: kind, bytes: bytes)
    }
  }
}

/// JSON text of single values.
package struct JSONTextWriter {
  package private(set) var bytes: [UInt8] = []
  /// Returns replacements of single values; nil if none is replaced.
  fileprivate var substitute: (([String], FieldKind, String) -> String?)?
  /// The path of the current value. Kept only for `substitute`.
  fileprivate var path: [String] = []

  package init() {}

  package mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

  package mutating func text(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): raw("\\\"")
      case UInt8(ascii: "\\"): raw("\\\\")
      case 0x0A: raw("\\n")
      case 0x0D: raw("\\r")
      case 0x09: raw("\\t")
      case ..<0x20, 0x7F:
        let digits = Array("0123456789abcdef".utf8)
        raw("\\u00")
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// A value, or its replacement.
  fileprivate mutating func scalar(
    _ kind: FieldKind, _ value: UnsafeRawBufferPointer,
    _ substitute: ([String], FieldKind, String) -> String?
  ) throws {
    var alone = JSONTextWriter()
    try alone.scalar(kind, value)
    let text = String(decoding: alone.bytes, as: UTF8.self)
    raw(substitute(path, kind, text) ?? text)
  }

  package mutating func scalar(_ kind: FieldKind, _ value: UnsafeRawBufferPointer) throws {
    guard !kind.isFixed || value.count == kind.width else { throw ByteReader.damaged("length") }
    switch kind {
    case .bool: raw(try DecodeFramePointer.bool(value[0]) ? "true" : "false")
    case .int8: raw("\(value.loadUnaligned(as: Int8.self))")
    case .int16: raw("\(value.loadUnaligned(as: Int16.self))")
    case .int32: raw("\(value.loadUnaligned(as: Int32.self))")
    case .int64: raw("\(value.loadUnaligned(as: Int64.self))")
    case .int128: raw("\(value.loadUnaligned(as: Int128.self))")
    case .uint8: raw("\(value.loadUnaligned(as: UInt8.self))")
    case .uint16: raw("\(value.loadUnaligned(as: UInt16.self))")
    case .uint32: raw("\(value.loadUnaligned(as: UInt32.self))")
    case .uint64: raw("\(value.loadUnaligned(as: UInt64.self))")
    case .uint128: raw("\(value.loadUnaligned(as: UInt128.self))")
    case .float:
      let number = value.loadUnaligned(as: Float.self)
      raw(number.isFinite ? "\(number)" : "{\"$double\":\"\(number)\"}")
    case .double:
      let number = value.loadUnaligned(as: Double.self)
      raw(number.isFinite ? "\(number)" : "{\"$double\":\"\(number)\"}")
    case .date: date(value.loadUnaligned(as: Double.self))
    case .uuid: text(Leaf.uuid(value).uuidString)
    case .decimal:
      let number = try Leaf.decimal(value)
      raw(number.isNaN ? "{\"$decimal\":\"nan\"}" : number.description)
    case .string, .url: text(try Leaf.string(value))
    case .data: text(Data(value).base64EncodedString())
    case .record, .list, .map, .tagged: throw ByteReader.damaged("kind of a value")
    }
  }

  /// A date in JSON.
  package static func dateText(_ seconds: Double) -> String {
    var writer = JSONTextWriter()
    writer.date(seconds)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private mutating func date(_ seconds: Double) {
    if let iso = ISODate.text(seconds) { return text(iso) }
    raw("{\"$date\":\(seconds.isFinite ? "\(seconds)" : "\"\(seconds)\"")}")
  }
}
