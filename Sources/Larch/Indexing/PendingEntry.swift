/// What a record has changed of one word since the blocks of a search were written.
///
/// The bytes are those of whoever read it.
struct SearchChange {
  let word: UnsafeRawBufferPointer
  let number: UInt64
  /// Whether the blocks have a posting of the record.
  let was: Bool
  /// The posting that counts; nil if the record has the word no more.
  let posting: UnsafeRawBufferPointer?

  /// How many more records have the word than the blocks tell.
  var difference: Int { (posting == nil ? 0 : 1) - (was ? 1 : 0) }

  /// The order of words and records, which is that of the keys of blocks.
  func precedes(_ word: UnsafeRawBufferPointer, _ number: UInt64) -> Bool {
    let order = compareBytes(self.word, word)
    return order != 0 ? order < 0 : self.number < number
  }
}

/// Changes with bytes of their own: those of a tree, to be merged into it.
struct CopiedChanges: ~Copyable {
  /// Valid as long as this is.
  let all: [SearchChange]
  private let bytes: ByteBuffer

  init(_ stored: [SearchChange]) {
    let size = stored.reduce(0) { $0 + $1.word.count + ($1.posting?.count ?? 0) }
    var bytes = ByteBuffer(capacity: size)
    // Its memory does not move: there is room for everything.
    func copy(_ part: UnsafeRawBufferPointer, _ bytes: inout ByteBuffer) -> UnsafeRawBufferPointer {
      let start = bytes.count
      bytes.append(part)
      return bytes.bytes(at: start, count: part.count)
    }
    all = stored.map { change in
      SearchChange(
        word: copy(change.word, &bytes), number: change.number, was: change.was,
        posting: change.posting.map { copy($0, &bytes) })
    }
    self.bytes = bytes
  }
}

/// The words that one record has changed since the blocks were written, as stored under `SearchKey.pending`.
///
/// The bytes are the number of words, the one with which it began to wait, then the end of each, then the words in
/// order: one byte with the length, the word, what the blocks have and what counts, and the posting. So one word is
/// found by a few comparisons, however long the text. Every step is checked: the bytes come from a file.
///
/// The words of all entries are merged in a sweep over the alphabet, which starts over after the last word. Nothing is
/// written to an entry for that: it says only with which word it began to wait, and its words wait from the place of
/// the sweep around to that one. Once the sweep comes back there, the entry is removed.
struct PendingEntry {
  private static let isGone: UInt8 = 0
  private static let isNew: UInt8 = 1
  private static let isChanged: UInt8 = 2
  /// The size of a number in front of the words.
  private static let width = 4
  /// Set in the number of words if the word with which the entry began to wait is not the first one.
  private static let beginsInside: UInt32 = 1 << 31

  let number: UInt64
  /// The number of its words, also of those that are merged.
  let count: Int
  private let bytes: UnsafeRawBufferPointer
  /// The numbers in front of the ends of words.
  private let fields: Int
  /// The word with which it began to wait.
  private let first: Int
  /// The first word that the sweep has not reached in this round; their number after the last one.
  private var reached = 0
  /// The same; 0 after the last one.
  private var next: Int { reached == count ? 0 : reached }

  /// - Parameter sweep: the word that the sweep over all entries has reached.
  init(_ number: UInt64, _ bytes: UnsafeRawBufferPointer, sweep: [UInt8]) throws {
    self.number = number
    self.bytes = bytes
    guard bytes.count >= 2 * Self.width else { throw SearchBytes.damaged }
    let head = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
    let beginsInside = head & Self.beginsInside != 0
    count = Int(head & ~Self.beginsInside)
    fields = beginsInside ? 2 : 1
    first =
      beginsInside
      ? Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: Self.width, as: UInt32.self)))
      : 0
    guard count > 0, count <= bytes.count / Self.width - fields, first < count,
      end(count - 1) == bytes.count
    else { throw SearchBytes.damaged }
    if !sweep.isEmpty { reached = try sweep.withUnsafeBytes { try place(atOrAfter: $0) } }
  }

  /// Where the bytes of a word end.
  @inline(__always)
  private func end(_ place: Int) -> Int {
    let offset = Self.width * (place &+ fields)
    return Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  /// Where the bytes of the first word begin.
  private var head: Int { Self.width * (count + fields) }

  private func part(_ place: Int) throws -> UnsafeRawBufferPointer {
    let start = place == 0 ? head : end(place - 1)
    let end = end(place)
    guard start >= head, start < end, end <= bytes.count else { throw SearchBytes.damaged }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
  }

  /// How many bytes some words have.
  func size(of places: Range<Int>) throws -> Int {
    let start = places.lowerBound == 0 ? head : end(places.lowerBound - 1)
    let end = places.upperBound == 0 ? head : end(places.upperBound - 1)
    guard start >= head, start <= end, end <= bytes.count else { throw SearchBytes.damaged }
    return end - start
  }

  // MARK: Waiting

  /// Whether a word waits, and is not merged yet.
  @inline(__always)
  func waits(_ place: Int) -> Bool {
    if next == first { return true }
    return next < first ? place >= next && place < first : place >= next || place < first
  }

  /// Whether the sweep reaches some of its words before it starts over.
  var isReachedInRound: Bool { reached < count }

  /// The words that wait and that the sweep reaches in a round.
  ///
  /// - Parameter isNext: whether that is the next round; no word of it is reached in this one.
  func waiting(inNextRound isNext: Bool) -> Range<Int> {
    if isNext { return 0..<(first > 0 ? first : count) }
    return reached..<(reached < first ? first : count)
  }

  /// Whether no word waits once these are merged, which are the first ones of a round.
  func isDone(with merged: Range<Int>) -> Bool {
    !merged.isEmpty && (merged.upperBound == first || merged.upperBound == count && first == 0)
  }

  /// The words that wait, in their order: at most two ranges.
  var waiting: [Range<Int>] {
    if next == first { return [0..<count] }
    return next < first ? [next..<first] : [0..<first, next..<count]
  }

  /// How many bytes the words have that wait.
  func waitingSize() throws -> Int { try waiting.reduce(0) { try $0 + size(of: $1) } }

  func word(_ place: Int) throws -> UnsafeRawBufferPointer {
    let part = try part(place)
    let length = Int(part[0])
    guard length > 0, length <= WordRules.longestWord, length + 2 <= part.count,
      part[1] >= SearchKey.firstOfWord
    else { throw SearchBytes.damaged }
    return UnsafeRawBufferPointer(rebasing: part[1..<length + 1])
  }

  func change(_ place: Int, _ search: SearchSchema) throws -> SearchChange {
    let word = try word(place)
    let part = try part(place)
    let rest = UnsafeRawBufferPointer(rebasing: part[(word.count + 2)...])
    let state = part[word.count + 1]
    if state == Self.isGone {
      guard rest.isEmpty else { throw SearchBytes.damaged }
      return SearchChange(word: word, number: number, was: true, posting: nil)
    }
    guard state == Self.isNew || state == Self.isChanged else { throw SearchBytes.damaged }
    // It is put between the postings of a block, so it must end where it says.
    var posting = SearchBytes(rest)
    _ = try posting.skipPosting(search)
    guard posting.isAtEnd else { throw SearchBytes.damaged }
    return SearchChange(
      word: word, number: number, was: state == Self.isChanged, posting: rest)
  }

  /// The place of the first word that does not come before this one.
  func place(atOrAfter word: UnsafeRawBufferPointer) throws -> Int {
    try (0..<count).placeAfter { compareBytes(try self.word($0), word) < 0 }
  }

  /// Whether the words are in order, and each once.
  func isInOrder() throws -> Bool {
    for place in 1..<max(1, count)
    where compareBytes(try word(place - 1), try word(place)) >= 0 { return false }
    return true
  }

  // MARK: Writing

  /// Writes the bytes of an entry; at least one change.
  ///
  /// - Parameter sweep: the word that the sweep over all entries has reached.
  /// - Returns: how many bytes the words have, which all wait.
  static func write(
    _ changes: [SearchChange], sweep: [UInt8], to bytes: inout ByteBuffer
  ) -> Int {
    let first = sweep.withUnsafeBytes { sweep in
      changes.firstIndex { compareBytes($0.word, sweep) >= 0 } ?? 0
    }
    bytes.removeAll()
    append(changes.count | (first > 0 ? Int(beginsInside) : 0), to: &bytes)
    if first > 0 { append(first, to: &bytes) }
    let head = width * (changes.count + (first > 0 ? 2 : 1))
    var end = head
    for change in changes {
      end += 2 + change.word.count + (change.posting?.count ?? 0)
      append(end, to: &bytes)
    }
    for change in changes {
      bytes.append(UInt8(truncatingIfNeeded: change.word.count))
      bytes.append(change.word)
      bytes.append(change.posting == nil ? isGone : change.was ? isChanged : isNew)
      if let posting = change.posting { bytes.append(posting) }
    }
    return end - head
  }

  private static func append(_ number: Int, to bytes: inout ByteBuffer) {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).littleEndian) { bytes.append($0) }
  }

  /// The changes of this entry that wait, with later ones over them, in order. What is again as in the blocks is left
  /// out.
  func merged(with later: [SearchChange], _ search: SearchSchema) throws -> [SearchChange] {
    var all: [SearchChange] = []
    all.reserveCapacity(count + later.count)
    let waiting = waiting.joined()
    var place = waiting.startIndex
    for change in later {
      var was = change.was
      while place < waiting.endIndex {
        let order = compareBytes(try word(waiting[place]), change.word)
        if order > 0 { break }
        let known = try self.change(waiting[place], search)
        waiting.formIndex(after: &place)
        if order == 0 { was = known.was } else { all.append(known) }
      }
      guard was || change.posting != nil else { continue }
      all.append(
        SearchChange(word: change.word, number: number, was: was, posting: change.posting))
    }
    while place < waiting.endIndex {
      all.append(try change(waiting[place], search))
      waiting.formIndex(after: &place)
    }
    return all
  }
}
