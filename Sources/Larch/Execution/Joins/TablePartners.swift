/// Partners from a table of the whole inner side, which is read once.
final class TablePartners: JoinPartners {
  private struct Row {
    var idStart: Int
    var idCount: Int
    var record: UnsafeRawBufferPointer
    var wasFound = false
  }

  private struct Link {
    var row: Int
    /// -1 after the last one.
    var next: Int
  }

  private let outerKeys: JoinKeyReader
  private let innerKeys: JoinKeyReader
  private let run: PlanRun
  /// Whether rows without a partner are wanted.
  private let keepsAlone: Bool
  @exclusivity(unchecked) private var isFilled = false
  @exclusivity(unchecked) private var rows: [Row] = []
  @exclusivity(unchecked) private var ids = ByteBuffer()
  @exclusivity(unchecked) private var links: [Link] = []
  /// The first and the last link of each key.
  @exclusivity(unchecked) private var chains: [(first: Int, last: Int)] = []
  @exclusivity(unchecked) private var table = ByteTable()
  @exclusivity(unchecked) private var writer = KeyWriter()
  @exclusivity(unchecked) private var longKey: [UInt8] = []
  @exclusivity(unchecked) private var found: [Int] = []
  @exclusivity(unchecked) private var alone = -1

  /// - Parameter run: the run of the inner query, in its order.
  init(_ outer: JoinKeyReader, _ inner: JoinKeyReader, _ run: PlanRun, keepsAlone: Bool) {
    outerKeys = outer
    innerKeys = inner
    self.run = run
    self.keepsAlone = keepsAlone
  }

  /// Fills the table when the first row is requested, not before.
  private func fill() throws {
    isFilled = true
    while let row = try run.next() {
      let record = try row.record ?? run.record()
      let number = rows.count
      var isKept = keepsAlone
      try innerKeys.forEachKey(of: record, id: row.id, as: JoinKeyForm(), in: &writer) { writer in
        isKept = true
        let chain = withKey(&writer, innerKeys) { table.value(of: $0, orSet: chains.count) }
        if chain == chains.count {
          chains.append((links.count, links.count))
        } else {
          // Equal elements of one record.
          if links[chains[chain].last].row == number { return }
          links[chains[chain].last].next = links.count
          chains[chain].last = links.count
        }
        links.append(Link(row: number, next: -1))
      }
      guard isKept else { continue }
      rows.append(Row(idStart: ids.count, idCount: row.id.count, record: record))
      ids.append(row.id)
    }
    run.close()
  }

  /// A cut key is followed by the whole value, which distinguishes it from others.
  private func withKey<T>(
    _ writer: inout KeyWriter, _ keys: JoinKeyReader, _ body: (UnsafeRawBufferPointer) -> T
  ) -> T {
    guard writer.isCut else { return body(writer.bytes) }
    longKey.removeAll(keepingCapacity: true)
    longKey.append(contentsOf: writer.bytes)
    keys.withWholeValue { longKey.append(contentsOf: $0) }
    return longKey.withUnsafeBytes(body)
  }

  override func find(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    if !isFilled { try fill() }
    found.removeAll(keepingCapacity: true)
    try outerKeys.forEachKey(of: record, id: id, as: JoinKeyForm(), in: &writer) { writer in
      guard let chain = withKey(&writer, outerKeys, { table.value(of: $0) }) else { return }
      var link = chains[chain].first
      while link >= 0 {
        found.append(links[link].row)
        link = links[link].next
      }
    }
    if outerKeys.field.isMultiple, found.count > 1 { sortFound() }
    if keepsAlone { for row in found { rows[row].wasFound = true } }
    count = found.count
  }

  /// Sorts and removes duplicates: a pair with several common elements is one row.
  private func sortFound() {
    found.sort()
    var kept = 1
    for place in 1..<found.count where found[place] != found[kept - 1] {
      found[kept] = found[place]
      kept += 1
    }
    found.removeLast(found.count - kept)
  }

  override func id(at place: Int) -> UnsafeRawBufferPointer {
    let row = rows[found[place]]
    return UnsafeRawBufferPointer(rebasing: ids.bytes[row.idStart..<row.idStart + row.idCount])
  }

  override func record(at place: Int) -> UnsafeRawBufferPointer { rows[found[place]].record }

  override func nextAlone() throws -> Bool {
    if !isFilled { try fill() }
    alone += 1
    while alone < rows.count, rows[alone].wasFound { alone += 1 }
    guard alone < rows.count else { return false }
    found.removeAll(keepingCapacity: true)
    found.append(alone)
    count = 1
    return true
  }

  override func close() { run.close() }

  override var counters: ExecutionCounters { run.counters }
}
