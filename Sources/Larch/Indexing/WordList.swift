internal import Foundation

/// The words of one record in one search, each once and in order, with their postings.
///
/// It is used again for each record, and then allocates nothing.
struct WordList: ~Copyable {
  private struct Occurrence {
    /// The first eight bytes of the word, which decide nearly every comparison.
    var head: UInt64
    var offset: Int
    var length: Int
    var field: UInt32
    var place: UInt32
  }

  struct Item {
    fileprivate var word: Int
    fileprivate var wordLength: Int
    fileprivate var posting: Int
    fileprivate var postingLength: Int
  }

  private var words = ByteBuffer(capacity: 0)
  private var occurrences: [Occurrence] = []
  private var postings = ByteBuffer(capacity: 0)
  /// The number of words of each field.
  private var lengths: [UInt64] = []
  /// The place of the next word of the field.
  private var place: UInt32 = 0
  private var field = 0
  /// The words in order; the first one has no bytes, and the lengths as its posting.
  private(set) var items: [Item] = []

  func word(_ item: Item) -> UnsafeRawBufferPointer {
    words.bytes(at: item.word, count: item.wordLength)
  }

  func posting(_ item: Item) -> UnsafeRawBufferPointer {
    postings.bytes(at: item.posting, count: item.postingLength)
  }

  /// Removes all words. Such a list stands for no record.
  mutating func removeAll() {
    words.removeAll()
    occurrences.removeAll(keepingCapacity: true)
    postings.removeAll()
    lengths.removeAll(keepingCapacity: true)
    items.removeAll(keepingCapacity: true)
  }

  /// Begins the texts of a field; the fields come in order.
  mutating func begin(field: Int) {
    self.field = field
    place = 0
    while lengths.count <= field { lengths.append(0) }
  }

  /// Adds the words of a text of the field; false if its bytes are not UTF-8.
  mutating func add(_ text: UnsafeRawBufferPointer, _ cutter: inout WordCutter) -> Bool {
    cutter.begin()
    while cutter.next(in: text) {
      let word = cutter.bytes
      occurrences.append(
        Occurrence(
          head: ByteHead.first(of: word), offset: words.count, length: word.count,
          field: UInt32(field), place: place))
      words.append(word)
      place &+= 1
      lengths[field] += 1
    }
    // No phrase reaches from one text into the next.
    place &+= 1
    return cutter.isValid
  }

  /// Puts the words in order, and makes their postings.
  mutating func finish(_ search: SearchSchema) {
    while lengths.count < search.fields.count { lengths.append(0) }
    let base = words.base
    occurrences.sort { a, b in
      if a.head != b.head { return a.head < b.head }
      let order = WordList.compare(base, a, b)
      if order != 0 { return order < 0 }
      return a.field != b.field ? a.field < b.field : a.place < b.place
    }
    for length in lengths { SearchPosting.append(length, to: &postings) }
    items.append(Item(word: 0, wordLength: 0, posting: 0, postingLength: postings.count))
    var start = 0
    while start < occurrences.count {
      let first = occurrences[start]
      var end = start + 1
      var mask: UInt64 = 1 << UInt64(first.field)
      while end < occurrences.count, occurrences[end].head == first.head,
        WordList.compare(base, first, occurrences[end]) == 0
      {
        mask |= 1 << UInt64(occurrences[end].field)
        end += 1
      }
      let from = postings.count
      if search.fields.count > 1 { SearchPosting.append(mask, to: &postings) }
      var place = start
      while place < end {
        var next = place + 1
        while next < end, occurrences[next].field == occurrences[place].field { next += 1 }
        SearchPosting.append(count: next - place, to: &postings) { occurrences[place + $0].place }
        place = next
      }
      items.append(
        Item(
          word: first.offset, wordLength: first.length, posting: from,
          postingLength: postings.count - from))
      start = end
    }
  }

  /// The order of two words whose heads are equal. No word contains a zero, so short ones are equal.
  @inline(__always)
  private static func compare(
    _ base: UnsafeMutableRawPointer, _ a: Occurrence, _ b: Occurrence
  ) -> Int {
    if a.length <= 8, b.length <= 8 { return 0 }
    let order = memcmp(base + a.offset, base + b.offset, min(a.length, b.length))
    return order != 0 ? Int(order) : a.length - b.length
  }

  /// How often a phrase stands in each field, with the places that a posting does not keep. Call it after
  /// `finish`.
  func count(of phrase: TextQuery.Phrase, _ search: SearchSchema) -> [Int] {
    /// Where the phrase may begin: the field, and the place in it.
    var starts: Set<UInt64> = []
    for (distance, wanted) in phrase.words.enumerated() {
      var next: Set<UInt64> = []
      for occurrence in occurrences where Int(occurrence.place) >= distance {
        let word = words.bytes(at: occurrence.offset, count: occurrence.length)
        guard wanted.matches(word) else { continue }
        let start = UInt64(occurrence.field) << 32 | UInt64(Int(occurrence.place) - distance)
        if distance == 0 || starts.contains(start) { next.insert(start) }
      }
      starts = next
    }
    var counts = [Int](repeating: 0, count: search.fields.count)
    for start in starts { counts[Int(start >> 32)] += 1 }
    return counts
  }

  /// Adds a posting that was found in the index, in place of a record that cannot be read.
  mutating func add(
    found word: UnsafeRawBufferPointer, _ posting: UnsafeRawBufferPointer
  ) {
    items.append(
      Item(
        word: words.count, wordLength: word.count, posting: postings.count,
        postingLength: posting.count))
    words.append(word)
    postings.append(posting)
  }

  /// Visits the postings of `old` that `new` does not have, and those of `new` that `old` does not have.
  static func difference(
    old: borrowing WordList, new: borrowing WordList,
    removed: (_ word: UnsafeRawBufferPointer, _ posting: UnsafeRawBufferPointer) -> Void,
    added: (_ word: UnsafeRawBufferPointer, _ posting: UnsafeRawBufferPointer) -> Void
  ) {
    var left = 0
    var right = 0
    while left < old.items.count || right < new.items.count {
      let order: Int
      if left == old.items.count {
        order = 1
      } else if right == new.items.count {
        order = -1
      } else {
        order = Int(compareBytes(old.word(old.items[left]), new.word(new.items[right])))
      }
      let isSame =
        order == 0 && old.posting(old.items[left]).equals(new.posting(new.items[right]))
      if order <= 0 {
        if !isSame { removed(old.word(old.items[left]), old.posting(old.items[left])) }
        left += 1
      }
      if order >= 0 {
        if !isSame { added(new.word(new.items[right]), new.posting(new.items[right])) }
        right += 1
      }
    }
  }
}
