internal import Foundation

extension MemberwiseProgram {
  /// Appends the record of the value at `value`. False if Codable must write it; the appended bytes
  /// then have no meaning.
  func encode(_ value: UnsafeRawPointer, to output: inout RecordOutput) -> Bool {
    guard canEncode else { return false }
    if hasAbsent, !absent.allSatisfy({ $0.optional.isNone(at: value + $0.offset) }) {
      return false
    }
    let start = output.count
    output.reserve(reserve)
    var record = output.base + start
    var cursor = slotsEnd
    var mask = requiredMask
    record.storeBytes(of: header, as: UInt16.self)
    var next = UnsafePointer(steps)
    let end = next + stepCount
    while next < end {
      let step = next
      next += 1
      let source = value + Int(step.pointee.memoryOffset)
      let slot = record + Int(step.pointee.slotOffset)
      switch step.pointee.operation {
      case .copy8: slot.copyMemory(from: source, byteCount: 8)
      case .directString:
        let top = source.load(fromByteOffset: 8, as: UInt64.self)
        if top & SmallString.smallBit != 0 {
          (record + cursor).copyMemory(from: source, byteCount: 16)
          cursor &+= Int(truncatingIfNeeded: top &>> 56 & 0x0F)
        } else {
          cursor = append(source, to: &output, start, cursor)
          record = output.base + start
        }
        (record + Int(step.pointee.slotOffset)).storeBytes(
          of: UInt16(truncatingIfNeeded: cursor), as: UInt16.self)
      case .copy1, .bool: slot.copyMemory(from: source, byteCount: 1)
      case .copy2: slot.copyMemory(from: source, byteCount: 2)
      case .copy4: slot.copyMemory(from: source, byteCount: 4)
      case .copy16: slot.copyMemory(from: source, byteCount: 16)
      case .optionalCopy:
        let width = Int(step.pointee.width)
        if source.load(fromByteOffset: width, as: UInt8.self) == 0 {
          Self.copy(source, to: slot, width)
          mask |= 1 &<< UInt64(step.pointee.bit)
        } else {
          Self.clear(slot, width)
        }
      case .optionalBool:
        let byte = source.load(as: UInt8.self)
        if byte <= 1 { mask |= 1 &<< UInt64(step.pointee.bit) }
        slot.storeBytes(of: byte == 1 ? 1 : 0, as: UInt8.self)
      case .fixedEnumeration, .optionalFixedEnumeration:
        let byte = source.load(as: UInt8.self)
        let written = step.pointee.table?._withUnsafeGuaranteedRef { $0.bytes(ofCase: byte) }
        if let bytes = written.flatMap({ $0 })?.baseAddress {
          Self.copy(bytes, to: slot, Int(step.pointee.width))
          mask |= 1 &<< UInt64(step.pointee.bit)
        } else {
          guard step.pointee.operation == .optionalFixedEnumeration else { return false }
          Self.clear(slot, Int(step.pointee.width))
        }
      case .decimal, .optionalDecimal:
        if Self.writeDecimal(step.pointee, source, to: slot) {
          mask |= 1 &<< UInt64(step.pointee.bit)
        }
      default:
        output.count = start &+ cursor
        guard encodeRarely(step.pointee, source, to: &output, start, &mask) else { return false }
        cursor = output.count &- start
        output.reserve(reserve)
        record = output.base + start
        (record + Int(step.pointee.slotOffset)).storeBytes(
          of: UInt16(truncatingIfNeeded: cursor), as: UInt16.self)
      }
    }
    guard cursor <= RecordFormat.narrowLimit else { return false }
    for index in 0..<maskBytes {
      record.storeBytes(
        of: UInt8(truncatingIfNeeded: mask &>> UInt64(truncatingIfNeeded: index &* 8)),
        toByteOffset: 2 &+ index, as: UInt8.self)
    }
    output.count = start &+ cursor
    return true
  }

  /// A string that is not small; the new cursor.
  @inline(never)
  private func append(
    _ source: UnsafeRawPointer, to output: inout RecordOutput, _ start: Int, _ cursor: Int
  ) -> Int {
    output.count = start &+ cursor
    output.append(source.assumingMemoryBound(to: String.self).pointee)
    output.reserve(reserve)
    return output.count &- start
  }

  /// The variable steps other than a direct string.
  @inline(never)
  private func encodeRarely(
    _ step: Step, _ source: UnsafeRawPointer, to output: inout RecordOutput, _ start: Int,
    _ mask: inout UInt64
  ) -> Bool {
    let number = Int(step.detail)
    switch step.operation {
    case .string: output.append(source.assumingMemoryBound(to: String.self).pointee)
    case .optionalDirectString, .optionalString:
      let isNil = source.assumingMemoryBound(to: String?.self).pointee == nil
      if isNil { return true }
      output.append(source.assumingMemoryBound(to: String.self).pointee)
    case .enumeration, .optionalEnumeration:
      let byte = source.load(as: UInt8.self)
      let bytes = step.table?._withUnsafeGuaranteedRef { $0.bytes(ofCase: byte) }
      guard let bytes = bytes.flatMap({ $0 }) else {
        return step.operation == .optionalEnumeration
      }
      output.append(bytes)
    case .leaf, .optionalLeaf:
      if step.operation == .optionalLeaf, details[number].optional?.isNone(at: source) == true {
        return true
      }
      guard let leaf = details[number].leaf else { return false }
      func write<Leaf: MemberwiseLeaf>(_: Leaf.Type) -> Bool {
        source.assumingMemoryBound(to: Leaf.self).pointee.write(to: &output)
      }
      guard _openExistential(leaf, do: write) else { return false }
    case .record, .optionalRecord:
      if step.operation == .optionalRecord, details[number].optional?.isNone(at: source) == true {
        return true
      }
      guard let nested = details[number].nested, nested.encode(source, to: &output) else {
        return false
      }
    case .list, .optionalList:
      if step.operation == .optionalList, details[number].optional?.isNone(at: source) == true {
        return true
      }
      guard let elements = details[number].elements, elements.write(source, to: &output) else {
        return false
      }
    default: return false
    }
    mask |= 1 &<< UInt64(step.bit)
    return true
  }

  @inline(__always)
  private static func copy(
    _ source: UnsafeRawPointer, to slot: UnsafeMutableRawPointer, _ width: Int
  ) {
    switch width {
    case 8: slot.copyMemory(from: source, byteCount: 8)
    case 4: slot.copyMemory(from: source, byteCount: 4)
    case 16: slot.copyMemory(from: source, byteCount: 16)
    default: slot.copyMemory(from: source, byteCount: width)
    }
  }

  /// False for nil.
  @inline(never)
  private static func writeDecimal(
    _ step: Step, _ source: UnsafeRawPointer, to slot: UnsafeMutableRawPointer
  ) -> Bool {
    let value =
      step.operation == .decimal
      ? source.assumingMemoryBound(to: Decimal.self).pointee
      : source.assumingMemoryBound(to: Decimal?.self).pointee
    slot.storeBytes(
      of: value.map { Leaf.decimal($0) } ?? Leaf.DecimalBytes(), as: Leaf.DecimalBytes.self)
    return value != nil
  }

  @inline(__always)
  private static func clear(_ slot: UnsafeMutableRawPointer, _ width: Int) {
    for index in 0..<width { slot.storeBytes(of: 0, toByteOffset: index, as: UInt8.self) }
  }
}
