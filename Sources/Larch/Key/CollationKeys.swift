/// Makes the sort keys of texts in the order of a language, in memory that is kept and reused.
///
/// A key has three levels. The first one has the primary weights: letters, digits, signs. A byte 1 comes
/// before the secondary weights, accents, and another one before the tertiary weights, case. Levels at the
/// end that are empty are left out with their mark, so a text of small letters without accents is as long
/// as its letters.
///
/// The common weight of the last two levels, that of small letters without accents, is written as runs: how
/// many of them come before a greater weight, or before a lesser one or the end. The more there are, the
/// lower is the byte before a greater weight, and the higher is the byte before a lesser one. Runs at
/// the end are left out unless one of the primary weights occurs with a lesser weight, as those of kana do: all
/// texts with these primary weights have the runs then, or none has.
final class CollationKeys {
  /// The bytes from 2 up to here are of weights less than the common one.
  static let lowestRun = 0x40
  /// The byte of a whole run.
  private static let wholeRun: UInt8 = 0x5F
  private static let wholeCount = 32
  /// The bytes from here on are of weights greater than the common one.
  static let firstAbove = 0x80
  /// The number of secondary weights greater than the common one that have one byte.
  private static let shortCount: UInt16 = 96
  /// How many marks after a sequence are looked at; texts of people have two or three.
  private static let mostMarks = 64

  private var data: CollationData?
  private var decomposer = NFCBuffer()
  @exclusivity(unchecked) private var key = ByteBuffer(capacity: 0)
  @exclusivity(unchecked) private var secondaries: [UInt16] = []
  @exclusivity(unchecked) private var tertiaries: [UInt8] = []
  /// Whether the weights so far are of a variable primary weight, which does not count.
  @exclusivity(unchecked) private var isSkipping = false
  /// Whether runs at the end are written.
  @exclusivity(unchecked) private var endsRuns = false

  /// The key of a text in UTF-8, valid until the next one is made. Invalid UTF-8 becomes U+FFFD.
  ///
  /// - Parameter limit: how many bytes are needed: more need not be right.
  func key(
    of utf8: UnsafeRawBufferPointer, _ collation: Collation, limit: Int = .max
  ) -> UnsafeRawBufferPointer {
    let data = tables(collation)
    key.removeAll()
    secondaries.removeAll(keepingCapacity: true)
    tertiaries.removeAll(keepingCapacity: true)
    isSkipping = false
    endsRuns = data.alwaysEndsRuns
    if utf8.isASCII {
      appendASCII(utf8, data, limit)
    } else {
      appendDecomposed(decomposer.decompose(utf8), data, limit)
    }
    if key.count >= limit { return key.bytes }
    if data.isBackward { secondaries.reverse() }
    let hasSecondaries =
      (endsRuns && !secondaries.isEmpty)
      || secondaries.contains { $0 != CollationTables.commonSecondary }
    let hasTertiaries =
      (endsRuns && !tertiaries.isEmpty)
      || tertiaries.contains { $0 != data.commonTertiary }
    if hasSecondaries || hasTertiaries { key.append(1) }
    if hasSecondaries { appendSecondaries() }
    if hasTertiaries {
      key.append(1)
      appendTertiaries(data)
    }
    return key.bytes
  }

  /// The key of a text, as a copy.
  func bytes(of text: String, _ collation: Collation) -> [UInt8] {
    var text = text
    return text.withUTF8 { [UInt8](key(of: UnsafeRawBufferPointer($0), collation)) }
  }

  @inline(__always)
  private func tables(_ collation: Collation) -> CollationData {
    if let data, data.collation == collation { return data }
    let made = CollationData.of(collation)
    data = made
    return made
  }

  // MARK: Weights

  /// ASCII is its own decomposition, and has no marks.
  private func appendASCII(
    _ text: UnsafeRawBufferPointer, _ data: CollationData, _ limit: Int
  ) {
    var place = 0
    while place < text.count {
      let entry = data.entry(of: UInt32(text[place]))
      if entry.beginsSequence,
        let found = data.sequences(from: UInt32(text[place])).first(where: { sequence in
          sequence.rest.count < text.count - place
            && sequence.rest.indices.allSatisfy {
              sequence.rest[$0] == UInt32(text[place + 1 + $0])
            }
        })
      {
        append(found.entry, data)
        place += 1 + found.rest.count
      } else {
        append(entry, data)
        place += 1
      }
      if key.count >= limit { return }
    }
  }

  private func appendDecomposed(_ text: [UInt64], _ data: CollationData, _ limit: Int) {
    func scalar(_ place: Int) -> UInt32 { UInt32(truncatingIfNeeded: text[place]) & 0x1F_FFFF }
    /// The marks that joined a sequence before their turn.
    var joined: Set<Int> = []
    var place = 0
    while place < text.count {
      defer { place += 1 }
      if !joined.isEmpty, joined.remove(place) != nil { continue }
      let first = scalar(place)
      let entry = data.entry(of: first)
      if entry.isImplicit {
        append(CollationData.implicit(first), data)
      } else if entry.beginsSequence {
        place = append(from: place, text, entry, &joined, data)
      } else {
        append(entry, data)
      }
      if key.count >= limit { return }
    }
  }

  /// Appends the longest sequence from a place on, then with marks that join it over others: the rules S2.1 of
  /// the algorithm. Returns the last place of the sequence without such marks.
  private func append(
    from place: Int, _ text: [UInt64], _ single: CollationData.Entry, _ joined: inout Set<Int>,
    _ data: CollationData
  ) -> Int {
    func scalar(_ place: Int) -> UInt32 { UInt32(truncatingIfNeeded: text[place]) & 0x1F_FFFF }
    let known = data.sequences(from: scalar(place))
    let match = known.first { sequence in
      sequence.rest.count < text.count - place
        && sequence.rest.indices.allSatisfy {
          sequence.rest[$0] == scalar(place + 1 + $0) && !joined.contains(place + 1 + $0)
        }
    }
    var found = match?.entry ?? single
    var rest = match?.rest ?? []
    let last = place + rest.count
    var lastClass: UInt64 = 0
    var next = last + 1
    // A limit, since any mark of a long run may begin a sequence itself.
    let end = min(text.count, next + CollationKeys.mostMarks)
    while next < end, text[next] >> 56 != 0 {
      let own = text[next] >> 56
      if joined.contains(next) {
        next += 1
        continue
      }
      // A mark of the same class in between blocks it.
      if own > lastClass,
        let longer = known.first(where: {
          $0.rest.count == rest.count + 1 && $0.rest.last == scalar(next)
            && $0.rest.starts(with: rest)
        })
      {
        found = longer.entry
        rest = longer.rest
        joined.insert(next)
      } else {
        lastClass = own
      }
      next += 1
    }
    append(found, data)
    return last
  }

  @inline(__always)
  private func append(_ entry: CollationData.Entry, _ data: CollationData) {
    let place = entry.place
    for number in 0..<entry.count { append(data.element(place + number), data) }
  }

  @inline(__always)
  private func append(_ element: CollationData.Element, _ data: CollationData) {
    if data.skipsVariable {
      if element.primary != 0 { isSkipping = element.primary < CollationTables.firstSymbol }
      if isSkipping { return }
    }
    if element.primary != 0, data.append(primary: element.primary, to: &key) { endsRuns = true }
    if element.secondary != 0 { secondaries.append(element.secondary) }
    if element.tertiary != 0 { tertiaries.append(data.tertiaryBytes[Int(element.tertiary)]) }
  }

  // MARK: Levels

  private func appendSecondaries() {
    let common = CollationTables.commonSecondary
    var run = 0
    for weight in secondaries {
      if weight == common {
        run += 1
        continue
      }
      appendRun(&run, beforeGreater: weight > common)
      if weight < common {
        key.append(UInt8(2 + weight))
        continue
      }
      let place = weight - common - 1
      if place < CollationKeys.shortCount {
        key.append(UInt8(CollationKeys.firstAbove) + UInt8(place))
      } else {
        let long = place - CollationKeys.shortCount
        key.append(UInt8(0xE0 + long / 250))
        key.append(UInt8(2 + long % 250))
      }
    }
    if endsRuns { appendRun(&run, beforeGreater: false) }
  }

  private func appendTertiaries(_ data: CollationData) {
    var run = 0
    for weight in tertiaries {
      if weight == data.commonTertiary {
        run += 1
        continue
      }
      appendRun(&run, beforeGreater: weight > data.commonTertiary)
      key.append(weight)
    }
    if endsRuns { appendRun(&run, beforeGreater: false) }
  }

  private func appendRun(_ run: inout Int, beforeGreater: Bool) {
    while run >= CollationKeys.wholeCount {
      key.append(CollationKeys.wholeRun)
      run -= CollationKeys.wholeCount
    }
    if run > 0 {
      key.append(
        beforeGreater
          ? UInt8(CollationKeys.firstAbove - run) : UInt8(CollationKeys.lowestRun + run - 1))
      run = 0
    }
  }
}
