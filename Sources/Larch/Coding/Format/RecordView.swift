/// The place of a field in the records of a shape, narrow or wide ones.
struct FieldPlace {
  /// The key was not used yet.
  static let unresolved: UInt8 = 0xFF
  /// The shape has no such field.
  static let missing: UInt8 = 0xFE

  /// The raw value of the kind, or one of those above.
  var kind: UInt8
  var bit: UInt8 = 0
  var maskOffset: UInt16 = 0
  var offset: UInt32 = 0
  /// The place of the end of the previous variable field; 0 if there is none.
  var previousEnd: UInt32 = 0
  var slot: UInt16 = 0
  /// The same as `kind` for a present field, without a conversion from the number.
  var fieldKind = FieldKind.bool
  /// Bytes of a fixed kind, 0 for a variable one.
  var width: UInt8 = 0

  /// No field.
  init(kind: UInt8 = FieldPlace.missing) { self.kind = kind }

  init(_ slot: Int, in shape: Shape, isWide: Bool) {
    let layout = shape.layouts[slot]
    kind = layout.kind
    bit = 1 << UInt8(slot & 7)
    maskOffset = UInt16(2 + slot >> 3)
    offset = isWide ? layout.wideOffset : layout.offset
    if layout.previousVariable >= 0 {
      let previous = shape.layouts[Int(layout.previousVariable)]
      previousEnd = isWide ? previous.wideOffset : previous.offset
    }
    self.slot = UInt16(slot)
    fieldKind = shape.fields[slot].kind
    width = layout.width
  }

  /// The field has a kind whose value can be read directly.
  @inline(__always)
  var isKnown: Bool { kind < FieldPlace.missing && kind != FieldKind.tagged.rawValue }
}

/// The slot form of a stored record: its fields without a Swift type, with every step checked.
/// Decoders have their own readers, because measurements required that.
package struct RecordView {
  let bytes: UnsafeRawBufferPointer
  private let base: UnsafeRawPointer
  package let header: UInt16

  package init(_ bytes: UnsafeRawBufferPointer) throws {
    guard bytes.count >= 2, let base = bytes.baseAddress else { throw ByteReader.damaged("length") }
    self.bytes = bytes
    self.base = base
    header = base.loadUnaligned(as: UInt16.self)
    guard header & RecordFormat.reservedBit == 0 else { throw ByteReader.damaged("header") }
  }

  package var isWide: Bool { header & RecordFormat.wideBit != 0 }

  package func shape(_ shapes: ShapeTable) throws -> Shape {
    try shapes.shape(header & RecordFormat.shapeMask)
  }

  /// The end of the slots of records like this one; the record has at least this length.
  func slotsEnd(_ shape: Shape) throws -> Int {
    let end = isWide ? shape.wideSlotsEnd : shape.slotsEnd
    guard bytes.count >= end else { throw ByteReader.damaged("length") }
    return end
  }

  /// A field, in a record that has at least the length of its slots.
  func value(at place: FieldPlace, slotsEnd: Int) throws -> FoundValue {
    let mask = base.load(fromByteOffset: Int(place.maskOffset), as: UInt8.self)
    guard mask & place.bit != 0 else { return FoundValue(state: .absent) }
    if place.width > 0 {
      return FoundValue(
        state: .value, kind: place.fieldKind,
        bytes: UnsafeRawBufferPointer(start: base + Int(place.offset), count: Int(place.width)))
    }
    let start = place.previousEnd == 0 ? slotsEnd : number(at: place.previousEnd)
    let end = number(at: place.offset)
    guard start >= slotsEnd, start <= end, end <= bytes.count else {
      throw ByteReader.damaged("offset of a field")
    }
    let value = UnsafeRawBufferPointer(start: base + start, count: end - start)
    guard place.fieldKind == .tagged else {
      return FoundValue(state: .value, kind: place.fieldKind, bytes: value)
    }
    return try DecodeFramePointer.untag(value)
  }

  /// An end of a variable field.
  private func number(at offset: UInt32) -> Int {
    isWide
      ? Int(base.loadUnaligned(fromByteOffset: Int(offset), as: UInt32.self))
      : Int(base.loadUnaligned(fromByteOffset: Int(offset), as: UInt16.self))
  }

  /// The fields with a value or an explicit nil, in stored order. They must fill the record without
  /// gaps at its end.
  package func fields(_ shapes: ShapeTable) throws -> [(name: String, value: FoundValue)] {
    let shape = try shape(shapes)
    let slotsEnd = try slotsEnd(shape)
    var result: [(name: String, value: FoundValue)] = []
    var last = slotsEnd
    for (slot, field) in shape.fields.enumerated() {
      let place = FieldPlace(slot, in: shape, isWide: isWide)
      if place.width == 0 {
        // Even for an absent field: the next one starts at its end.
        let end = number(at: place.offset)
        guard last <= end, end <= bytes.count else { throw ByteReader.damaged("offset of a field") }
        last = end
      }
      let value = try value(at: place, slotsEnd: slotsEnd)
      if value.state != .absent { result.append((field.name, value)) }
    }
    guard last == bytes.count else { throw ByteReader.damaged("length") }
    return result
  }
}
