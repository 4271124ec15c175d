/// The records that a search finds, the best match first, or last.
///
/// All of them are scored, from the index alone. Then they come one by one out of a heap, so that only those are
/// put into order, and tested by other conditions, that come before the last wanted row.
final class RankedRows: RowSource {
  private let scores: SearchScores
  private let reader: RowReader
  private let descends: Bool
  private let idsDescend: Bool
  private let after: PageToken?

  private enum Mode { case start, rows, end }
  @exclusivity(unchecked) private var mode = Mode.start
  /// The rows that are left: a number that is least for the first score, and the number of the record.
  @exclusivity(unchecked) private var heap: [UInt128] = []
  /// Rows with equal scores whose numbers do not have the order of their ids, the last one first.
  @exclusivity(unchecked) private var equal: [[UInt8]] = []
  @exclusivity(unchecked) private var idBuffer = ByteBuffer()
  @exclusivity(unchecked) private var tree: SearchTree?
  @exclusivity(unchecked) private var examined = 0

  init(
    _ scores: SearchScores, descends: Bool, idsDescend: Bool, after: PageToken?,
    _ reader: RowReader
  ) {
    self.scores = scores
    self.descends = descends
    self.idsDescend = idsDescend
    self.after = after
    self.reader = reader
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
    let found = try scores.all()
    tree = found.tree
    examined = found.entriesExamined
    let flip: UInt64 = descends ? .max : 0
    let turnsNumbers = idsDescend && !found.tree.isNumbered
    heap.reserveCapacity(found.numbers.count)
    for (place, number) in found.numbers.enumerated() {
      let score = ComparableNumber.of(found.scores[place]) ^ flip
      heap.append(UInt128(score) << 64 | UInt128(turnsNumbers ? ~number : number))
    }
    heap.makeHeap(<)
    if let after { try skip(to: after) }
  }

  /// Removes the rows up to the one of a token.
  private func skip(to token: PageToken) throws {
    guard token.values.count == 1, token.values[0].count == 1,
      let value = ComparableNumber.of(token.values[0][0], as: .double)
    else { throw SortedRows.foreignToken }
    let last = value ^ (descends ? .max : 0)
    while true {
      if equal.isEmpty {
        guard let row = heap.first else { return }
        let score = UInt64(truncatingIfNeeded: row >> 64)
        if score > last { return }
        if score < last {
          _ = removeFirst()
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
    guard let tree, !heap.isEmpty else { return false }
    let row = removeFirst()
    let number = UInt64(truncatingIfNeeded: row)
    if !tree.isNumbered {
      idBuffer.removeAll()
      idBuffer.append(bigEndian: idsDescend ? ~number : number)
      id = idBuffer.bytes
      return true
    }
    guard let second = heap.first, second >> 64 == row >> 64 else {
      take(try tree.withID(of: number) { [UInt8]($0) })
      return true
    }
    // Numbers are given in the order of saving: the ids of all rows with this score are compared.
    equal.append(try tree.withID(of: number) { [UInt8]($0) })
    while let other = heap.first, other >> 64 == row >> 64 {
      equal.append(
        try tree.withID(of: UInt64(truncatingIfNeeded: removeFirst())) { [UInt8]($0) })
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

  private func removeFirst() -> UInt128 {
    let first = heap[0]
    heap[0] = heap[heap.count - 1]
    heap.removeLast()
    heap.siftDown(<)
    return first
  }

  override func close() {
    mode = .end
    heap = []
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
