/// The rows of a query with their places, in its order, and how a changed record moves them.
struct KeptRows<Row> {
  /// Also those beyond the limit.
  var rows: [Row] = []
  var places: [RowPlace] = []
  /// Of the records, if rows are compared by them; else none.
  var hashes: [Int] = []
  /// By id, if the bytes of a record do not tell its place.
  var placesByID: [[UInt8]: RowPlace] = [:]
  /// Whether there may be records after the last row.
  var hasMore = false

  /// Where a row with this place is kept; nil if there is none.
  func keptPlace(_ place: RowPlace) -> Int? {
    let found = places.firstPlace(notBefore: place)
    return found < places.count && places[found] == place ? found : nil
  }
}

/// What a changed record does to the rows: where it was and where it is, if it passes the filter.
struct RowStep<Row> {
  var old: RowPlace?
  var new: RowPlace?
  var row: Row?
  var hash = 0
  /// Empty if places are not kept by id.
  var id: [UInt8] = []
}

/// What is the same for all rows of a request.
struct RowForm<Row>: Sendable {
  let limit: Int?
  let comparison: ValueComparison<[Row]>
  /// Whether places are those of related records.
  let hasRelatedOrder: Bool

  var isHashed: Bool { if case .stored = comparison { true } else { false } }
  var leastReserve: Int { max(PatchLimits.reserve, (limit ?? 0) / 4) }

  func shown(_ rows: [Row]) -> [Row] {
    guard let limit, rows.count > limit else { return rows }
    return Array(rows[..<limit])
  }

  func areSame(_ a: [Row], _ b: [Row]) -> Bool { comparison.isSame(.value(a), .value(b)) }

  /// Whether the rows within the limit are the same.
  func areSame(_ a: KeptRows<Row>, _ b: KeptRows<Row>) -> Bool {
    if !isHashed { return areSame(shown(a.rows), shown(b.rows)) }
    guard let limit else { return a.hashes == b.hashes }
    return a.hashes.prefix(limit) == b.hashes.prefix(limit)
  }
}

extension KeptRows {
  enum Change {
    /// Whether the rows within the limit are others.
    case rows(areChanged: Bool)
    /// Rows must be read again; whether it is because those beyond the limit have run out.
    case unknown(hasRunOut: Bool)
  }

  /// - Parameter reserve: how many rows beyond the limit the last read asked for.
  mutating func apply(_ steps: [RowStep<Row>], _ form: RowForm<Row>, reserve: Int) -> Change {
    // Rows that are compared by their values may look the same after some have changed places.
    // With a limit, one of two equal values may be among the first rows and the other after them.
    let isMoving = !form.isHashed && (form.limit != nil || steps.contains { $0.old != $0.new })
    let before = isMoving ? rows : []
    // So may those whose places are of related records.
    let order = form.hasRelatedOrder && form.isHashed ? hashes : []
    var touched = Touched()
    var isChanged = false
    for step in steps {
      switch move(step, form, reserve, &touched) {
      case .unknown: return .unknown(hasRunOut: false)
      case .none: break
      case .moved: isChanged = true
      }
    }
    if let limit = form.limit {
      if hasMore, rows.count < limit { return .unknown(hasRunOut: true) }
      if touched.first >= limit { isChanged = false }
    }
    func shownCount(_ count: Int) -> Int { min(count, form.limit ?? .max) }
    if isChanged, isMoving, shownCount(before.count) == shownCount(rows.count) {
      // After an insertion or a deletion, all later rows have other places.
      let shown = shownCount(rows.count)
      let last =
        before.count == rows.count ? min(shown, touched.last + 1 + 3 * steps.count) : shown
      let part = min(touched.first, last)..<last
      isChanged = !form.areSame(Array(before[part]), Array(rows[part]))
    }
    if form.isHashed, form.hasRelatedOrder { isChanged = order != hashes }
    return .rows(areChanged: isChanged)
  }

  /// The first and the last place that changes have touched.
  private struct Touched {
    var first = Int.max
    var last = 0

    mutating func add(_ place: Int) { (first, last) = (min(first, place), max(last, place)) }
  }

  private enum Move {
    case moved
    /// No row is another one.
    case none
    case unknown
  }

  private mutating func move(
    _ step: RowStep<Row>, _ form: RowForm<Row>, _ reserve: Int, _ touched: inout Touched
  ) -> Move {
    var taken: Int?
    if let old = step.old {
      taken = keptPlace(old)
      // It may be one of those that are not kept.
      if taken == nil, !hasMore || places.firstPlace(notBefore: old) < places.count {
        return .unknown
      }
    }
    if form.hasRelatedOrder { placesByID[step.id] = step.new }
    guard let new = step.new, let row = step.row else {
      guard let taken else { return .none }
      remove(taken, form, &touched)
      return .moved
    }
    if let taken, step.old == new {
      let isSame = !form.isHashed && form.areSame([rows[taken]], [row])
      // Two values may be equal and still not the same, as 0.0 and -0.0.
      if !isSame || !hasBytes(of: row, at: taken) { rows[taken] = row }
      if form.isHashed { hashes[taken] = step.hash }
      touched.add(taken)
      return isSame ? .none : .moved
    }
    if let taken { remove(taken, form, &touched) }
    let target = places.firstPlace(notBefore: new)
    // Records that are not kept may come before it.
    if hasMore, target == places.count { return taken == nil ? .none : .moved }
    touched.add(target)
    rows.insert(row, at: target)
    places.insert(new, at: target)
    if form.isHashed { hashes.insert(step.hash, at: target) }
    // The limit may be the greatest number.
    if let limit = form.limit, rows.count - limit > max(reserve, form.leastReserve) {
      remove(rows.count - 1, form, &touched)
      hasMore = true
    }
    return .moved
  }

  private func hasBytes(of row: Row, at place: Int) -> Bool {
    rows.withUnsafeBufferPointer { rows in
      withUnsafePointer(to: row) { row in
        compareBytes(
          UnsafeRawBufferPointer(start: row, count: MemoryLayout<Row>.size),
          UnsafeRawBufferPointer(
            start: rows.baseAddress.map { $0 + place }, count: MemoryLayout<Row>.size)) == 0
      }
    }
  }

  private mutating func remove(_ place: Int, _ form: RowForm<Row>, _ touched: inout Touched) {
    touched.add(place)
    rows.remove(at: place)
    places.remove(at: place)
    if form.isHashed { hashes.remove(at: place) }
  }
}
