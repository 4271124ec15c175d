/// The tables of `NFCTables` unpacked for look-up: made once, when the first string arrives that
/// is not plainly in normal form, and kept permanently.
///
/// `@unchecked Sendable` holds because nothing is written after the initializer.
final class NFCData: @unchecked Sendable {
  static let shared = NFCData()

  /// What a scalar is to normalization, in the upper byte; its combining class in the lower one.
  struct Properties: Equatable {
    let bits: UInt16
    static let decomposes: UInt16 = 1 << 8
    /// It may compose with what stands before it.
    static let composesBackwards: UInt16 = 1 << 9
    /// It never occurs in normal form.
    static let neverNormal: UInt16 = 1 << 10

    var combiningClass: UInt8 { UInt8(truncatingIfNeeded: bits) }
    var decomposes: Bool { bits & Self.decomposes != 0 }
    /// Nothing in front of such a scalar changes what follows, and the other way round.
    var isBoundary: Bool { bits & ~Self.decomposes == 0 }
    /// It stands in a normal form wherever the combining classes ascend.
    var isNormal: Bool { bits & (Self.composesBackwards | Self.neverNormal) == 0 }
  }

  private let blocks: UnsafeMutablePointer<UInt16>
  private let properties: UnsafeMutablePointer<UInt16>
  private let decomposed: [UInt32]
  private let decompositionStarts: [UInt32]
  private let decompositionScalars: [UInt32]
  private let pairs: [UInt64]
  private let composites: [UInt32]

  private static let blockCount = 0x110000 >> 7

  private init() {
    var bits: [UInt32: UInt16] = [:]
    var reader = DigitReader(NFCTables.combiningClasses)
    var scalar: UInt32 = 0
    while let distance = reader.next(), let count = reader.next(), let value = reader.next() {
      scalar += distance
      for step in 0..<count { bits[scalar + step] = UInt16(value) }
    }
    // The vowels and finals of Hangul compose with the syllable before them.
    for vowel in Hangul.vowels { bits[vowel, default: 0] |= Properties.composesBackwards }
    for final in Hangul.finals { bits[final, default: 0] |= Properties.composesBackwards }

    var steps: [UInt32: (first: UInt32, second: UInt32?)] = [:]
    var order: [UInt32] = []
    var compositions: [(pair: UInt64, composite: UInt32)] = []
    reader = DigitReader(NFCTables.decompositions)
    scalar = 0
    while let head = reader.next(), let first = reader.next() {
      scalar += head / 3
      order.append(scalar)
      bits[scalar, default: 0] |= Properties.decomposes
      var second: UInt32?
      if head % 3 != 0, let distance = reader.next() {
        let half = Int(distance >> 1)
        second = UInt32(0x300 + (distance & 1 == 0 ? half : -half - 1))
      }
      steps[scalar] = (first, second)
      if head % 3 == 1, let second {
        compositions.append((UInt64(first) << 32 | UInt64(second), scalar))
        bits[second, default: 0] |= Properties.composesBackwards
      } else {
        bits[scalar, default: 0] |= Properties.neverNormal
      }
    }

    var starts: [UInt32] = []
    var scalars: [UInt32] = []
    for scalar in order {
      starts.append(UInt32(scalars.count))
      var tail: [UInt32] = []
      var head = scalar
      while let step = steps[head] {
        if let second = step.second { tail.append(second) }
        head = step.first
      }
      scalars.append(head)
      scalars.append(contentsOf: tail.reversed())
    }
    starts.append(UInt32(scalars.count))
    decomposed = order
    decompositionStarts = starts
    decompositionScalars = scalars
    compositions.sort { $0.pair < $1.pair }
    pairs = compositions.map(\.pair)
    composites = compositions.map(\.composite)

    // Block 0 of the second stage is the one for all scalars that have nothing to say.
    blocks = .allocate(capacity: Self.blockCount)
    blocks.initialize(repeating: 0, count: Self.blockCount)
    var used = 1
    for scalar in bits.keys where blocks[Int(scalar >> 7)] == 0 {
      blocks[Int(scalar >> 7)] = UInt16(used)
      used += 1
    }
    properties = .allocate(capacity: used << 7)
    properties.initialize(repeating: 0, count: used << 7)
    for (scalar, value) in bits {
      properties[Int(blocks[Int(scalar >> 7)]) << 7 | Int(scalar & 127)] = value
    }
  }

  /// What is known of a scalar below 0x110000.
  func properties(of scalar: UInt32) -> Properties {
    Properties(bits: properties[Int(blocks[Int(scalar >> 7)]) << 7 | Int(scalar & 127)])
  }

  /// Visits the full canonical decomposition of a scalar that `decomposes`.
  func forEachDecomposed(_ scalar: UInt32, _ body: (UInt32) -> Void) {
    let place = decomposed.placeAfter { $0 < scalar }
    guard place < decomposed.count, decomposed[place] == scalar else { return body(scalar) }
    for index in decompositionStarts[place]..<decompositionStarts[place + 1] {
      body(decompositionScalars[Int(index)])
    }
  }

  /// The scalar that two scalars compose to.
  func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if let syllable = Hangul.composite(first, second) { return syllable }
    let pair = UInt64(first) << 32 | UInt64(second)
    let place = pairs.placeAfter { $0 < pair }
    return place < pairs.count && pairs[place] == pair ? composites[place] : nil
  }

}

/// Hangul syllables, which Unicode composes by arithmetic.
enum Hangul {
  static let vowels: Range<UInt32> = 0x1161..<0x1176
  static let finals: Range<UInt32> = 0x11A8..<0x11C3
  static let syllables: Range<UInt32> = 0xAC00..<0xD7A4
  private static let leads: Range<UInt32> = 0x1100..<0x1113

  static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if leads.contains(first), vowels.contains(second) {
      return 0xAC00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28
    }
    if finals.contains(second), syllables.contains(first), (first - 0xAC00) % 28 == 0 {
      return first + (second - 0x11A7)
    }
    return nil
  }

  static func forEachDecomposed(_ syllable: UInt32, _ body: (UInt32) -> Void) {
    let index = syllable - 0xAC00
    body(0x1100 + index / 588)
    body(0x1161 + index % 588 / 28)
    if index % 28 != 0 { body(0x11A7 + index % 28) }
  }
}
