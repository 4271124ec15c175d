/// The records that a search finds, the best match first, or last.
///
/// They are scored from the index alone. The first ones are found in one pass, since most want a page; the others come
/// one by one out of a heap, so that only those are put into order, and tested by other conditions, that come before
/// the last wanted row.
final class RankedRows: RowSource {
  private let scores: SearchScores
  private let reader: RowReader
  private let descends: Bool
  private let idsDescend: Bool
  private let after: PageToken?
  /// Whether the first rows are all that anybody wants, and are the best.
  private let findsBest: Bool

  /// The number of rows that are found first.
  private var page = 64

  private enum Mode { case start, rows, end }
  @exclusivity(unchecked) private var mode = Mode.start
  /// The first rows: a number that is least for the first score, and the number of the record.
  @exclusivity(unchecked) private var front = TopNumbers(limit: 0)
  /// The rows after them, once they are wanted.
  @exclusivity(unchecked) private var others: [UInt128] = []
  /// Whether there are rows that are in neither of these.
  @exclusivity(unchecked) private var hasOthers = false
  /// Rows with equal scores whose numbers do not have the order of their ids, the last one first.
  @exclusivity(unchecked) private var equal: [[UInt8]] = []
  @exclusivity(unchecked) private var idBuffer = ByteBuffer()
  @exclusivity(unchecked) private var tree: SearchTree?
  @exclusivity(unchecked) private var examined = 0

  init(
    _ scores: SearchScores, descends: Bool, idsDescend: Bool, after: PageToken?, limit: Int?,
    _ reader: RowReader
  ) {
    self.scores = scores
    self.descends = descends
    self.idsDescend = idsDescend
    self.after = after
    self.reader = reader
    // Where ids are compared, all rows with the score of the last wanted one are needed.
    if let limit, limit < page, after == nil, !reader.isFiltering,
      reader.collection.stored.idKind.width == 8
    {
      findsBest = descends
      // One more than are wanted, so that nothing looks for the others when the last of them is taken.
      page = limit + 1
    } else {
      findsBest = false
    }
  }

  override func next() throws -> Bool {
    if mode == .start { try begin() }
    guard mode == .rows else { return false }
    while try takeID() { if try passesResidue(reader) { return true } }
    mode = .end
    return false
  }

  private func begin() throws {
    mode = .rows
    front = TopNumbers(limit: page)
    if try !findBest() {
      let found = try scores.all()
      tree = found.tree
      examined = found.entriesExamined
      for place in found.numbers.indices {
        add(found.scores[place], found.numbers[place], found.tree)
      }
      hasOthers = found.numbers.count > page
    }
    front.finish()
    if let after { try skip(to: after) }
  }

  /// Finds the first rows without looking at all others, where nobody wants more of them; false if that is not possible.
  private func findBest() throws -> Bool {
    guard findsBest else { return false }
    let best = try scores.forEachOfBest(
      least: {
        front.bound == .max ? 0 : ComparableNumber.floatingPoint(front.bound ^ .max)
      },
      { add($0, $1, $2) })
    guard let best else { return false }
    tree = best.tree
    examined = best.entriesExamined
    hasOthers = best.count > page
    // A page token has the score of its row.
    scores.best = (best.tree, [:])
    for row in front.rows {
      let number = UInt64(truncatingIfNeeded: row)
      scores.best?.scores[idsDescend ? ~number : number] = ComparableNumber.floatingPoint(
        UInt64(truncatingIfNeeded: row >> 64) ^ .max)
    }
    return true
  }

  @inline(__always)
  private func add(_ score: Double, _ number: UInt64, _ tree: SearchTree) {
    let score = key(of: score)
    if score <= front.bound { front.add(row(score, number, tree)) }
  }

  /// A number that is least for the first score.
  @inline(__always)
  private func key(of score: Double) -> UInt64 {
    ComparableNumber.of(score) ^ (descends ? .max : 0)
  }

  @inline(__always)
  private func row(_ score: UInt64, _ number: UInt64, _ tree: SearchTree) -> UInt128 {
    UInt128(score) << 64 | UInt128(idsDescend && !tree.isNumbered ? ~number : number)
  }

  /// Removes the rows up to the one of a token.
  private func skip(to token: PageToken) throws {
    guard token.values.count == 1, token.values[0].count == 1,
      let value = ComparableNumber.of(token.values[0][0], as: .double)
    else { throw SortedRows.foreignToken }
    let last = value ^ (descends ? .max : 0)
    while true {
      if equal.isEmpty {
        guard let row = first else { return }
        let score = UInt64(truncatingIfNeeded: row >> 64)
        if score > last { return }
        if score < last {
          _ = try removeFirst()
          continue
        }
      }
      guard try takeID() else { return }
      let order = token.id.withUnsafeBytes { compareBytes(id, $0) }
      if idsDescend ? order < 0 : order > 0 { return equal.append([UInt8](id)) }
    }
  }

  /// Takes the id of the next row.
  private func takeID() throws -> Bool {
    if let next = equal.popLast() {
      take(next)
      return true
    }
    guard let tree, first != nil else { return false }
    let row = try removeFirst()
    let number = UInt64(truncatingIfNeeded: row)
    if !tree.isNumbered {
      idBuffer.removeAll()
      idBuffer.append(bigEndian: idsDescend ? ~number : number)
      id = idBuffer.bytes
      return true
    }
    guard let second = first, second >> 64 == row >> 64 else {
      take(try tree.withID(of: number) { [UInt8]($0) })
      return true
    }
    // Numbers are given in the order of saving: the ids of all rows with this score are compared.
    equal.append(try tree.withID(of: number) { [UInt8]($0) })
    while let other = first, other >> 64 == row >> 64 {
      equal.append(
        try tree.withID(of: UInt64(truncatingIfNeeded: try removeFirst())) { [UInt8]($0) })
    }
    if idsDescend {
      equal.sort { $0.lexicographicallyPrecedes($1) }
    } else {
      equal.sort { $1.lexicographicallyPrecedes($0) }
    }
    take(equal.removeLast())
    return true
  }

  private func take(_ bytes: [UInt8]) {
    idBuffer.removeAll()
    bytes.withUnsafeBytes { idBuffer.append($0) }
    id = idBuffer.bytes
  }

  private var first: UInt128? { front.first ?? others.first }

  private func removeFirst() throws -> UInt128 {
    if let row = front.next() {
      if front.first == nil, hasOthers { try findOthers(after: row) }
      return row
    }
    let row = others[0]
    others[0] = others[others.count - 1]
    others.removeLast()
    others.siftDown(<)
    return row
  }

  private func findOthers(after last: UInt128) throws {
    let found = try scores.all()
    // Of a damaged file, fewer may be found than its blocks say.
    others.reserveCapacity(max(0, found.numbers.count - page))
    for place in found.numbers.indices {
      let row = row(key(of: found.scores[place]), found.numbers[place], found.tree)
      if row > last { others.append(row) }
    }
    others.makeHeap(<)
    hasOthers = false
  }

  override func close() {
    mode = .end
    front = TopNumbers(limit: 0)
    others = []
    hasOthers = false
    equal = []
  }

  override var entriesExamined: Int { examined }
}

extension Plan {
  /// The scores by which its rows come in order, if the search that finds them is the one that scores them.
  func scoresInOrder(_ terms: [OrderTerm], _ typed: TypedAccess) -> SearchScores? {
    guard terms.count == 1, terms[0].field.weights != nil, let relevance,
      case .search(let scan) = source, scan.filter === relevance.scan.filter
    else { return nil }
    return typed.scores
  }
}
