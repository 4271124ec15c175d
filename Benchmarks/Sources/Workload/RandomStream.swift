/// Spreads the bits of a counter; the finisher of splitmix64.
func mix64(_ value: UInt64) -> UInt64 {
  var value = value
  value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
  value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
  return value ^ value >> 31
}

/// The workload's splitmix64 stream of random numbers.
public struct RandomStream {
  static let seed: UInt64 = 0x4C41_5243_4850_4552

  private var state: UInt64

  /// A stream that starts at a state of the caller's.
  public init(state: UInt64) {
    self.state = state
  }

  /// The stream of one operation, by its number in the workload.
  public init(operation: UInt64) {
    self.init(state: mix64(RandomStream.seed ^ (operation &* 0x100_0000_01B3)))
  }

  init(record: Int) {
    self.init(state: mix64(RandomStream.seed &+ UInt64(record)))
  }

  /// The next 64 random bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return mix64(state)
  }

  /// A number from 0 up to, not including, `bound`.
  public mutating func below(_ bound: Int) -> Int {
    Int(truncatingIfNeeded: ((next() >> 32) &* UInt64(bound)) >> 32)
  }

  /// The smaller of two draws: small numbers are the common ones.
  package mutating func triangular(_ bound: Int) -> Int {
    let first = below(bound)
    let second = below(bound)
    return min(first, second)
  }

  /// `count` different numbers of 1…`size`.
  public mutating func distinct(_ count: Int, upTo size: Int) -> [Int64] {
    var numbers = (1...Int64(size)).map { $0 }
    for index in 0..<count {
      numbers.swapAt(index, index + below(size - index))
    }
    return Array(numbers.prefix(count))
  }
}
