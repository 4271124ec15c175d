/// Some words in a row of all pending entries: what one save merges into blocks when too much waits.
///
/// The next piece starts where this one ends, and after the last word it starts over: so a sweep over the alphabet
/// merges all words of an entry, and a word is merged for all waiting records together.
struct PendingPiece {
  /// The places of the words in each entry.
  private(set) var places: [Range<Int>]
  /// The first word after the piece, which the sweep has reached then; empty after the last word.
  private(set) var end: [UInt8] = []

  /// - Parameters:
  ///   - entries: at least one.
  ///   - wanted: how many bytes the words have at most, unless there is one of each entry.
  init(of entries: [PendingEntry], size wanted: Int) throws {
    let startsOver = !entries.contains(where: \.isReachedInRound)
    places = entries.map { $0.waiting(inNextRound: startsOver) }
    while true {
      let size = try zip(entries, places).reduce(0) { try $0 + $1.0.size(of: $1.1) }
      // The entry with most words in the piece says where it is cut.
      let guide = places.indices.max { places[$0].count < places[$1].count } ?? 0
      let count = places[guide].count
      if size <= wanted || count <= 1 { return }
      let rest = max(1, min(count - 1, count * wanted / size))
      let word = try entries[guide].word(places[guide].lowerBound + rest)
      end = [UInt8](word)
      places = try zip(entries, places).map { entry, places in
        let last = min(places.upperBound, try entry.place(atOrAfter: word))
        return places.lowerBound..<max(places.lowerBound, last)
      }
      // Only the words of a damaged entry are not in order.
      guard places[guide].count < count else { throw SearchBytes.damaged }
    }
  }

  /// The changes of the piece, in the order of words and records.
  func changes(of entries: [PendingEntry], _ search: SearchSchema) throws -> [SearchChange] {
    var changes: [SearchChange] = []
    for (entry, places) in zip(entries, places) {
      for place in places { changes.append(try entry.change(place, search)) }
    }
    changes.sort { $0.precedes($1.word, $1.number) }
    return changes
  }
}
