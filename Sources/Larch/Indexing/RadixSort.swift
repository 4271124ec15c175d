/// Sorts numbers by their bits: into about as many groups as there are numbers, by the highest bits that
/// differ. Large groups are sorted in the same way, and the few numbers of a small one are compared.
///
/// Random numbers, as in UUIDs, and numbers that follow each other, as in assigned ids, are nearly in order
/// after one pass.
enum RadixSort {
  /// Of so few numbers, each is compared with those before it.
  static let fewNumbers = 16
  private static let mostBits = 10

  static func sort<Number: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ numbers: inout [Number]
  ) {
    numbers.withUnsafeMutableBufferPointer { sort($0, from: 0) }
  }

  /// Sorts by the bits from `lowest` on. Numbers that agree in these are in the order of their other bits, if they were
  /// before.
  static func sort<Number: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ numbers: UnsafeMutableBufferPointer<Number>, from lowest: Int
  ) {
    let count = numbers.count
    guard let start = numbers.baseAddress, count > 1 else { return }
    if count <= fewNumbers { return insert(start, count) }
    withUnsafeTemporaryAllocation(of: Number.self, capacity: count) { other in
      withUnsafeTemporaryAllocation(of: UInt.self, capacity: 1 << bits(count, mostBits)) { places in
        guard let other = other.baseAddress, let places = places.baseAddress else { return }
        group(start, count, lowest, other, places)
      }
    }
  }

  /// By how many bits so many numbers are put into groups.
  private static func bits(_ count: Int, _ most: Int) -> Int {
    min(most, Int.bitWidth - count.leadingZeroBitCount, mostBits)
  }

  /// - Parameters:
  ///   - other: memory for as many numbers.
  ///   - places: memory for the place of each group.
  private static func group<Number: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ numbers: UnsafeMutablePointer<Number>, _ count: Int, _ lowest: Int,
    _ other: UnsafeMutablePointer<Number>, _ places: UnsafeMutablePointer<UInt>
  ) {
    var differing: Number = 0
    for place in 1..<count { differing |= numbers[place] ^ numbers[0] }
    let top = Number.bitWidth - differing.leadingZeroBitCount
    if top <= lowest { return }
    let bits = bits(count, top - lowest)
    let shift = top - bits
    let mask = 1 << bits - 1
    // Mostly the highest word has all of these bits, and to shift it costs a quarter.
    let below = Number.bitWidth - UInt64.bitWidth
    func digit(_ number: Number) -> Int {
      shift >= below
        ? Int(
          truncatingIfNeeded: UInt64(truncatingIfNeeded: number &>> Number(below))
            &>> UInt64(truncatingIfNeeded: shift &- below)) & mask
        : Int(truncatingIfNeeded: number &>> Number(truncatingIfNeeded: shift)) & mask
    }
    places.initialize(repeating: 0, count: mask + 1)
    for place in 0..<count { places[digit(numbers[place])] &+= 1 }
    var total: UInt = 0
    var largest: UInt = 0
    for digit in 0...mask {
      let size = places[digit]
      places[digit] = total
      total &+= size
      largest = max(largest, size)
    }
    for place in 0..<count {
      let digit = digit(numbers[place])
      other[Int(bitPattern: places[digit])] = numbers[place]
      places[digit] &+= 1
    }
    numbers.update(from: other, count: count)
    if shift == lowest { return }
    if largest <= fewNumbers { return insert(numbers, count) }
    var start = 0
    while start < count {
      let first = digit(numbers[start])
      var end = start + 1
      while end < count, digit(numbers[end]) == first { end += 1 }
      if end - start > fewNumbers {
        group(numbers + start, end - start, lowest, other, places)
      } else {
        insert(numbers + start, end - start)
      }
      start = end
    }
  }

  private static func insert<Number: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ numbers: UnsafeMutablePointer<Number>, _ count: Int
  ) {
    for place in 1..<max(1, count) {
      let number = numbers[place]
      var free = place
      while free > 0, numbers[free - 1] > number {
        numbers[free] = numbers[free - 1]
        free -= 1
      }
      numbers[free] = number
    }
  }
}
