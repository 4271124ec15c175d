/// Converts UTF-8 to normal form, in memory that is kept and reused.
///
/// Text is taken segment by segment: from a scalar that nothing before it can change up to the next
/// such scalar. A segment is decomposed, its marks are sorted, and it is composed again.
struct NFCBuffer: ~Copyable {
  private var output: UnsafeMutableRawPointer?
  private var outputCapacity = 0
  private(set) var count = 0
  /// The scalars of a segment: the class in the top byte, then the place, then the scalar, so that
  /// order of these numbers is the canonical order of marks.
  private var segment: UnsafeMutablePointer<UInt64>?
  private var segmentCapacity = 0
  private var segmentCount = 0

  init() {}

  deinit {
    output?.deallocate()
    segment?.deallocate()
  }

  func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try body(borrowedBytes)
  }

  /// The normal form, valid until the next one is made.
  var borrowedBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: output, count: count) }

  /// Normalizes; stops early when at least `limit` bytes are final. Invalid UTF-8 becomes U+FFFD,
  /// as in Swift's strings.
  mutating func normalize(_ utf8: UnsafeRawBufferPointer, limit: Int = .max) {
    let data = NFCData.shared
    count = 0
    segmentCount = 0
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
      appendToSegment(UInt64(scalar))
    }
  }

  private mutating func flush(_ isNormal: Bool, _ data: NFCData) {
    if !isNormal { normalizeSegment(data) }
    // If the count is not zero, `appendToSegment` has allocated the memory.
    for index in 0..<segmentCount { write(UInt32(truncatingIfNeeded: segment![index]) & 0x1F_FFFF) }
    segmentCount = 0
  }

  private mutating func normalizeSegment(_ data: NFCData) {
    let sourceCount = segmentCount
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: sourceCount) { source in
      // See `flush`.
      for index in 0..<sourceCount { source[index] = segment![index] }
      decompose(source, data)
    }
    sortMarks()
    compose(data)
  }

  private mutating func decompose(_ source: UnsafeMutableBufferPointer<UInt64>, _ data: NFCData) {
    segmentCount = 0
    for entry in source {
      let scalar = UInt32(truncatingIfNeeded: entry)
      if Hangul.syllables.contains(scalar) {
        Hangul.forEachDecomposed(scalar) { appendToSegment(UInt64($0)) }
      } else if data.properties(of: scalar).decomposes {
        data.forEachDecomposed(scalar) { appendClassified($0, data) }
      } else {
        appendClassified(scalar, data)
      }
    }
  }

  private mutating func appendClassified(_ scalar: UInt32, _ data: NFCData) {
    let combiningClass = UInt64(data.properties(of: scalar).combiningClass)
    appendToSegment(combiningClass << 56 | UInt64(scalar))
  }

  /// Sorts each run of marks by class, marks of one class keeping their order.
  private mutating func sortMarks() {
    guard let segment else { return }
    var start = 0
    while start < segmentCount {
      guard segment[start] >> 56 != 0 else {
        start += 1
        continue
      }
      var end = start
      while end < segmentCount, segment[end] >> 56 != 0 {
        // The place makes the sort stable; 35 bits are more than any string has.
        segment[end] |= UInt64(end - start) << 21
        end += 1
      }
      var marks = UnsafeMutableBufferPointer(start: segment + start, count: end - start)
      marks.sort()
      start = end
    }
  }

  private mutating func compose(_ data: NFCData) {
    guard let segment else { return }
    var written = 0
    var starter = -1
    var lastClass: UInt64 = 0
    for index in 0..<segmentCount {
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
    segmentCount = written
  }

  private mutating func appendToSegment(_ entry: UInt64) {
    if segmentCount == segmentCapacity {
      let capacity = max(64, segmentCapacity * 2)
      let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
      if let segment {
        larger.update(from: segment, count: segmentCount)
        segment.deallocate()
      }
      segment = larger
      segmentCapacity = capacity
    }
    // It was allocated above, if not earlier: without memory the capacity is 0.
    segment![segmentCount] = entry
    segmentCount += 1
  }

  private mutating func write(_ scalar: UInt32) {
    if count + 4 > outputCapacity {
      let capacity = max(256, outputCapacity * 2)
      let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
      if let output {
        larger.copyMemory(from: output, byteCount: count)
        output.deallocate()
      }
      output = larger
      outputCapacity = capacity
    }
    // It was allocated above, if not earlier: without memory the capacity is 0.
    let target = output!.assumingMemoryBound(to: UInt8.self) + count
    if scalar < 0x80 {
      target[0] = UInt8(scalar)
      count += 1
    } else if scalar < 0x800 {
      target[0] = UInt8(0xC0 | scalar >> 6)
      target[1] = UInt8(0x80 | scalar & 0x3F)
      count += 2
    } else if scalar < 0x10000 {
      target[0] = UInt8(0xE0 | scalar >> 12)
      target[1] = UInt8(0x80 | scalar >> 6 & 0x3F)
      target[2] = UInt8(0x80 | scalar & 0x3F)
      count += 3
    } else {
      target[0] = UInt8(0xF0 | scalar >> 18)
      target[1] = UInt8(0x80 | scalar >> 12 & 0x3F)
      target[2] = UInt8(0x80 | scalar >> 6 & 0x3F)
      target[3] = UInt8(0x80 | scalar & 0x3F)
      count += 4
    }
  }
}
