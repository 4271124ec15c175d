extension MemberwiseProgram {
  /// Makes the value of an earlier record from that of a later one: only fields that differ are read.
  ///
  /// - Parameters:
  ///   - target: a copy of the memory of the later value, which was not initialized. It shares what the value
  ///     refers to, so only the fields that this returns may be destroyed in it.
  ///   - later: what `encode` writes of that value.
  /// - Returns: the fields that were read, as bits; nil if Codable must read the record, and then none was.
  func decode(
    _ record: UnsafeRawBufferPointer, over target: UnsafeMutableRawPointer,
    ofLater later: UnsafeRawBufferPointer
  ) -> UInt64? {
    guard canEncode, let (base, mask) = opened(record), let (other, otherMask) = opened(later)
    else {
      return nil
    }
    var start = slotsEnd
    var otherStart = slotsEnd
    var fields: UInt64 = 0
    for place in 0..<stepCount {
      let step = UnsafePointer(steps) + place
      let bit: UInt64 = 1 &<< UInt64(step.pointee.bit)
      let slot = Int(step.pointee.slotOffset)
      var isSame = (mask ^ otherMask) & bit == 0
      var end = start
      if step.pointee.operation.isFixed {
        let width = Int(step.pointee.width)
        isSame =
          isSame
          && UnsafeRawBufferPointer(start: base + slot, count: width)
            .equals(UnsafeRawBufferPointer(start: other + slot, count: width))
      } else {
        end = Int(base.loadUnaligned(fromByteOffset: slot, as: UInt16.self))
        let otherEnd = Int(other.loadUnaligned(fromByteOffset: slot, as: UInt16.self))
        guard end >= start, end <= record.count, otherEnd >= otherStart, otherEnd <= later.count
        else {
          destroy(fields, before: step, in: target)
          return nil
        }
        isSame =
          isSame
          && UnsafeRawBufferPointer(rebasing: record[start..<end])
            .equals(UnsafeRawBufferPointer(rebasing: later[otherStart..<otherEnd]))
        otherStart = otherEnd
      }
      if isSame {
        start = end
      } else {
        guard read(step, of: base, record.count, mask, from: &start, into: target) else {
          destroy(fields, before: step, in: target)
          return nil
        }
        fields |= bit
      }
    }
    guard start == record.count else {
      destroy(fields, before: steps + stepCount, in: target)
      return nil
    }
    return fields
  }
}

extension MemberwiseProgram.Operation {
  /// Whether the field is in its slot alone.
  fileprivate var isFixed: Bool {
    switch self {
    case .copy1, .copy2, .copy4, .copy8, .copy16, .bool, .fixedEnumeration, .decimal,
      .optionalCopy, .optionalBool, .optionalFixedEnumeration, .optionalDecimal, .fixedCoded,
      .optionalFixedCoded:
      true
    case .string, .directString, .enumeration, .leaf, .record, .list, .optionalString,
      .optionalDirectString, .optionalEnumeration, .optionalLeaf, .optionalRecord, .optionalList,
      .coded, .optionalCoded, .skip:
      false
    }
  }
}

extension MemberwiseCodec {
  /// Calls `body` with the value of an earlier record, without decoding it as a whole: it is made from a later
  /// value of the same record. False if that is not possible, and then `body` was not called.
  ///
  /// - Parameters:
  ///   - later: what this codec has written last, of the value at `value`.
  func withValue(
    of record: UnsafeRawBufferPointer, from value: UnsafeRawPointer,
    writtenAs later: UnsafeRawBufferPointer, _ body: (UnsafeRawPointer) throws -> Void
  ) rethrows -> Bool {
    guard isExact, let program = writingProgram else { return false }
    return try withUnsafeTemporaryAllocation(
      byteCount: memory.size, alignment: memory.alignment
    ) { copy in
      guard let target = copy.baseAddress else { return false }
      target.copyMemory(from: value, byteCount: memory.size)
      guard let fields = program.decode(record, over: target, ofLater: later) else { return false }
      defer { program.destroy(fields, before: program.steps + program.stepCount, in: target) }
      try body(target)
      return true
    }
  }
}

extension RecordCoder {
  /// Calls `body` with the value of an earlier record; see ``MemberwiseCodec``. False if the type is not coded
  /// memberwise, or the record is too different.
  func withValue(
    of record: UnsafeRawBufferPointer, _ type: Any.Type, from value: UnsafeRawPointer,
    writtenAs later: UnsafeRawBufferPointer, _ body: (UnsafeRawPointer) throws -> Void
  ) rethrows -> Bool {
    guard let codec = memberwise.codec(for: type) else { return false }
    return try codec.takeUnretainedValue().withValue(
      of: record, from: value, writtenAs: later, body)
  }
}
