/// The tables of `CollationTables` unpacked for look-up, for one collation: made when its first text is
/// compared, and kept permanently.
///
/// `@unchecked Sendable` holds because nothing is written after the initializer.
final class CollationData: @unchecked Sendable {
  /// What a scalar or a sequence weighs, at the three levels. Zero is no weight, and what sorts otherwise
  /// only by what follows it has none at the first level.
  struct Element: Equatable {
    /// A rank, or where there is none the place among those that weigh by their code point.
    var primary: UInt32
    /// By number.
    var secondary: UInt16
    /// By number.
    var tertiary: UInt16

    /// The first primary weight of those that weigh by their code point.
    static let firstImplicit: UInt32 = 1 << 24
  }

  /// Where the elements of a scalar or a sequence are.
  struct Entry {
    /// The place of the first one, then five bits of their number.
    var bits: UInt32

    static let beginsSequence: UInt32 = 1 << 31

    init(bits: UInt32) { self.bits = bits }
    init(place: Int, count: Int) { bits = UInt32(place << 5 | count) }

    /// Whether a scalar weighs by its code point.
    var isImplicit: Bool { bits == 0 }
    var beginsSequence: Bool { bits & Entry.beginsSequence != 0 }
    var count: Int { Int(bits & 31) }
    var place: Int { Int((bits & ~Entry.beginsSequence) >> 5) }
  }

  /// Scalars that weigh together otherwise than one by one.
  struct Sequence {
    /// Without the first one.
    let rest: [UInt32]
    let entry: Entry
  }

  let collation: Collation
  /// Whether accents count from the end of the text.
  let isBackward: Bool
  /// Whether spaces and signs do not count.
  let skipsVariable: Bool
  /// The byte of each tertiary weight, and that of a letter without anything special, see `CollationKeys`.
  let tertiaryBytes: [UInt8]
  let commonTertiary: UInt8
  /// Whether a weight less than the common one may be anywhere: then keys have all runs, see `CollationKeys`.
  let alwaysEndsRuns: Bool

  private let blocks: UnsafeMutablePointer<UInt16>
  private let entries: UnsafeMutablePointer<UInt32>
  private let elements: UnsafeMutablePointer<Element>
  private let sequences: [UInt32: [Sequence]]
  /// The bytes of each primary weight, see `CollationPrimaries`.
  private let primaryBytes: UnsafeMutablePointer<UInt32>
  /// The first byte of ideographs of the main block, of other ideographs, and of what is not assigned.
  private let implicitBytes: [UInt8]

  private static let blockCount = 0x110000 >> 7
  private static let known = Locked<[UInt8: CollationData]>([:])

  static func of(_ collation: Collation) -> CollationData {
    known.withLock { known in
      if let data = known[collation.number] { return data }
      let data = CollationData(collation)
      known[collation.number] = data
      return data
    }
  }

  @inline(__always)
  func entry(of scalar: UInt32) -> Entry {
    Entry(bits: entries[Int(blocks[Int(scalar >> 7)]) << 7 | Int(scalar & 127)])
  }

  /// The sequences that begin with a scalar, the longest first.
  func sequences(from scalar: UInt32) -> [Sequence] { sequences[scalar] ?? [] }

  @inline(__always)
  func element(_ place: Int) -> Element { elements[place] }

  /// The only element of a scalar without an entry.
  static func implicit(_ scalar: UInt32) -> Element {
    Element(
      primary: Element.firstImplicit + (kind(ofImplicit: scalar) << 21 | scalar),
      secondary: CollationTables.commonSecondary,
      tertiary: CollationTables.commonTertiary)
  }

  /// Appends the bytes of a primary weight. Returns whether some element with it has another weight that
  /// is less than the common one.
  @inline(__always)
  func append(primary: UInt32, to key: inout ByteBuffer) -> Bool {
    if primary >= Element.firstImplicit {
      append(implicit: primary, to: &key)
      return false
    }
    let bytes = primaryBytes[Int(primary)]
    key.append(UInt8(truncatingIfNeeded: bytes >> 24))
    if bytes & 2 != 0 { key.append(UInt8(truncatingIfNeeded: bytes >> 16)) }
    return bytes & CollationPrimaries.hasLesser != 0
  }

  private func append(implicit primary: UInt32, to key: inout ByteBuffer) {
    let scalar = primary & 0x1F_FFFF
    key.append(implicitBytes[Int((primary - Element.firstImplicit) >> 21)])
    // Seven bits each, above the bytes that separate the levels.
    key.append(UInt8(scalar >> 14) + 2)
    key.append(UInt8(scalar >> 7 & 127) + 2)
    key.append(UInt8(scalar & 127) + 2)
  }

  /// 0 for ideographs of the main block, 1 for other ones, 2 for all else, as in the algorithm.
  private static func kind(ofImplicit scalar: UInt32) -> UInt32 {
    switch scalar {
    case 0x4E00...0x9FFF, 0xFA0E, 0xFA0F, 0xFA11, 0xFA13, 0xFA14, 0xFA1F, 0xFA21, 0xFA23, 0xFA24,
      0xFA27...0xFA29:
      0
    case 0x3400...0x4DBF, 0x20000...0x3FFFD: 1
    default: 2
    }
  }

  // MARK: Making

  private init(_ collation: Collation) {
    self.collation = collation
    var draft = CollationDraft()
    draft.readSingles()
    draft.readSequences(CollationTables.sequences)
    var scripts: [Int] = []
    var traits: UInt32 = 0
    if collation.number > 0 {
      var reader = DigitReader(CollationTables.languages[Int(collation.number) - 1].rules)
      traits = reader.next() ?? 0
      for _ in 0..<(reader.next() ?? 0) { scripts.append(Int(reader.next() ?? 0)) }
      draft.readSequences(&reader)
    }
    isBackward = traits & 1 != 0
    skipsVariable = traits & 4 != 0

    let used = Set(draft.elements.map(\.tertiary))
    let tertiaryBytes = CollationTertiaries(used, isUpperFirst: traits & 2 != 0).bytes
    let commonTertiary = tertiaryBytes[Int(CollationTables.commonTertiary)]
    self.tertiaryBytes = tertiaryBytes
    self.commonTertiary = commonTertiary
    let withLesser = draft.elements.filter {
      ($0.secondary != 0 && $0.secondary < CollationTables.commonSecondary)
        || ($0.tertiary != 0 && tertiaryBytes[Int($0.tertiary)] < commonTertiary)
    }
    alwaysEndsRuns = withLesser.contains { $0.primary == 0 || $0.primary >= Element.firstImplicit }
    var primaries = CollationPrimaries(scripts, hot: draft.oftenUsed)
    if !alwaysEndsRuns { primaries.mark(withLesser.map(\.primary)) }
    primaryBytes = .allocate(capacity: primaries.bytes.count)
    primaryBytes.initialize(from: primaries.bytes, count: primaries.bytes.count)
    implicitBytes = primaries.implicitBytes

    let sequences = draft.sequences.mapValues { known in
      known.map { Sequence(rest: $0.key, entry: $0.value) }
        .sorted {
          $0.rest.count != $1.rest.count
            ? $0.rest.count > $1.rest.count : $0.rest.lexicographicallyPrecedes($1.rest)
        }
    }
    self.sequences = sequences
    for scalar in sequences.keys {
      // A scalar that weighs by its code point gets an element, so that its entry is not zero.
      if draft.entry(of: scalar).isImplicit { draft.set(scalar, [CollationData.implicit(scalar)]) }
      draft.mark(scalar)
    }
    blocks = .allocate(capacity: Self.blockCount)
    blocks.initialize(from: draft.blocks, count: Self.blockCount)
    entries = .allocate(capacity: draft.entries.count)
    entries.initialize(from: draft.entries, count: draft.entries.count)
    elements = .allocate(capacity: draft.elements.count)
    elements.initialize(from: draft.elements, count: draft.elements.count)
  }
}

/// The tables of a collation while they are read.
struct CollationDraft {
  private(set) var blocks = [UInt16](repeating: 0, count: 0x110000 >> 7)
  private(set) var entries = [UInt32](repeating: 0, count: 128)
  private(set) var elements: [CollationData.Element] = []
  /// By the first scalar, then by the others.
  private(set) var sequences: [UInt32: [[UInt32]: CollationData.Entry]] = [:]

  init() { elements.reserveCapacity(CollationTables.primaryCount + 8192) }

  /// The primary weights of what most texts consist of, which have one byte each in keys.
  var oftenUsed: Set<UInt32> {
    let letters = (0x30...0x39).map { $0 } + (0x61...0x7A).map { $0 } + [0x20, 0x2D, 0x2E]
    return Set(letters.map { elements[entry(of: UInt32($0)).place].primary })
  }

  func entry(of scalar: UInt32) -> CollationData.Entry {
    CollationData.Entry(bits: entries[Int(blocks[Int(scalar >> 7)]) << 7 | Int(scalar & 127)])
  }

  mutating func set(_ scalar: UInt32, _ own: [CollationData.Element]) {
    set(scalar, CollationData.Entry(place: elements.count, count: own.count))
    elements += own
  }

  /// Notes that sequences begin with a scalar.
  mutating func mark(_ scalar: UInt32) {
    var entry = entry(of: scalar)
    entry.bits |= CollationData.Entry.beginsSequence
    set(scalar, entry)
  }

  private mutating func set(_ scalar: UInt32, _ entry: CollationData.Entry) {
    let block = Int(scalar >> 7)
    if blocks[block] == 0 {
      blocks[block] = UInt16(entries.count >> 7)
      entries += repeatElement(0, count: 128)
    }
    entries[Int(blocks[block]) << 7 | Int(scalar & 127)] = entry.bits
  }

  mutating func readSingles() {
    // Nothing but the scalars of no weight has the place 0 with the number 0, which means none.
    elements.append(CollationData.Element(primary: 0, secondary: 0, tertiary: 0))
    var reader = DigitReader(CollationTables.singles)
    var scalar: UInt32 = 0
    var last: UInt32 = 0
    while let head = reader.next(), let second = reader.next() {
      scalar += head / 3
      switch head % 3 {
      case 0:
        last = CollationDraft.moved(last, by: reader.next() ?? 0)
        for step in 0..<second {
          set(
            scalar + step,
            [
              CollationData.Element(
                primary: last + step, secondary: CollationTables.commonSecondary,
                tertiary: CollationTables.commonTertiary)
            ])
        }
        last += second - 1
      case 1: set(scalar, [CollationDraft.element(second, &reader, &last)])
      default:
        var own: [CollationData.Element] = []
        for _ in 0..<second {
          guard let code = reader.next() else { break }
          own.append(CollationDraft.element(code, &reader, &last))
        }
        set(scalar, own)
      }
    }
  }

  mutating func readSequences(_ text: StaticString) {
    var reader = DigitReader(text)
    readSequences(&reader)
  }

  mutating func readSequences(_ reader: inout DigitReader) {
    var first: UInt32 = 0
    var last: UInt32 = 0
    while let length = reader.next(), let distance = reader.next() {
      first += distance
      var rest: [UInt32] = []
      var scalar = first
      for _ in 1..<length {
        scalar = CollationDraft.moved(scalar, by: reader.next() ?? 0)
        rest.append(scalar)
      }
      var own: [CollationData.Element] = []
      for _ in 0..<(reader.next() ?? 0) {
        guard let code = reader.next() else { break }
        own.append(CollationDraft.element(code, &reader, &last))
      }
      if rest.isEmpty {
        set(first, own)
      } else if own.isEmpty {
        sequences[first]?[rest] = nil
      } else {
        sequences[first, default: [:]][rest] = CollationData.Entry(
          place: elements.count, count: own.count)
        elements += own
      }
    }
  }

  /// - Parameter code: 0 for no primary weight, 1 for that of an ideograph, which follows, or the distance
  ///   from the weight before, plus 2.
  private static func element(
    _ code: UInt32, _ reader: inout DigitReader, _ last: inout UInt32
  ) -> CollationData.Element {
    var primary: UInt32 = 0
    if code == 1 {
      primary = CollationData.implicit(reader.next() ?? 0).primary
    } else if code >= 2 {
      last = moved(last, by: code - 2)
      primary = last
    }
    let others = reader.next() ?? 0
    return CollationData.Element(
      primary: primary, secondary: UInt16(others / 128), tertiary: UInt16(others % 128))
  }

  /// A number and its distance, whose sign is in the lowest bit.
  private static func moved(_ number: UInt32, by distance: UInt32) -> UInt32 {
    distance & 1 == 0 ? number + distance >> 1 : number - distance >> 1 - 1
  }
}
