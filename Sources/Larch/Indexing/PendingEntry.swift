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

/// The words that one record has changed since the blocks were written, as stored under `SearchKey.pending`.
///
/// The bytes are the number of words, then the end of each, then the words in order: one byte with the length, the
/// word, what the blocks have and what counts, and the posting. So one word is found by a few comparisons, however
/// long the text. Every step is checked: the bytes come from a file.
struct PendingEntry {
  private static let isGone: UInt8 = 0
  private static let isNew: UInt8 = 1
  private static let isChanged: UInt8 = 2
  /// The size of a number in front of the words.
  private static let width = 4

  let number: UInt64
  let count: Int
  private let bytes: UnsafeRawBufferPointer

  var size: Int { bytes.count }

  init(_ number: UInt64, _ bytes: UnsafeRawBufferPointer) throws {
    self.number = number
    self.bytes = bytes
    guard bytes.count >= Self.width else { throw SearchBytes.damaged }
    count = Int(UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
    guard count > 0, count <= bytes.count / Self.width - 1, end(count - 1) == bytes.count else {
      throw SearchBytes.damaged
    }
  }

  /// Where the bytes of a word end.
  @inline(__always)
  private func end(_ place: Int) -> Int {
    let offset = Self.width * (place &+ 1)
    return Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  private func part(_ place: Int) throws -> UnsafeRawBufferPointer {
    let start = place == 0 ? Self.width * (count + 1) : end(place - 1)
    let end = end(place)
    guard start >= Self.width * (count + 1), start < end, end <= bytes.count else {
      throw SearchBytes.damaged
    }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
  }

  /// Where the bytes of some words are.
  private func range(of places: Range<Int>) throws -> Range<Int> {
    let head = Self.width * (count + 1)
    let start = places.lowerBound == 0 ? head : end(places.lowerBound - 1)
    let end = places.upperBound == 0 ? head : end(places.upperBound - 1)
    guard start >= head, start <= end, end <= bytes.count else { throw SearchBytes.damaged }
    return start..<end
  }

  /// How many bytes some words have.
  func size(of places: Range<Int>) throws -> Int { try range(of: places).count }

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
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if compareBytes(try self.word(middle), word) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Whether the words are in order, and each once.
  func isInOrder() throws -> Bool {
    for place in 1..<max(1, count)
    where compareBytes(try word(place - 1), try word(place)) >= 0 { return false }
    return true
  }

  // MARK: Writing

  /// Writes the bytes of an entry; at least one change.
  static func write(_ changes: [SearchChange], to bytes: inout ByteBuffer) {
    bytes.removeAll()
    append(changes.count, to: &bytes)
    var end = width * (changes.count + 1)
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
  }

  /// Writes the bytes of the entry without some of its words, but not without all.
  func write(without places: Range<Int>, to bytes: inout ByteBuffer) throws {
    let head = Self.width * (count + 1)
    let cut = try range(of: places)
    bytes.removeAll()
    Self.append(count - places.count, to: &bytes)
    var last = head
    for place in 0..<count {
      let end = end(place)
      guard end > last else { throw SearchBytes.damaged }
      last = end
      if places.contains(place) { continue }
      let isBehind = place >= places.upperBound
      Self.append(end - Self.width * places.count - (isBehind ? cut.count : 0), to: &bytes)
    }
    bytes.append(UnsafeRawBufferPointer(rebasing: self.bytes[head..<cut.lowerBound]))
    bytes.append(UnsafeRawBufferPointer(rebasing: self.bytes[cut.upperBound...]))
  }

  private static func append(_ number: Int, to bytes: inout ByteBuffer) {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).littleEndian) { bytes.append($0) }
  }

  /// The changes of this entry with later ones over them, in order. What is again as in the blocks is left out.
  func merged(with later: [SearchChange], _ search: SearchSchema) throws -> [SearchChange] {
    var all: [SearchChange] = []
    all.reserveCapacity(count + later.count)
    var place = 0
    for change in later {
      var was = change.was
      while place < count {
        let order = compareBytes(try word(place), change.word)
        if order > 0 { break }
        let known = try self.change(place, search)
        place += 1
        if order == 0 { was = known.was } else { all.append(known) }
      }
      guard was || change.posting != nil else { continue }
      all.append(
        SearchChange(word: change.word, number: number, was: was, posting: change.posting))
    }
    while place < count {
      all.append(try change(place, search))
      place += 1
    }
    return all
  }
}
