/// Writes a record of a known shape, field by field in the order of the shape: header, mask, slots
/// and ends, narrow or wide. It writes all records except those of Codable and memberwise coding,
/// whose fields come in any order.
package struct RecordBuilder {
  private let shape: Shape
  private let start: Int
  private var isWide: Bool

  /// Begins the record at the end of the output.
  package init(_ shape: Shape, in output: inout RecordOutput) {
    self.shape = shape
    start = output.count
    isWide = output.beginRecord(
      shape.id, slotsEnd: shape.slotsEnd, wideSlotsEnd: shape.wideSlotsEnd)
  }

  /// Ends a field. Its value, in slot form, is everything appended since the previous field;
  /// nothing if it is not present.
  package mutating func end(_ slot: Int, isPresent: Bool, in output: inout RecordOutput) {
    let layout = shape.layouts[slot]
    if isPresent {
      let mask = start + 2 + slot >> 3
      let byte = output.base.load(fromByteOffset: mask, as: UInt8.self)
      output.base.storeBytes(
        of: byte | 1 << UInt8(slot & 7), toByteOffset: mask, as: UInt8.self)
    }
    guard layout.width == 0 else {
      if isPresent { moveToSlot(layout, in: &output) }
      return
    }
    if output.count - start > RecordFormat.narrowLimit, !isWide {
      output.widenRecord(
        at: start, shape.layouts, fieldCount: shape.fields.count, slotsEnd: shape.slotsEnd,
        wideSlotsEnd: shape.wideSlotsEnd)
      isWide = true
    }
    let end = output.count - start
    if isWide {
      output.base.storeBytes(
        of: UInt32(truncatingIfNeeded: end), toByteOffset: start + Int(layout.wideOffset),
        as: UInt32.self)
    } else {
      output.base.storeBytes(
        of: UInt16(truncatingIfNeeded: end), toByteOffset: start + Int(layout.offset),
        as: UInt16.self)
    }
  }

  /// A value of a fixed kind is appended like all others, and then moved to its slot.
  private func moveToSlot(_ layout: FieldLayout, in output: inout RecordOutput) {
    let width = Int(layout.width)
    output.count -= width
    let offset = start + Int(isWide ? layout.wideOffset : layout.offset)
    (output.base + offset).copyMemory(from: output.base + output.count, byteCount: width)
  }
}
