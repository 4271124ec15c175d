/// The order of a join by fields of either side, as bytes.
///
/// Rows that are equal in all of them come in the order of the left, then of the right.
final class JoinOrder {
  private struct Term {
    let isLeft: Bool
    let key: SortKey
    /// Whether a row may be without that side, or the field may be nil.
    let isOptional: Bool
    let descends: Bool
  }

  private let terms: [Term]

  init(_ order: [JoinOrderTerm], _ sides: JoinSides, _ context: TransactionContext) {
    terms = order.map { term in
      Term(
        isLeft: term.isLeft,
        key: sides.sortKey([term.term], idsDescend: false, isLeft: term.isLeft, context),
        isOptional: term.term.field.form.isOptional, descends: term.term.descends)
    }
  }

  /// Appends the place of a row.
  func append(_ row: JoinRow, to key: inout ByteBuffer) throws {
    for term in terms {
      let record = term.isLeft ? row.left : row.right
      let id = term.isLeft ? row.leftID : row.rightID
      let turned: UInt8 = term.descends ? 0xFF : 0
      guard let record else {
        key.append(turned)
        continue
      }
      if !term.isOptional { key.append(turned ^ 1) }
      try term.key.write(record: record, id: id)
      key.append(UnsafeRawBufferPointer(rebasing: term.key.bytes[0..<term.key.countBeforeID]))
    }
  }
}

extension JoinSides {
  /// The order of the records of one side.
  func sortKey(
    _ order: [OrderTerm], idsDescend: Bool, isLeft: Bool, _ context: TransactionContext
  ) -> SortKey {
    SortKey(
      order, idsDescend: idsDescend, idKind: (isLeft ? left : right).stored.idKind, index: nil,
      context: context, typed: isLeft ? leftTyped : rightTyped)
  }
}

/// Writes the place of each row of a join among all of them, as bytes.
///
/// Unlike the keys of a `JoinSorter`, they do not depend on the order in which rows are found.
final class JoinPlaces {
  private let order: JoinOrder
  private let left: SortKey
  private let right: SortKey
  @exclusivity(unchecked) private var key = ByteBuffer()

  init(_ join: JoinDescription, _ sides: JoinSides, _ context: TransactionContext) {
    order = JoinOrder(join.order, sides, context)
    left = sides.sortKey(
      join.left.order, idsDescend: join.left.idsDescend, isLeft: true, context)
    right = sides.sortKey(
      join.right.order, idsDescend: join.right.idsDescend, isLeft: false, context)
  }

  /// The place of a row with a left record; valid until the next call.
  func place(of row: JoinRow) throws -> UnsafeRawBufferPointer {
    key.removeAll()
    try order.append(row, to: &key)
    if let record = row.left {
      try left.write(record: record, id: row.leftID)
      key.append(terminated: left.bytes)
    }
    if let record = row.right {
      try right.write(record: record, id: row.rightID)
      key.append(right.bytes)
    }
    return key.bytes
  }
}
