/// The bytes of the tertiary weights of a collation.
///
/// They leave the bytes in the middle to runs of the common weight, see `CollationKeys`.
struct CollationTertiaries {
  /// By number; the one of the number 0, which is no weight, is not used.
  let bytes: [UInt8]

  /// - Parameter used: the numbers of those that the collation has.
  init(_ used: Set<UInt16>, isUpperFirst: Bool) {
    var weights: [UInt32] = [0]
    var reader = DigitReader(CollationTables.tertiaries)
    while let weight = reader.next() {
      // The case is the two highest bits: it decides if upper case comes first, and else nothing.
      weights.append(isUpperFirst ? (weight & 0xFF3F) ^ 0xC000 : weight & 0x3F3F)
    }
    let common = weights[Int(CollationTables.commonTertiary)]
    let sorted = Set(used.filter { $0 != 0 }.map { weights[Int($0)] }).sorted()
    let below = sorted.filter { $0 < common }
    let above = sorted.filter { $0 > common }
    precondition(
      below.count <= CollationKeys.lowestRun - 2 && above.count <= 0x100 - CollationKeys.firstAbove)
    bytes = weights.map { weight in
      if weight == common { return UInt8(CollationKeys.firstAbove - 1) }
      if let place = below.firstIndex(of: weight) { return UInt8(2 + place) }
      return UInt8(CollationKeys.firstAbove + (above.firstIndex(of: weight) ?? 0))
    }
  }
}

/// The bytes of the primary weights of a collation, in the order of its scripts.
struct CollationPrimaries {
  /// By rank: one or two bytes from the top, their number in the lowest bits, and a mark.
  private(set) var bytes: [UInt32]
  /// Set if some element with the weight has another weight that is less than the common one.
  static let hasLesser: UInt32 = 4
  private(set) var implicitBytes: [UInt8] = []
  /// Bytes 0 to 2 are lower than any weight: the end, and what separates levels.
  private var lead: UInt32 = 3

  /// The number of second bytes: 2 to 255.
  private static let seconds: UInt32 = 254

  /// - Parameters:
  ///   - scripts: those that come first, by their places in the tables.
  ///   - hot: the weights that get one byte.
  init(_ scripts: [Int], hot: Set<UInt32>) {
    bytes = [UInt32](repeating: 0, count: CollationTables.primaryCount + 1)
    let ranges = CollationPrimaries.scriptRanges()
    let end = UInt32(CollationTables.primaryCount + 1)
    append(1..<CollationTables.firstLetter, hot)
    var isHanPlaced = false
    var rest = [CollationTables.firstLetter..<CollationTables.firstIdeograph]
    for script in scripts {
      append(ranges[script], hot)
      if script == CollationTables.han {
        appendImplicit(2)
        isHanPlaced = true
      }
      rest = rest.flatMap { CollationPrimaries.without(ranges[script], $0) }
    }
    for range in rest { append(range, hot) }
    if !isHanPlaced {
      append(CollationTables.firstIdeograph..<end, hot)
      appendImplicit(2)
    }
    appendImplicit(1)
    precondition(lead <= 0x100)
  }

  mutating func mark(_ ranks: [UInt32]) {
    for rank in ranks { bytes[Int(rank)] |= CollationPrimaries.hasLesser }
  }

  private mutating func append(_ ranks: Range<UInt32>, _ hot: Set<UInt32>) {
    var second: UInt32 = 0
    for rank in ranks {
      if hot.contains(rank) {
        if second > 0 { lead += 1 }
        bytes[Int(rank)] = lead << 24 | 1
        lead += 1
        second = 0
        continue
      }
      bytes[Int(rank)] = lead << 24 | (second + 2) << 16 | 2
      second += 1
      if second == CollationPrimaries.seconds {
        lead += 1
        second = 0
      }
    }
    if second > 0 { lead += 1 }
  }

  private mutating func appendImplicit(_ count: Int) {
    for _ in 0..<count {
      implicitBytes.append(UInt8(truncatingIfNeeded: lead))
      lead += 1
    }
  }

  private static func scriptRanges() -> [Range<UInt32>] {
    var ranges: [Range<UInt32>] = []
    var reader = DigitReader(CollationTables.scripts)
    var start: UInt32 = 0
    while let distance = reader.next(), let length = reader.next() {
      start = distance & 1 == 0 ? start + distance >> 1 : start - distance >> 1 - 1
      ranges.append(start..<start + length)
    }
    return ranges
  }

  private static func without(_ part: Range<UInt32>, _ range: Range<UInt32>) -> [Range<UInt32>] {
    guard range.overlaps(part) else { return [range] }
    return [
      range.lowerBound..<max(range.lowerBound, part.lowerBound),
      min(range.upperBound, part.upperBound)..<range.upperBound,
    ].filter { !$0.isEmpty }
  }
}
