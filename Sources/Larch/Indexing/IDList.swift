/// Ids of records in the order of their bytes, each once, once it is `finish`ed.
///
/// Ids of eight bytes are kept as numbers, all others in one buffer.
struct IDList: ~Copyable {
  private let isNarrow: Bool
  private var numbers: [UInt64] = []
  private var slots: [Slot] = []
  private var wideIDs = ByteBuffer(capacity: 0)
  private var isSorted = true
  /// The bytes of the last requested number.
  private let scratch: UnsafeMutableRawPointer

  private struct Slot {
    var offset: Int
    var count: Int
  }

  init(width: Int?) {
    isNarrow = width == 8
    scratch = .allocate(byteCount: 8, alignment: 8)
  }

  deinit { scratch.deallocate() }

  var count: Int { isNarrow ? numbers.count : slots.count }

  /// The id at a place, valid until the next one is requested or added.
  @inline(__always)
  subscript(place: Int) -> UnsafeRawBufferPointer {
    if isNarrow {
      scratch.storeBytes(of: numbers[place].bigEndian, as: UInt64.self)
      return UnsafeRawBufferPointer(start: scratch, count: 8)
    }
    return bytes(slots[place])
  }

  private func bytes(_ slot: Slot) -> UnsafeRawBufferPointer {
    wideIDs.bytes(at: slot.offset, count: slot.count)
  }

  @inline(__always)
  mutating func append(_ id: UnsafeRawBufferPointer) {
    if isNarrow, id.count == 8 {
      let number = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))
      if isSorted, let last = numbers.last, last >= number { isSorted = false }
      numbers.append(number)
    } else if !isNarrow {
      appendWide(id)
    }
  }

  private mutating func appendWide(_ id: UnsafeRawBufferPointer) {
    if isSorted, let last = slots.last, compareBytes(bytes(last), id) >= 0 { isSorted = false }
    slots.append(Slot(offset: wideIDs.count, count: id.count))
    wideIDs.append(id)
  }

  /// Keeps the set of ids, but not the order in which they were added.
  mutating func finish() {
    if isSorted { return }
    isSorted = true
    if isNarrow {
      RadixSort.sort(&numbers)
      removeRepeatedNumbers()
    } else {
      let base = wideIDs.base
      func bytes(_ slot: Slot) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + slot.offset, count: slot.count)
      }
      slots.sort { compareBytes(bytes($0), bytes($1)) < 0 }
      var kept = 0
      for place in slots.indices
      where place == 0 || compareBytes(bytes(slots[kept - 1]), bytes(slots[place])) != 0 {
        slots[kept] = slots[place]
        kept += 1
      }
      slots.removeLast(slots.count - kept)
    }
  }

  private mutating func removeRepeatedNumbers() {
    var kept = 1
    for place in 1..<numbers.count where numbers[place] != numbers[kept - 1] {
      numbers[kept] = numbers[place]
      kept += 1
    }
    numbers.removeLast(numbers.count - kept)
  }

  mutating func removeAll() {
    numbers.removeAll(keepingCapacity: true)
    slots.removeAll(keepingCapacity: true)
    wideIDs.removeAll()
    isSorted = true
  }

  /// The first place from `start` on whose id is equal to or greater than the given one.
  func place(atOrAfter id: UnsafeRawBufferPointer, from start: Int) -> Int {
    var low = start
    var high = count
    if isNarrow, id.count == 8 {
      let number = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))
      var step = 1
      while low < high, numbers[low] < number {
        let next = low + step
        if next < high, numbers[next] < number {
          low = next
          step *= 2
        } else {
          high = min(high, next)
          low += 1
          break
        }
      }
      while low < high {
        let middle = (low + high) / 2
        if numbers[middle] < number { low = middle + 1 } else { high = middle }
      }
      return low
    }
    while low < high {
      let middle = (low + high) / 2
      if compareBytes(bytes(slots[middle]), id) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Sorts many numbers by their bytes, skipping bytes that are equal in all.
enum RadixSort {
  static func sort(_ numbers: inout [UInt64]) {
    guard numbers.count > 512 else { return numbers.sort() }
    var differing: UInt64 = 0
    let first = numbers[0]
    for number in numbers { differing |= number ^ first }
    var other = [UInt64](repeating: 0, count: numbers.count)
    for shift in stride(from: UInt64(0), to: 64, by: 8) where differing >> shift & 0xFF != 0 {
      pass(&numbers, &other, shift)
      swap(&numbers, &other)
    }
  }

  private static func pass(_ from: inout [UInt64], _ to: inout [UInt64], _ shift: UInt64) {
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { places in
      places.initialize(repeating: 0)
      for number in from { places[Int(number >> shift & 0xFF)] += 1 }
      var total = 0
      for place in 0..<256 {
        let count = places[place]
        places[place] = total
        total += count
      }
      to.withUnsafeMutableBufferPointer { to in
        for number in from {
          let digit = Int(number >> shift & 0xFF)
          to[places[digit]] = number
          places[digit] += 1
        }
      }
    }
  }
}
