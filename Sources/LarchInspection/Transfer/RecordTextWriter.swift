internal import Larch

/// Writes a stored record as readable JSON that reads back to exactly the same bytes: see
/// `docs/export-format.md`.
///
/// A value is plain JSON if its place or its JSON determines its kind. Otherwise it is in an object
/// whose only name is the kind: `{"$int8":5}`. Around an array or an object this gives the kind of
/// its elements.
struct RecordTextWriter {
  private let shapes: ShapeTable
  private var text = JSONTextWriter()
  private var usedShapes: Set<UInt16> = []

  private init(shapes: ShapeTable) { self.shapes = shapes }

  /// The member of a line for a record: `"record":{…}` if it has a shape, otherwise `"value":…`.
  static func member(_ record: UnsafeRawBufferPointer, shapes: ShapeTable) throws -> [UInt8] {
    var writer = RecordTextWriter(shapes: shapes)
    try writer.member(record)
    return writer.text.bytes
  }

  /// The shapes of a record and of nested records.
  static func shapes(
    of record: UnsafeRawBufferPointer, shapes: ShapeTable
  ) throws -> Set<UInt16> {
    var writer = RecordTextWriter(shapes: shapes)
    try writer.member(record)
    return writer.usedShapes
  }

  private mutating func member(_ record: UnsafeRawBufferPointer) throws {
    guard record.count >= 2 else { throw ByteReader.damaged("length") }
    let value = try RecordFormat.value(of: record)
    if record.loadUnaligned(as: UInt16.self) & RecordFormat.shapeMask != 0 {
      text.raw("\"record\":")
      try self.record(value.bytes, depth: 0)
    } else {
      text.raw("\"value\":")
      try marked(value, depth: 0)
    }
  }

  /// The escape before a name that begins with the mark itself.
  static let mark = "$"

  /// Whether JSON determines the kind, so that no mark is needed.
  static func isPlain(_ kind: FieldKind) -> Bool {
    switch kind {
    case .bool, .int64, .double, .string, .record, .list, .map: true
    default: false
    }
  }

  private mutating func name(_ name: String) {
    text.text(name.hasPrefix(Self.mark) ? Self.mark + name : name)
    text.raw(":")
  }

  private mutating func open(_ kind: FieldKind) { text.raw("{\"$\(kind.name)\":") }

  private mutating func record(_ bytes: UnsafeRawBufferPointer, depth: Int) throws {
    let view = try RecordView(bytes)
    let shape = try view.shape(shapes)
    usedShapes.insert(shape.id)
    text.raw("{\"$shape\":\(shape.id)")
    let fields = try view.fields(shapes)
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    for (name, value) in fields {
      text.raw(",")
      self.name(name)
      guard let slot = shape.slot(of: name) else { throw ByteReader.damaged("field") }
      if shape.fields[slot].kind == .tagged {
        try marked(value, depth: depth + 1)
      } else {
        try plain(value.kind, value.bytes, depth: depth + 1)
      }
    }
    text.raw("}")
  }

  /// A value whose place does not determine its kind.
  private mutating func marked(_ value: FoundValue, depth: Int) throws {
    guard !value.isNil else { return text.raw("null") }
    let isNumber =
      value.kind != .double || value.bytes.count != 8
      || value.bytes.loadUnaligned(as: Double.self).isFinite
    if Self.isPlain(value.kind), isNumber {
      return try plain(value.kind, value.bytes, depth: depth)
    }
    open(value.kind)
    try plain(value.kind, value.bytes, depth: depth)
    text.raw("}")
  }

  /// A value whose place determines its kind.
  private mutating func plain(
    _ kind: FieldKind, _ bytes: UnsafeRawBufferPointer, depth: Int
  ) throws {
    guard depth < RecordFormat.depthLimit * 2 else {
      throw ByteReader.damaged("nesting depth of values")
    }
    switch kind {
    case .record: try record(bytes, depth: depth)
    case .list, .map: try elements(kind, bytes, depth: depth)
    default: try ExactText.write(kind, bytes, to: &text)
    }
  }

  private mutating func elements(
    _ kind: FieldKind, _ bytes: UnsafeRawBufferPointer, depth: Int
  ) throws {
    var list = try RawList(kind, bytes)
    let isMap = kind == .map
    let isWrapped = try list.kind.map {
      try $0 == .tagged ? Self.seemsUniform(list) : !Self.isPlain($0)
    }
    if isWrapped == true, let kind = list.kind { open(kind) }
    text.raw(isMap ? "{" : "[")
    while let element = try list.next() {
      if list.index > 1 { text.raw(",") }
      if isMap { name(try Leaf.string(list.key)) }
      guard case .value(let kind, let bytes) = element else {
        text.raw("null")
        continue
      }
      if list.kind == .tagged || Self.isPlain(kind) {
        try marked(FoundValue(element), depth: depth + 1)
      } else {
        try plain(kind, bytes, depth: depth + 1)
      }
    }
    text.raw(isMap ? "}" : "]")
    if isWrapped == true { text.raw("}") }
  }

  /// Whether tagged elements have one kind, so that their JSON alone would suggest a list of that
  /// kind.
  private static func seemsUniform(_ elements: RawList) throws -> Bool {
    var elements = elements
    var first: FieldKind?
    while let element = try elements.next() {
      guard case .value(let kind, _) = element else { return false }
      if let first, first != kind { return false }
      first = kind
    }
    return true
  }
}
