/// Sorts the rows of a join by fields of either side.
///
/// Equal rows stay in the order of the left, then of the right; rows without a left record come
/// last. If the left side is the outer one, they already come in this order.
final class JoinSorter {
  private let order: JoinOrder
  /// The position of a left record, if rows do not come in that order.
  private let leftKey: SortKey?
  private let top: TopRows?
  private let rows: RowSorter?
  @exclusivity(unchecked) private var key = ByteBuffer()
  @exclusivity(unchecked) private var payload = ByteBuffer()
  private var number: UInt64 = 0

  init(
    _ plan: JoinPlan, _ sides: JoinSides, limit: Int?, _ settings: SortSettings,
    _ context: TransactionContext
  ) {
    order = JoinOrder(plan.order, sides, context)
    leftKey =
      plan.isLeftOuter
      ? nil
      : sides.sortKey(
        plan.join.left.order, idsDescend: plan.join.left.idsDescend, isLeft: true, context)
    if let limit, limit <= settings.budget / 256 {
      top = TopRows(limit: limit)
      rows = nil
    } else {
      top = nil
      rows = RowSorter(settings)
    }
  }

  func add(_ row: JoinRow) throws {
    key.removeAll()
    try order.append(row, to: &key)
    if let leftKey, let left = row.left {
      try leftKey.write(record: left, id: row.leftID)
      key.append(terminated: leftKey.bytes)
    }
    key.append(bigEndian: number)
    number += 1
    setPayload(row)
    if let top {
      top.add(key: key.bytes, idStart: key.count, payload: payload.bytes)
    } else {
      try rows?.add(key: key.bytes, idStart: key.count, payload: payload.bytes)
    }
  }

  /// The addresses of the records, which stay in the map during the run, and copies of the ids,
  /// which may not.
  private func setPayload(_ row: JoinRow) {
    payload.removeAll()
    for record in [row.left, row.right] {
      payload.append(bigEndian: record.map { UInt64(UInt(bitPattern: $0.baseAddress)) } ?? 0)
      payload.append(bigEndian: UInt64(record?.count ?? 0))
    }
    payload.append(bigEndian: UInt64(row.leftID.count))
    payload.append(row.leftID)
    payload.append(row.rightID)
  }

  func finish() throws {
    top?.finish()
    try rows?.finish()
  }

  func next() throws -> JoinRow? {
    guard let found = try top?.next() ?? rows?.next() else { return nil }
    let bytes = found.payload
    func word(_ place: Int) -> Int {
      Int(
        truncatingIfNeeded: UInt64(
          bigEndian: bytes.loadUnaligned(fromByteOffset: place * 8, as: UInt64.self)))
    }
    func record(_ place: Int) -> UnsafeRawBufferPointer? {
      UnsafeRawPointer(bitPattern: word(place)).map {
        UnsafeRawBufferPointer(start: $0, count: word(place + 1))
      }
    }
    let ids = UnsafeRawBufferPointer(rebasing: bytes[40...])
    return JoinRow(
      left: record(0), leftID: UnsafeRawBufferPointer(rebasing: ids[0..<word(4)]),
      right: record(2), rightID: UnsafeRawBufferPointer(rebasing: ids[word(4)...]))
  }

  var spilledBytes: Int { rows?.spilledBytes ?? 0 }
}
