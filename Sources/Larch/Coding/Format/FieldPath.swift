/// The value at a field path of a record, without decoding it.
package enum RawField {
  /// The stored shape has no such field.
  case missing
  /// The field, or one of its parents, is nil.
  case absent
  /// The kind, never `tagged`, and the slot form.
  case value(FieldKind, UnsafeRawBufferPointer)

  init(_ found: FoundValue) {
    switch found.state {
    case .missing: self = .missing
    case .absent, .null: self = .absent
    case .value: self = .value(found.kind, found.bytes)
    }
  }
}

/// The path to a stored property by coding keys, such as `address`, `city`.
///
/// It caches the place of the field in the last shape, so only one thread at a time may use it,
/// like the table of shapes.
package final class FieldPath {
  let names: [String]
  private let isSingle: Bool
  /// For each name, the older names in older records; empty if there are none.
  let older: [[String]]
  /// The result if the field is nil: `missing` if a default replaces nil, which only decoding does.
  private let nilField: RawField
  /// For each name, whether a record without the field has nil there; empty if none has.
  private let optional: [Bool]

  private struct Step {
    var isKnown = false
    var header: UInt16 = 0
    var generation = 0
    var table: ObjectIdentifier?
    var place = FieldPlace()
    var slotsEnd = 0
  }

  @exclusivity(unchecked) private let steps: UnsafeMutablePointer<Step>

  init(
    _ names: [String], older: [[String]] = [], isMissingWhenAbsent: Bool = false,
    optional: [Bool] = []
  ) {
    // Paths come from key paths in declarations and filters, which name at least one property.
    precondition(!names.isEmpty, "a field path has at least one name")
    self.names = names
    isSingle = names.count == 1
    self.older = older
    self.optional = optional
    nilField = isMissingWhenAbsent ? .missing : .absent
    steps = .allocate(capacity: names.count)
    steps.initialize(repeating: Step(), count: names.count)
  }

  deinit { steps.deallocate() }

  /// The value at the path in the bytes of a record.
  @inline(__always)
  package func read(in record: UnsafeRawBufferPointer, shapes: ShapeTable) throws -> RawField {
    // One field of the record itself, of a fixed kind, in the same shape as the last record: the
    // usual case for filters.
    let step = steps
    if isSingle, step.pointee.place.width > 0, record.count >= step.pointee.slotsEnd,
      let base = record.baseAddress,
      base.loadUnaligned(as: UInt16.self) == step.pointee.header,
      step.pointee.generation == shapes.generation, step.pointee.table == ObjectIdentifier(shapes)
    {
      let mask = base.load(fromByteOffset: Int(step.pointee.place.maskOffset), as: UInt8.self)
      if mask & step.pointee.place.bit == 0 { return nilField }
      return .value(
        step.pointee.place.fieldKind,
        UnsafeRawBufferPointer(
          start: base + Int(step.pointee.place.offset), count: Int(step.pointee.place.width)))
    }
    return try walk(record, shapes)
  }

  private func walk(_ record: UnsafeRawBufferPointer, _ shapes: ShapeTable) throws -> RawField {
    var found = try RecordFormat.value(of: record)
    for index in names.indices {
      switch (found.state, found.kind) {
      case (.value, .record): found = try field(index, in: found.bytes, shapes)
      case (.value, .map): found = try entry(index, in: found.bytes)
      case (.value, _), (.missing, _): return .missing
      case (.absent, _), (.null, _): return .absent
      }
      if found.state == .missing, index < optional.count, optional[index] { return .absent }
      if index == 0, found.isNil, case .missing = nilField { return .missing }
    }
    return RawField(found)
  }

  /// A record is a map if the type has too many shapes.
  private func entry(_ index: Int, in map: UnsafeRawBufferPointer) throws -> FoundValue {
    let found = try RawList.entry(names[index], in: map)
    guard found.state == .missing, !older.isEmpty else { return found }
    for name in older[index] {
      let found = try RawList.entry(name, in: map)
      if found.state != .missing { return found }
    }
    return found
  }

  /// The field of a shape for the name at this place of the path.
  func slot(_ index: Int, in shape: Shape) -> Int? {
    if let slot = shape.slot(of: names[index]) { return slot }
    return older.isEmpty ? nil : older[index].lazy.compactMap { shape.slot(of: $0) }.first
  }

  private func field(
    _ index: Int, in record: UnsafeRawBufferPointer, _ shapes: ShapeTable
  ) throws -> FoundValue {
    let view = try RecordView(record)
    let step = steps + index
    if !step.pointee.isKnown || step.pointee.header != view.header
      || step.pointee.generation != shapes.generation
      || step.pointee.table != ObjectIdentifier(shapes)
    {
      let shape = try view.shape(shapes)
      guard let slot = slot(index, in: shape) else { return FoundValue(state: .missing) }
      step.pointee = Step(
        isKnown: true, header: view.header, generation: shapes.generation,
        table: ObjectIdentifier(shapes), place: FieldPlace(slot, in: shape, isWide: view.isWide),
        slotsEnd: view.isWide ? shape.wideSlotsEnd : shape.slotsEnd)
    }
    guard record.count >= step.pointee.slotsEnd else { throw ByteReader.damaged("length") }
    return try view.value(at: step.pointee.place, slotsEnd: step.pointee.slotsEnd)
  }
}

/// The elements of a list, or the values of a map, one after the other.
package struct RawList {
  private var reader: ByteReader
  /// The kind of the elements, which may be `tagged`; nil if there are none.
  package let kind: FieldKind?
  private let isMap: Bool
  /// The number of elements.
  let count: Int
  package private(set) var index = 0
  /// The key of the last entry of `next()`.
  package private(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)

  /// From the slot form of a list or a map.
  package init(_ kind: FieldKind, _ bytes: UnsafeRawBufferPointer) throws {
    guard kind == .list || kind == .map else { throw ByteReader.damaged("kind of a list") }
    isMap = kind == .map
    reader = ByteReader(bytes)
    (self.kind, count) = try reader.listHeader(isMap: isMap)
  }

  /// The next element: `absent` for nil, and nil after the last one.
  package mutating func next() throws -> RawField? {
    guard index < count, let kind else {
      guard reader.isAtEnd else { throw ByteReader.damaged("list") }
      return nil
    }
    index += 1
    if isMap { key = try reader.bytes(.string) }
    return RawField(try DecodeFramePointer.element(&reader, kind))
  }

  /// The value for a key of a map.
  static func entry(_ name: String, in map: UnsafeRawBufferPointer) throws -> FoundValue {
    var list = try RawList(.map, map)
    let wanted = Array(name.utf8)
    while let value = try list.next() {
      guard list.key.elementsEqual(wanted) else { continue }
      switch value {
      case .value(let kind, let bytes):
        return FoundValue(state: .value, kind: kind, bytes: bytes)
      case .absent, .missing: return FoundValue(state: .null)
      }
    }
    return FoundValue(state: .missing)
  }
}
