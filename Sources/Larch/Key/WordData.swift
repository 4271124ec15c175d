/// The tables of `WordTables` unpacked for look-up, for one set of rules: made once, when the first scalar
/// outside of ASCII arrives, and kept permanently.
///
/// `@unchecked Sendable` holds because nothing is written after the initializer.
final class WordData: @unchecked Sendable {
  private static let standard = WordData(keepsMarks: false)
  private static let withMarks = WordData(keepsMarks: true)

  static func of(keepsMarks: Bool) -> WordData { keepsMarks ? withMarks : standard }

  /// What a scalar is to words.
  enum Role: UInt32 {
    case separator = 0
    /// Words are runs of these.
    case letter = 1
    /// A word by itself, with the marks after it.
    case single = 2
    /// A part of the word before it. It begins none.
    case mark = 3
    /// As if it were not there.
    case ignored = 4
  }

  /// What is known of a scalar.
  struct Entry {
    var bits: UInt32

    /// The scalar in its place, or the place of several; zero for itself.
    static let target: UInt32 = (1 << 21) - 1
    static let isSequence: UInt32 = 1 << 21
    /// Marks after it are dropped.
    static let losesMarks: UInt32 = 1 << 22
    /// It changes in normal form, or with what stands before it.
    static let isUnsettled: UInt32 = 1 << 23
    static let roleShift: UInt32 = 24

    @inline(__always)
    var role: Role { Role(rawValue: bits >> Entry.roleShift) ?? .separator }
    @inline(__always)
    var losesMarks: Bool { bits & Entry.losesMarks != 0 }
    @inline(__always)
    var isUnsettled: Bool { bits & Entry.isUnsettled != 0 }
    @inline(__always)
    var isSequence: Bool { bits & Entry.isSequence != 0 }
    /// Zero if the scalar stands for itself.
    @inline(__always)
    var target: UInt32 { bits & Entry.target }
  }

  private static let blockCount = 0x110000 >> 7
  private let blocks: UnsafeMutablePointer<UInt16>
  private let entries: UnsafeMutablePointer<UInt32>
  /// Those that take the place of one scalar: their number, then they.
  private let sequences: [UInt32]

  /// What is known of a scalar below 0x110000.
  @inline(__always)
  func entry(of scalar: UInt32) -> Entry {
    Entry(bits: entries[Int(blocks[Int(scalar >> 7)]) << 7 | Int(scalar & 127)])
  }

  /// Visits the scalars that take the place of one.
  @inline(__always)
  func forEachFolded(_ scalar: UInt32, _ entry: Entry, _ body: (UInt32) -> Void) {
    guard entry.isSequence else { return body(entry.target == 0 ? scalar : entry.target) }
    let place = Int(entry.target)
    for offset in 1...Int(sequences[place]) { body(sequences[place + offset]) }
  }

  // MARK: Making

  private init(keepsMarks: Bool) {
    let normal = NFCData.shared
    var draft = Draft()
    let folds = WordData.folds()
    var reader = DigitReader(WordTables.roles)
    var start: UInt32 = 0
    var runs: [(scalars: Range<UInt32>, bits: UInt32)] = []
    while let distance = reader.next(), let count = reader.next(), let value = reader.next() {
      start += distance
      let losesMarks = value & 8 != 0 && !keepsMarks
      let bits = (value & 7) << Entry.roleShift | (losesMarks ? Entry.losesMarks : 0)
      runs.append((start..<start + count, bits))
      draft.fill(start..<start + count, bits)
    }
    for (scalars, bits) in runs {
      let losesMarks = bits & Entry.losesMarks != 0
      for scalar in scalars {
        let properties = normal.properties(of: scalar)
        if losesMarks {
          // Its marks are dropped before it is folded, so that no order of them matters.
          guard properties.decomposes else { continue }
          var base: UInt32?
          normal.forEachDecomposed(scalar) { if base == nil { base = $0 } }
          draft.set(scalar, bits, folds[base ?? scalar] ?? [base ?? scalar])
        } else if !properties.isNormal {
          draft.set(scalar, bits | Entry.isUnsettled, folds[scalar] ?? [scalar])
        }
      }
    }
    for (scalar, to) in folds {
      let bits = draft.bits(of: scalar)
      // Those that decompose were taken apart above.
      if bits & Entry.losesMarks != 0, normal.properties(of: scalar).decomposes { continue }
      draft.set(scalar, bits & ~(Entry.target | Entry.isSequence), to)
    }
    blocks = .allocate(capacity: Self.blockCount)
    blocks.initialize(from: draft.blocks, count: Self.blockCount)
    entries = .allocate(capacity: draft.entries.count)
    entries.initialize(from: draft.entries, count: draft.entries.count)
    sequences = draft.sequences
  }

  private static func folds() -> [UInt32: [UInt32]] {
    var folds: [UInt32: [UInt32]] = [:]
    var reader = DigitReader(WordTables.folds)
    var scalar: UInt32 = 0
    while let head = reader.next() {
      scalar += head / 4
      var to: [UInt32] = []
      for _ in 0..<head % 4 {
        guard let distance = reader.next() else { break }
        let half = UInt32(distance >> 1)
        to.append(distance & 1 == 0 ? scalar + half : scalar - half - 1)
      }
      folds[scalar] = to
    }
    return folds
  }

  /// The tables while they are made. Blocks of one kind, such as those of Chinese, are one block.
  private struct Draft {
    var blocks = [UInt16](repeating: 0, count: blockCount)
    var entries = [UInt32](repeating: 0, count: 128)
    var sequences: [UInt32] = []
    private var shared: [UInt32: UInt16] = [0: 0]
    private var isShared: [Bool] = [true]

    mutating func fill(_ scalars: Range<UInt32>, _ bits: UInt32) {
      var scalar = scalars.lowerBound
      while scalar < scalars.upperBound {
        let block = Int(scalar >> 7)
        let end = min(scalars.upperBound, (scalar >> 7 + 1) << 7)
        if end - scalar == 128 {
          blocks[block] = uniform(bits)
        } else {
          let own = ownBlock(block)
          for place in scalar..<end { entries[own << 7 | Int(place & 127)] = bits }
        }
        scalar = end
      }
    }

    func bits(of scalar: UInt32) -> UInt32 {
      entries[Int(blocks[Int(scalar >> 7)]) << 7 | Int(scalar & 127)]
    }

    mutating func set(_ scalar: UInt32, _ bits: UInt32, _ to: [UInt32]) {
      var bits = bits
      if to.count > 1 {
        bits |= UInt32(sequences.count) | Entry.isSequence
        sequences.append(UInt32(to.count))
        sequences += to
      } else if let target = to.first, target != scalar {
        bits |= target
      }
      entries[ownBlock(Int(scalar >> 7)) << 7 | Int(scalar & 127)] = bits
    }

    private mutating func uniform(_ bits: UInt32) -> UInt16 {
      if let known = shared[bits] { return known }
      let made = append(repeatElement(bits, count: 128), isShared: true)
      shared[bits] = made
      return made
    }

    private mutating func ownBlock(_ block: Int) -> Int {
      let place = Int(blocks[block])
      if isShared[place] {
        let copy = Array(entries[place << 7..<(place + 1) << 7])
        blocks[block] = append(copy, isShared: false)
      }
      return Int(blocks[block])
    }

    private mutating func append(_ block: some Sequence<UInt32>, isShared: Bool) -> UInt16 {
      let place = UInt16(entries.count >> 7)
      entries += block
      self.isShared.append(isShared)
      return place
    }
  }
}
