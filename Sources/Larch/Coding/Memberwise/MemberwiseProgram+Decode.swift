internal import Foundation

extension MemberwiseProgram {
  /// Initializes the memory at `target` from a record. False if Codable must read it, for example
  /// because the bytes are damaged; then nothing is left initialized.
  func decode(_ record: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) -> Bool {
    guard let (base, mask) = opened(record) else { return false }
    let count = record.count
    var start = slotsEnd
    var next = UnsafePointer(steps)
    let last = next + stepCount
    while next < last {
      let step = next
      next += 1
      guard read(step, of: base, count, mask, from: &start, into: target) else {
        return undo(step, target)
      }
    }
    guard start == count else { return undo(next, target) }
    if hasAbsent {
      guard terms.readsMissingAsNil else { return undo(next, target) }
      initializeAbsent(target)
    }
    return true
  }

  /// The bytes of a record of this shape, and which fields it has.
  @inline(__always)
  func opened(_ record: UnsafeRawBufferPointer) -> (base: UnsafeRawPointer, mask: UInt64)? {
    guard record.count >= slotsEnd, record.count <= RecordFormat.narrowLimit,
      let base = record.baseAddress, base.loadUnaligned(as: UInt16.self) == header
    else { return nil }
    let mask = self.mask(record)
    guard mask & requiredMask == requiredMask, mask & ~knownMask == 0 else { return nil }
    return (base, mask)
  }

  /// Initializes the property of one step; false if Codable must read the record.
  ///
  /// - Parameter start: where the bytes of the next variable field begin; moved behind those that are read.
  @inline(__always)
  func read(
    _ step: UnsafePointer<Step>, of base: UnsafeRawPointer, _ count: Int, _ mask: UInt64,
    from start: inout Int, into target: UnsafeMutableRawPointer
  ) -> Bool {
    let slot = base + Int(step.pointee.slotOffset)
    let place = target + Int(step.pointee.memoryOffset)
    switch step.pointee.operation {
    case .copy8: place.copyMemory(from: slot, byteCount: 8)
    case .directString:
      let end = Int(slot.loadUnaligned(as: UInt16.self))
      guard end >= start, end <= count else { return false }
      if let (low, high) = SmallString.words(base + start, end &- start) {
        place.storeBytes(of: low, as: UInt64.self)
        place.storeBytes(of: high, toByteOffset: 8, as: UInt64.self)
      } else if !Self.readText(base + start, end &- start, into: place) {
        return false
      }
      start = end
    case .bool:
      let byte = slot.load(as: UInt8.self)
      guard byte <= 1 else { return false }
      place.storeBytes(of: byte, as: UInt8.self)
    case .copy1: place.copyMemory(from: slot, byteCount: 1)
    case .copy2: place.copyMemory(from: slot, byteCount: 2)
    case .copy4: place.copyMemory(from: slot, byteCount: 4)
    case .copy16: place.copyMemory(from: slot, byteCount: 16)
    case .optionalCopy:
      let width = Int(step.pointee.width)
      let isThere = mask & (1 &<< UInt64(step.pointee.bit)) != 0
      if isThere {
        Self.copy(slot, to: place, width)
      } else {
        Self.clear(place, width)
      }
      place.storeBytes(of: isThere ? 0 : 1, toByteOffset: width, as: UInt8.self)
    case .optionalBool:
      let isThere = mask & (1 &<< UInt64(step.pointee.bit)) != 0
      let byte = slot.load(as: UInt8.self)
      guard byte <= 1 else { return false }
      place.assumingMemoryBound(to: Bool?.self).initialize(to: isThere ? byte == 1 : nil)
    case .fixedEnumeration, .optionalFixedEnumeration:
      let isThere = mask & (1 &<< UInt64(step.pointee.bit)) != 0
      let bytes = UnsafeRawBufferPointer(start: slot, count: Int(step.pointee.width))
      guard Self.decodeCase(step.pointee.table, isThere, bytes, into: place) else {
        return false
      }
    case .decimal, .optionalDecimal:
      let isThere = mask & (1 &<< UInt64(step.pointee.bit)) != 0
      guard Self.readDecimal(step.pointee, isThere, slot, into: place) else {
        return false
      }
    case .fixedCoded, .optionalFixedCoded:
      let isThere = mask & (1 &<< UInt64(step.pointee.bit)) != 0
      let bytes = UnsafeRawBufferPointer(start: slot, count: Int(step.pointee.width))
      guard decodeRarely(step.pointee, isThere, bytes, into: place) else { return false }
    default:
      let end = Int(slot.loadUnaligned(as: UInt16.self))
      guard end >= start, end <= count else { return false }
      let isThere = mask & (1 &<< UInt64(step.pointee.bit)) != 0
      let bytes = UnsafeRawBufferPointer(start: base + start, count: end &- start)
      guard isThere || bytes.isEmpty else { return false }
      let isRead =
        switch step.pointee.operation {
        case .optionalDirectString:
          Self.readText(isThere, base + start, end &- start, into: place)
        case .enumeration, .optionalEnumeration:
          Self.decodeCase(step.pointee.table, isThere, bytes, into: place)
        default: decodeRarely(step.pointee, isThere, bytes, into: place)
        }
      guard isRead else { return false }
      start = end
    }
    return true
  }

  @inline(never)
  private func initializeAbsent(_ target: UnsafeMutableRawPointer) {
    for property in absent { property.optional.initializeNone(at: target + property.offset) }
  }

  /// An optional string in its direct form.
  @inline(__always)
  private static func readText(
    _ isThere: Bool, _ start: UnsafeRawPointer, _ count: Int, into place: UnsafeMutableRawPointer
  ) -> Bool {
    guard isThere else {
      place.assumingMemoryBound(to: String?.self).initialize(to: nil)
      return true
    }
    // The memory of the optional is that of the string.
    guard let (low, high) = SmallString.words(start, count) else {
      return readText(start, count, into: place)
    }
    place.storeBytes(of: low, as: UInt64.self)
    place.storeBytes(of: high, toByteOffset: 8, as: UInt64.self)
    return true
  }

  /// A string that is not small and ASCII.
  @inline(never)
  static func readText(
    _ start: UnsafeRawPointer, _ count: Int, into place: UnsafeMutableRawPointer
  ) -> Bool {
    guard let text = SmallString.text(UnsafeRawBufferPointer(start: start, count: count)) else {
      return false
    }
    place.assumingMemoryBound(to: String.self).initialize(to: text)
    return true
  }

  @inline(never)
  private static func readDecimal(
    _ step: Step, _ isThere: Bool, _ slot: UnsafeRawPointer, into place: UnsafeMutableRawPointer
  ) -> Bool {
    let value = isThere ? try? Leaf.decimal(slot) : nil
    if step.operation == .optionalDecimal {
      place.assumingMemoryBound(to: Decimal?.self).initialize(to: value)
      return value != nil || !isThere
    }
    guard let value else { return false }
    place.assumingMemoryBound(to: Decimal.self).initialize(to: value)
    return true
  }

  @inline(never)
  private static func decodeCase(
    _ table: Unmanaged<EnumTable>?, _ isThere: Bool, _ bytes: UnsafeRawBufferPointer,
    into place: UnsafeMutableRawPointer
  ) -> Bool {
    let found = table?._withUnsafeGuaranteedRef {
      isThere ? $0.find(bytes) : $0.noneByte
    }
    guard let byte = found.flatMap({ $0 }) else { return false }
    place.storeBytes(of: byte, as: UInt8.self)
    return true
  }

  @inline(never)
  private func decodeRarely(
    _ step: Step, _ isThere: Bool, _ bytes: UnsafeRawBufferPointer,
    into place: UnsafeMutableRawPointer
  ) -> Bool {
    switch step.operation {
    case .skip: return true
    case .string, .optionalString:
      guard isThere else {
        place.assumingMemoryBound(to: String?.self).initialize(to: nil)
        return true
      }
      guard let text = SmallString.text(bytes) else { return false }
      if step.operation == .string {
        place.assumingMemoryBound(to: String.self).initialize(to: text)
      } else {
        place.assumingMemoryBound(to: String?.self).initialize(to: text)
      }
      return true
    default: break
    }
    let number = Int(step.detail)
    guard isThere else {
      details[number].optional?.initializeNone(at: place)
      return details[number].optional != nil
    }
    switch step.operation {
    case .leaf, .optionalLeaf:
      func read<Leaf: MemberwiseLeaf>(_ type: Leaf.Type) -> Bool {
        guard let value = type.read(bytes) else { return false }
        place.assumingMemoryBound(to: Leaf.self).initialize(to: value)
        return true
      }
      guard let leaf = details[number].leaf, _openExistential(leaf, do: read) else { return false }
    case .record, .optionalRecord:
      guard let nested = details[number].nested, nested.decode(bytes, into: place) else {
        return false
      }
    case .list, .optionalList:
      guard let elements = details[number].elements, elements.read(bytes, into: place) else {
        return false
      }
    case .coded, .fixedCoded, .optionalCoded, .optionalFixedCoded:
      // An optional of a type that wrote itself as nil: Codable decides what that is.
      if details[number].kind == .tagged, details[number].optional != nil, bytes.count == 1 {
        return false
      }
      guard readCoded(details[number], bytes, into: place) else { return false }
    default: return false
    }
    // Without an optional, the payload is the property.
    details[number].optional?.wrap(at: place)
    return true
  }

  /// A value through its own `init(from:)`; false if it throws, since Codable then has the error with its
  /// coding path.
  private func readCoded(
    _ detail: Detail, _ bytes: UnsafeRawBufferPointer, into place: UnsafeMutableRawPointer
  ) -> Bool {
    guard let coder = terms.coder, let type = detail.coded else { return false }
    func read<Value: Decodable>(_ type: Value.Type) -> Bool {
      guard let value = try? coder.decodeField(type, detail.kind, bytes) else { return false }
      place.initializeMemory(as: Value.self, to: value)
      return true
    }
    return _openExistential(type, do: read)
  }

  /// Destroys the properties before `failed`; always false.
  @inline(never)
  private func undo(_ failed: UnsafePointer<Step>, _ target: UnsafeMutableRawPointer) -> Bool {
    destroy(.max, before: failed, in: target)
    return false
  }

  /// Destroys the properties of some fields, which have the bits of their steps.
  func destroy(
    _ fields: UInt64, before end: UnsafePointer<Step>, in target: UnsafeMutableRawPointer
  ) {
    var step = UnsafePointer(steps)
    while step < end {
      defer { step += 1 }
      guard fields & (1 &<< UInt64(step.pointee.bit)) != 0 else { continue }
      switch step.pointee.operation {
      case .string, .directString, .optionalString, .optionalDirectString, .leaf, .optionalLeaf,
        .record, .optionalRecord, .list, .optionalList, .coded, .optionalCoded, .fixedCoded,
        .optionalFixedCoded:
        let place = target + Int(step.pointee.memoryOffset)
        func destroy<Value>(_: Value.Type) {
          place.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
        }
        _openExistential(details[Int(step.pointee.detail)].type, do: destroy)
      default: break
      }
    }
  }

  @inline(__always)
  private static func copy(
    _ slot: UnsafeRawPointer, to place: UnsafeMutableRawPointer, _ width: Int
  ) {
    switch width {
    case 8: place.copyMemory(from: slot, byteCount: 8)
    case 4: place.copyMemory(from: slot, byteCount: 4)
    case 16: place.copyMemory(from: slot, byteCount: 16)
    default: place.copyMemory(from: slot, byteCount: width)
    }
  }

  @inline(__always)
  private static func clear(_ place: UnsafeMutableRawPointer, _ width: Int) {
    for index in 0..<width { place.storeBytes(of: 0, toByteOffset: index, as: UInt8.self) }
  }
}
