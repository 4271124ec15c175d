/// Cuts bytes of UTF-8 into words, in memory that is used again: no word allocates anything.
///
/// Each scalar is looked up once, and is folded as it is found. Only if normal form could change a word,
/// because of marks that are kept, is the word normalized and folded again: a word of a text in
/// normal form is also the same word of a text that is not.
struct WordCutter: ~Copyable {
  private let rules: WordRules
  /// Where the next word is looked for.
  private var offset = 0
  /// The bytes of the last word in the text.
  private(set) var start = 0
  private(set) var end = 0
  /// Whether all bytes up to here are UTF-8. A byte that is not separates words.
  private(set) var isValid = true

  private let word: UnsafeMutablePointer<UInt8>
  private var count = 0
  /// Whether a scalar did not fit: then those after it do not count.
  private var isFull = false
  private var normal = NFCBuffer()
  private var refolded = ByteBuffer(capacity: 0)

  init(_ rules: WordRules) {
    self.rules = rules
    word = .allocate(capacity: WordRules.longestWord)
  }

  deinit { word.deallocate() }

  /// The folded bytes of the last word, valid until the next one.
  @inline(__always)
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: word, count: count) }

  /// Begins another text.
  mutating func begin() {
    offset = 0
    isValid = true
  }

  /// Finds the next word; false at the end of the text.
  mutating func next(in text: UnsafeRawBufferPointer) -> Bool {
    guard let source = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
    let length = text.count
    var place = offset
    // Most separators and first letters are ASCII.
    while place < length, source[place] < 0x80, !ASCIIWords.holds(source[place]) { place &+= 1 }
    count = 0
    isFull = false
    start = place
    var state = State()
    while place < length {
      let byte = source[place]
      if byte < 0x80 {
        guard ASCIIWords.holds(byte) else {
          if state.isInWord { break }
          place &+= 1
          start = place
          continue
        }
        if state.isSingle { break }
        place = appendASCII(source, from: place, to: length)
        state.take(ascii: source[place &- 1], losesMarks: !rules.keepsMarks)
      } else {
        let data = WordData.of(keepsMarks: rules.keepsMarks)
        let (scalar, width) = decode(source + place, length &- place)
        let entry = data.entry(of: scalar)
        switch entry.role {
        case .separator where !state.isInWord, .mark where !state.isInWord,
          .ignored where !state.isInWord:
          place &+= width
          start = place
          continue
        case .separator: break
        case .letter, .single:
          let isSingle = entry.role == .single
          if state.isInWord, isSingle || state.isSingle { break }
          state.take(letter: entry, isSingle: isSingle)
          appendFolded(scalar, entry, data)
          place &+= width
          continue
        case .mark:
          place &+= width
          if state.take(mark: scalar, entry) { appendFolded(scalar, entry, data) }
          continue
        case .ignored:
          place &+= width
          continue
        }
        break
      }
    }
    offset = place
    end = place
    guard state.isInWord else { return false }
    if state.isUnsettled {
      foldNormalized(UnsafeRawBufferPointer(rebasing: text[start..<place]))
    }
    return true
  }

  // MARK: Scalars

  /// A scalar outside of ASCII and its width; for a byte that is not UTF-8 U+FFFD, which separates words.
  @inline(__always)
  private mutating func decode(
    _ source: UnsafePointer<UInt8>, _ count: Int
  ) -> (UInt32, Int) {
    let first = UInt32(source[0])
    @inline(__always)
    func rest(_ place: Int) -> UInt32? {
      guard place < count, source[place] & 0xC0 == 0x80 else { return nil }
      return UInt32(source[place] & 0x3F)
    }
    switch first {
    case 0xC2...0xDF:
      if let a = rest(1) { return ((first & 0x1F) << 6 | a, 2) }
    case 0xE0...0xEF:
      if let a = rest(1), let b = rest(2) {
        let scalar = (first & 0x0F) << 12 | a << 6 | b
        // Neither written in too many bytes, nor a half of a pair of UTF-16.
        if scalar >= 0x800, scalar & 0xFFFF_F800 != 0xD800 { return (scalar, 3) }
      }
    case 0xF0...0xF4:
      if let a = rest(1), let b = rest(2), let c = rest(3) {
        let scalar = (first & 0x07) << 18 | a << 12 | b << 6 | c
        if scalar >= 0x10000, scalar < 0x110000 { return (scalar, 4) }
      }
    default: break
    }
    isValid = false
    return (0xFFFD, 1)
  }

  /// Appends the letters and digits up to the next byte that is none, which is returned.
  @inline(__always)
  private mutating func appendASCII(
    _ source: UnsafePointer<UInt8>, from start: Int, to end: Int
  ) -> Int {
    var place = start
    var length = count
    repeat {
      if length < WordRules.longestWord, !isFull {
        word[length] = ASCIIWords.folded(source[place])
        length &+= 1
      } else {
        isFull = true
      }
      place &+= 1
    } while place < end && source[place] < 0x80 && ASCIIWords.holds(source[place])
    count = length
    return place
  }

  private mutating func appendFolded(
    _ scalar: UInt32, _ entry: WordData.Entry, _ data: WordData
  ) {
    if entry.isSequence {
      data.forEachFolded(scalar, entry) { append(scalar: $0) }
    } else {
      append(scalar: entry.target == 0 ? scalar : entry.target)
    }
  }

  private mutating func append(scalar: UInt32) {
    let width = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
    guard !isFull, count &+ width <= WordRules.longestWord else {
      isFull = true
      return
    }
    UTF8Bytes.write(scalar, to: word + count)
    count &+= width
  }

  // MARK: Normal form

  /// Folds the normal form of a word. The result is in normal form too.
  private mutating func foldNormalized(_ source: UnsafeRawBufferPointer) {
    let data = WordData.of(keepsMarks: rules.keepsMarks)
    normal.normalize(source)
    refolded.removeAll()
    var losesMarks = false
    let bytes = normal.borrowedBytes
    var place = 0
    while place < bytes.count, let start = bytes.baseAddress {
      let source = (start + place).assumingMemoryBound(to: UInt8.self)
      let isASCII = source[0] < 0x80
      let (scalar, width) = isASCII ? (UInt32(source[0]), 1) : decode(source, bytes.count - place)
      place += width
      let entry = isASCII ? ASCIIWords.entry(scalar, rules) : data.entry(of: scalar)
      switch entry.role {
      case .ignored, .separator: continue
      case .mark: if losesMarks { continue }
      case .letter, .single: losesMarks = entry.losesMarks
      }
      data.forEachFolded(scalar, entry) { UTF8Bytes.append($0, to: &refolded) }
    }
    count = 0
    isFull = false
    let isPlain = NFC.isPlain(UnsafeRawPointer(refolded.base), count: refolded.count)
    if !isPlain { normal.normalize(refolded.bytes) }
    let folded = isPlain ? refolded.bytes : normal.borrowedBytes
    var length = min(folded.count, WordRules.longestWord)
    // Not within a scalar.
    while length > 0, length < folded.count, folded[length] & 0xC0 == 0x80 { length -= 1 }
    for place in 0..<length { word[place] = folded[place] }
    count = length
  }
}

extension WordCutter {
  /// What of a word decides about the scalars after it.
  private struct State {
    var isInWord = false
    var isSingle = false
    /// Whether normal form could change the word.
    var isUnsettled = false
    private var losesMarks = false
    private var isChanged = false
    private var lastClass: UInt8 = 0

    @inline(__always)
    mutating func take(ascii byte: UInt8, losesMarks: Bool) {
      isInWord = true
      self.losesMarks = losesMarks
      isChanged = byte < 0x61
      lastClass = 0
    }

    @inline(__always)
    mutating func take(letter entry: WordData.Entry, isSingle: Bool) {
      isInWord = true
      self.isSingle = isSingle
      losesMarks = entry.losesMarks
      isChanged = entry.target != 0
      lastClass = 0
      if entry.isUnsettled { isUnsettled = true }
    }

    /// Whether a mark is kept.
    mutating func take(mark: UInt32, _ entry: WordData.Entry) -> Bool {
      if losesMarks { return false }
      let combiningClass = NFCData.shared.properties(of: mark).combiningClass
      // It may combine with the letter, or stand after marks that the folded letter ends with.
      if entry.isUnsettled || isChanged || entry.target != 0
        || (combiningClass != 0 && combiningClass < lastClass)
      {
        isUnsettled = true
      }
      lastClass = combiningClass
      return true
    }
  }
}

/// Words in ASCII, without a table.
enum ASCIIWords {
  /// The digits are in the first word, the letters in the second one.
  private static let low: UInt64 = 0x03FF_0000_0000_0000
  private static let high: UInt64 = 0x07FF_FFFE_07FF_FFFE

  /// Whether a byte below 0x80 is a letter or a digit.
  @inline(__always)
  static func holds(_ byte: UInt8) -> Bool {
    (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 != 0
  }

  /// The letter in lower case. Digits have the bit already.
  @inline(__always)
  static func folded(_ byte: UInt8) -> UInt8 { byte | 0x20 }

  static func entry(_ scalar: UInt32, _ rules: WordRules) -> WordData.Entry {
    let byte = UInt8(truncatingIfNeeded: scalar)
    guard holds(byte) else { return WordData.Entry(bits: 0) }
    let role = WordData.Role.letter.rawValue << WordData.Entry.roleShift
    let losesMarks = rules.keepsMarks ? 0 : WordData.Entry.losesMarks
    return WordData.Entry(bits: role | losesMarks | UInt32(folded(byte)))
  }
}

/// Scalars as UTF-8.
private enum UTF8Bytes {
  static func append(_ scalar: UInt32, to buffer: inout ByteBuffer) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4) { bytes in
      guard let start = bytes.baseAddress else { return }
      for place in 0..<write(scalar, to: start) { buffer.append(start[place]) }
    }
  }

  @discardableResult
  @inline(__always)
  static func write(_ scalar: UInt32, to target: UnsafeMutablePointer<UInt8>) -> Int {
    if scalar < 0x80 {
      target[0] = UInt8(scalar)
      return 1
    }
    if scalar < 0x800 {
      target[0] = UInt8(0xC0 | scalar >> 6)
      target[1] = UInt8(0x80 | scalar & 0x3F)
      return 2
    }
    if scalar < 0x10000 {
      target[0] = UInt8(0xE0 | scalar >> 12)
      target[1] = UInt8(0x80 | scalar >> 6 & 0x3F)
      target[2] = UInt8(0x80 | scalar & 0x3F)
      return 3
    }
    target[0] = UInt8(0xF0 | scalar >> 18)
    target[1] = UInt8(0x80 | scalar >> 12 & 0x3F)
    target[2] = UInt8(0x80 | scalar >> 6 & 0x3F)
    target[3] = UInt8(0x80 | scalar & 0x3F)
    return 4
  }
}
