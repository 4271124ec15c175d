/// The records of the entries of an index, in the order of the entries.
final class IndexRows: RowSource {
  let scanner: IndexScanner
  private let reader: RowReader
  private let isFiltering: Bool
  /// Tested on the record if the key is not enough.
  private let keyFilter: FilterProgram?
  /// Whether ids must be tested one by one: some may repeat, or not be saved yet.
  private let isSelecting: Bool
  private let skipsUnsaved: Bool
  @exclusivity(unchecked) private var given: IDSet

  /// - Parameter start: for a scan of one key: ids before it, in the direction of the scan, may be
  ///   skipped.
  init(
    _ scan: Plan.IndexScan, descends: Bool, idsDescend: Bool, from start: [UInt8]? = nil,
    _ reader: RowReader
  ) throws {
    self.reader = reader
    isFiltering = reader.isFiltering
    scanner = try IndexScanner(
      scan, in: reader.collection, descends: descends, idsDescend: idsDescend,
      context: reader.context)
    if let start { scanner.startID = start }
    scanner.mostEntries = reader.mostEntries
    keyFilter = try FilterProgram.of(
      scan.keyFilter, context: reader.context, typed: reader.typed)
    isSelecting = scan.mayRepeat
    skipsUnsaved = false
    given = IDSet(width: reader.collection.stored.idKind.width)
  }

  /// The records with ids in lists.
  init(
    _ scan: Plan.ListScan, idsDescend: Bool, from start: [UInt8]? = nil, _ reader: RowReader
  ) throws {
    self.reader = reader
    isFiltering = reader.isFiltering
    scanner = try IndexScanner(
      scan, in: reader.collection, idsDescend: idsDescend, context: reader.context)
    if let start { scanner.startID = start }
    keyFilter = nil
    skipsUnsaved = reader.context.hasUnsavedMembers
    isSelecting = scan.ids.count > 1 || skipsUnsaved
    given = IDSet(width: reader.collection.stored.idKind.width)
  }

  override func next() throws -> Bool {
    while true {
      while try nextInKey() { return true }
      guard try scanner.nextKey() else { return false }
    }
  }

  /// Moves to the next row of the scan's current key.
  @inline(__always)
  func nextInKey() throws -> Bool {
    while try scanner.nextID() {
      if isSelecting, try !isSelected(scanner.id) { continue }
      record = nil
      id = scanner.id
      if isFiltering || scanner.isUndecided, try !matches() { continue }
      key = scanner.key
      return true
    }
    return false
  }

  /// Whether its rows are all entries of the scan.
  var areAllEntries: Bool { !isFiltering && !isSelecting && keyFilter == nil }

  private func isSelected(_ id: UnsafeRawBufferPointer) throws -> Bool {
    guard given.insert(id) else { return false }
    return try !skipsUnsaved || reader.isThere(id)
  }

  private func matches() throws -> Bool {
    let outcome = isFiltering ? try reader.test(id) : .yes
    if outcome == .no {
      if scanner.entriesExamined > reader.mostEntries { throw CostLimitReached() }
      return false
    }
    if outcome == .yes, !scanner.isUndecided { return true }
    let record = try reader.read(id)
    if scanner.isUndecided, let keyFilter, try !reader.matches(keyFilter, record, id) {
      return false
    }
    guard try reader.matches(record, id) else {
      if reader.recordsExamined > reader.mostRecords { throw CostLimitReached() }
      return false
    }
    self.record = record
    return true
  }

  override func close() { scanner.close() }

  override func allow(entries: Int) { scanner.mostEntries = entries }

  override var entriesExamined: Int { scanner.entriesExamined }
}

/// The records of the entries of an index in the order of the first components of the keys, then by
/// id.
///
/// If several keys have the same values of these components, or one cut key stands for several
/// values, the rows are collected and sorted first.
final class OrderedIndexRows: RowSource {
  private let rows: IndexRows
  private let components: KeyComponents
  private let count: Int
  private let isWhole: Bool
  private let idsDescend: Bool
  private let descends: Bool
  private let reader: RowReader
  private let settings: SortSettings
  /// Whether rows include their keys.
  private let keepsKeys: Bool
  private let index: Int
  /// The number of rows that are still wanted.
  private var wanted: Int
  /// The number of components of a group of which one row is enough; nil if all rows are needed.
  private let groupComponents: Int?
  private var groups: GroupScanner?
  /// The bytes of the group whose first row was returned.
  private var groupCount: Int?
  private var hasCutKeys = false
  // Only cut keys need these.
  private lazy var order = OrderedIndexRows.terms(
    rows.scanner.schema.fields.prefix(count).filter { !$0.isMultiple }, descends: descends)
  private lazy var wholeValues: TypedAccess = WholeIndexValues(index, reader)

  private enum Mode { case start, key, one, list, sorted, end }
  @exclusivity(unchecked) private var mode = Mode.start
  /// Whether the scan is at a key of which no row was returned.
  @exclusivity(unchecked) private var isAtKey = false
  /// Whether the first row of a group was found and not returned.
  @exclusivity(unchecked) private var isRowFound = false
  @exclusivity(unchecked) private var list: IDList
  private var place = 0
  private var sorter: RowSorter?
  private var sortKey: SortKey?
  @exclusivity(unchecked) private var idBuffer = ByteBuffer()
  private var spilled = 0

  /// - Parameter limit: the number of rows after which no more are asked for.
  init(
    _ scan: Plan.IndexScan, components count: Int, descends: Bool, idsDescend: Bool,
    keepsKeys: Bool, groups: Plan.Groups? = nil, limit: Int?, settings: SortSettings,
    _ reader: RowReader
  ) throws {
    wanted = limit ?? .max
    rows = try IndexRows(scan, descends: descends, idsDescend: idsDescend, reader)
    groupComponents = groups?.components
    if let groups {
      self.groups = GroupScanner(rows.scanner, components: groups.components, reader)
    }
    components = rows.scanner.components
    self.count = count
    isWhole = count == rows.scanner.schema.fields.count
    self.descends = descends
    self.idsDescend = idsDescend
    self.reader = reader
    self.settings = settings
    self.keepsKeys = keepsKeys
    list = IDList(width: reader.collection.stored.idKind.width)
    index = scan.index
  }

  /// Components of an index as terms of an order.
  static func terms(_ fields: [IndexFieldSchema], descends: Bool) -> [OrderTerm] {
    fields.map { field in
      OrderTerm(
        field: FieldReference(
          form: field.form, isMultiple: false, isStandard: field.storedPath != nil, name: "",
          identity: field.identity),
        descends: descends, textForm: field.textForm)
    }
  }

  override func next() throws -> Bool {
    while true {
      switch mode {
      case .key:
        if try rows.nextInKey() {
          take(rows.id, rows.record)
          return true
        }
      case .list:
        if place < list.count {
          take(list[idsDescend ? list.count - 1 - place : place], nil)
          place += 1
          return true
        }
      case .sorted:
        if let row = try sorter?.next() {
          let id = UnsafeRawBufferPointer(rebasing: row.key[row.idStart...])
          sortKey?.readID(id, into: &idBuffer)
          take(idBuffer.bytes, nil)
          key = row.payload.isEmpty ? nil : row.payload
          return true
        }
        spilled += sorter?.spilledBytes ?? 0
        sorter = nil
      case .one:
        if isRowFound {
          isRowFound = false
          return true
        }
      case .end: return false
      case .start: break
      }
      try nextGroup()
    }
  }

  private func take(_ id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer?) {
    self.id = id
    self.record = record
    key = mode == .key ? rows.key : nil
  }

  private func nextGroup() throws {
    guard try nextKey() else {
      mode = .end
      return
    }
    components.open(rows.scanner.key)
    guard let prefix = try components.prefix(count) else { return try sortCutKey() }
    if let groupComponents, let group = try components.prefix(groupComponents) {
      let values = try GroupValues(components, groupComponents)
      if values != .apart { return try takeFirst(of: group, values) }
    }
    if isWhole {
      mode = .key
    } else if keepsKeys {
      try sortGroup(prefix)
    } else {
      list.removeAll()
      try forEachRowOfGroup(prefix) { list.append(rows.id) }
      list.finish()
      wanted -= min(wanted, list.count)
      place = 0
      mode = .list
    }
  }

  private func nextKey() throws -> Bool {
    if isAtKey {
      isAtKey = false
      return true
    }
    guard let groups, let bytes = groupCount else { return try rows.scanner.nextKey() }
    groupCount = nil
    return try groups.nextKey(outside: bytes)
  }

  /// Takes the first row of a group; the others are skipped.
  private func takeFirst(of group: UnsafeRawBufferPointer, _ values: GroupValues) throws {
    mode = .one
    repeat {
      components.open(rows.scanner.key)
      guard let prefix = try components.prefix(count) else { return try sortCutKey() }
      guard try rows.nextInKey() else { continue }
      take(rows.id, nil)
      key = rows.scanner.key
      isRowFound = true
      groupCount = group.count
      if values == .inKeys || isWhole { return }
      // Rows that are equal in the order come by id, and the first one has the bits.
      while try nextKey(of: prefix) {
        guard try rows.nextInKey() else { continue }
        let order = compareBytes(rows.id, id)
        if idsDescend ? order <= 0 : order >= 0 { continue }
        id = rows.id
        key = rows.scanner.key
      }
      // The scan is behind the rows of the same order, perhaps still in the group.
      if isAtKey, !rows.scanner.key.begins(with: group) {
        groupCount = nil
      } else {
        isAtKey = false
      }
      return
    } while try nextKey(of: group)
  }

  /// Moves to the next key; false if it does not begin with these components of the last one.
  private func nextKey(of prefix: UnsafeRawBufferPointer) throws -> Bool {
    guard let groups, try rows.scanner.nextKey() else { return false }
    isAtKey = !groups.holds(rows.scanner.key, prefix)
    return !isAtKey
  }

  /// Calls with each row of a group that may be one of its first ones. The rows of a key come by id, so
  /// of each key no more are read than are wanted in all.
  private func forEachRowOfGroup(
    _ prefix: UnsafeRawBufferPointer, _ body: () throws -> Void
  ) throws {
    while true {
      var left = wanted
      while left > 0, try rows.nextInKey() {
        try body()
        try checkCost()
        left -= 1
      }
      guard try rows.scanner.nextKey() else { return }
      // Whole components are not the beginning of others.
      isAtKey = !rows.scanner.key.begins(with: prefix)
      if isAtKey { return }
    }
  }

  /// The whole group is read before its first row is known.
  @inline(__always)
  private func checkCost() throws {
    if reader.recordsExamined > reader.mostRecords || rows.entriesExamined > reader.mostEntries {
      throw CostLimitReached()
    }
  }

  /// Sorts by the ids alone, each with its key. Most groups have one row, for which nothing is made or
  /// copied: keys and ids stay where the scan finds them.
  private func sortGroup(_ prefix: UnsafeRawBufferPointer) throws {
    var first: (id: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer)?
    while true {
      while try rows.nextInKey() {
        try checkCost()
        if let first { return try sortGroup(prefix, first) }
        first = (rows.id, rows.scanner.key)
      }
      guard try rows.scanner.nextKey() else { break }
      isAtKey = !rows.scanner.key.begins(with: prefix)
      if isAtKey { break }
    }
    mode = .one
    guard let first else { return }
    isRowFound = true
    take(first.id, nil)
    key = first.key
  }

  /// The same for a group with more rows.
  ///
  /// - Parameter first: its first row. The scan is at the second one.
  @inline(never)
  private func sortGroup(
    _ prefix: UnsafeRawBufferPointer,
    _ first: (id: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer)
  ) throws {
    let sortKey = makeSortKey([])
    let sorter = RowSorter(settings)
    func add(_ id: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) throws {
      _ = try sortKey.write(components: components, id: id)
      try sorter.add(key: sortKey.bytes, idStart: sortKey.countBeforeID, payload: payload)
    }
    try add(first.id, first.key)
    try add(rows.id, rows.scanner.key)
    try forEachRowOfGroup(prefix) { try add(rows.id, rows.scanner.key) }
    try begin(sorter, sortKey)
  }

  private func sortCutKey() throws {
    hasCutKeys = true
    let key = makeSortKey(order)
    let sorter = RowSorter(settings)
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    while try rows.nextInKey() {
      try key.write(record: try rows.record(reader), id: rows.id)
      try sorter.add(key: key.bytes, idStart: key.countBeforeID, payload: nothing)
    }
    try begin(sorter, key)
  }

  private func makeSortKey(_ order: [OrderTerm]) -> SortKey {
    SortKey(
      order, idsDescend: idsDescend, idKind: reader.collection.stored.idKind, index: nil,
      context: reader.context, typed: wholeValues)
  }

  private func begin(_ sorter: RowSorter, _ key: SortKey) throws {
    try sorter.finish()
    self.sorter = sorter
    sortKey = key
    mode = .sorted
  }

  override func close() {
    rows.close()
    mode = .end
    sorter = nil
  }

  override var mayRepeatValues: Bool { groupComponents == nil || hasCutKeys }

  override var entriesExamined: Int { rows.entriesExamined }
  override var spilledBytes: Int { spilled + (sorter?.spilledBytes ?? 0) }
}
