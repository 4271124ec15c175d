/// Converts UTF-8 to normal form, in memory that is kept and reused.
///
/// Text is taken segment by segment: from a scalar that nothing before it can change up to the next
/// such scalar. A segment is decomposed, its marks are sorted, and it is composed again.
struct NFCBuffer: ~Copyable {
  private var output = ByteBuffer(capacity: 0)
  /// The scalars of a segment: the class in the top byte, then the place, then the scalar, so that
  /// order of these numbers is the canonical order of marks.
  private var segment: [UInt64] = []

  init() {}

  var count: Int { output.count }

  func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try body(borrowedBytes)
  }

  /// The normal form, valid until the next one is made.
  var borrowedBytes: UnsafeRawBufferPointer { output.bytes }

  /// Normalizes; stops early when at least `limit` bytes are final. Invalid UTF-8 becomes U+FFFD,
  /// as in Swift's strings.
  mutating func normalize(_ utf8: UnsafeRawBufferPointer, limit: Int = .max) {
    let data = NFCData.shared
    output.removeAll()
    segment.removeAll(keepingCapacity: true)
    var isNormal = true
    var lastClass: UInt8 = 0
    var source = utf8.makeIterator()
    var decoder = UTF8()
    while true {
      let scalar: UInt32
      switch decoder.decode(&source) {
      case .scalarValue(let value): scalar = value.value
      case .emptyInput:
        flush(isNormal, data)
        return
      case .error: scalar = 0xFFFD
      }
      let properties = data.properties(of: scalar)
      if properties.isBoundary {
        flush(isNormal, data)
        if count >= limit { return }
        isNormal = true
        lastClass = 0
      } else {
        let combiningClass = properties.combiningClass
        if !properties.isNormal || (combiningClass != 0 && combiningClass < lastClass) {
          isNormal = false
        }
        lastClass = combiningClass
      }
      segment.append(UInt64(scalar))
    }
  }

  /// The canonical decomposition of UTF-8, its marks sorted: the class of each scalar in the top byte, the
  /// scalar in the lowest 21 bits. Valid until the next call. Invalid UTF-8 becomes U+FFFD.
  mutating func decompose(_ utf8: UnsafeRawBufferPointer) -> [UInt64] {
    let data = NFCData.shared
    segment.removeAll(keepingCapacity: true)
    var source = utf8.makeIterator()
    var decoder = UTF8()
    decoding: while true {
      switch decoder.decode(&source) {
      case .scalarValue(let value): decompose(value.value, data)
      case .emptyInput: break decoding
      case .error: segment.append(0xFFFD)
      }
    }
    sortMarks()
    return segment
  }

  private mutating func flush(_ isNormal: Bool, _ data: NFCData) {
    if !isNormal { normalizeSegment(data) }
    for entry in segment { write(UInt32(truncatingIfNeeded: entry) & 0x1F_FFFF) }
    segment.removeAll(keepingCapacity: true)
  }

  private mutating func normalizeSegment(_ data: NFCData) {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: segment.count) { source in
      _ = source.initialize(fromContentsOf: segment)
      decompose(source, data)
    }
    sortMarks()
    compose(data)
  }

  private mutating func decompose(_ source: UnsafeMutableBufferPointer<UInt64>, _ data: NFCData) {
    segment.removeAll(keepingCapacity: true)
    for entry in source { decompose(UInt32(truncatingIfNeeded: entry), data) }
  }

  private mutating func decompose(_ scalar: UInt32, _ data: NFCData) {
    if Hangul.syllables.contains(scalar) {
      Hangul.forEachDecomposed(scalar) { segment.append(UInt64($0)) }
    } else if data.properties(of: scalar).decomposes {
      data.forEachDecomposed(scalar) { appendClassified($0, data) }
    } else {
      appendClassified(scalar, data)
    }
  }

  private mutating func appendClassified(_ scalar: UInt32, _ data: NFCData) {
    let combiningClass = UInt64(data.properties(of: scalar).combiningClass)
    segment.append(combiningClass << 56 | UInt64(scalar))
  }

  /// Sorts each run of marks by class, marks of one class keeping their order.
  private mutating func sortMarks() {
    var start = 0
    while start < segment.count {
      guard segment[start] >> 56 != 0 else {
        start += 1
        continue
      }
      var end = start
      while end < segment.count, segment[end] >> 56 != 0 {
        // The place makes the sort stable; 35 bits are more than any string has.
        segment[end] |= UInt64(end - start) << 21
        end += 1
      }
      segment[start..<end].sort()
      start = end
    }
  }

  private mutating func compose(_ data: NFCData) {
    var written = 0
    var starter = -1
    var lastClass: UInt64 = 0
    for index in segment.indices {
      let entry = segment[index]
      let scalar = UInt32(truncatingIfNeeded: entry) & 0x1F_FFFF
      let combiningClass = entry >> 56
      // A mark of the same or a higher class in between blocks a mark from its starter.
      let isBlocked = starter < written - 1 && (lastClass == 0 || lastClass >= combiningClass)
      if starter >= 0, !isBlocked {
        let base = UInt32(truncatingIfNeeded: segment[starter]) & 0x1F_FFFF
        if let composite = data.composite(base, scalar) {
          segment[starter] = UInt64(composite)
          continue
        }
      }
      if combiningClass == 0 { starter = written }
      lastClass = combiningClass
      segment[written] = entry
      written += 1
    }
    segment.removeLast(segment.count - written)
  }

  private mutating func write(_ scalar: UInt32) {
    if scalar < 0x80 {
      output.append(UInt8(scalar))
    } else if scalar < 0x800 {
      output.append(UInt8(0xC0 | scalar >> 6))
      output.append(UInt8(0x80 | scalar & 0x3F))
    } else if scalar < 0x10000 {
      output.append(UInt8(0xE0 | scalar >> 12))
      output.append(UInt8(0x80 | scalar >> 6 & 0x3F))
      output.append(UInt8(0x80 | scalar & 0x3F))
    } else {
      output.append(UInt8(0xF0 | scalar >> 18))
      output.append(UInt8(0x80 | scalar >> 12 & 0x3F))
      output.append(UInt8(0x80 | scalar >> 6 & 0x3F))
      output.append(UInt8(0x80 | scalar & 0x3F))
    }
  }
}
