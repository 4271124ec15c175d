/// Iterates over the entries of an index in ranges of keys: from key to key, and over the ids of
/// each key.
///
/// Key filters are tested once per key, not for each of its ids.
final class IndexScanner {
  let schema: IndexSchema
  /// Splits the current key into its components.
  private(set) lazy var components = KeyComponents(schema)
  /// The bounds of all ranges, as plain memory: arrays would be counted for every key.
  let ranges: UnsafeMutablePointer<Bounds>
  let rangeCount: Int
  /// Set if the only filter is the prefix of a text that the range consists of: its number of
  /// bytes, which are all ASCII. The next byte decides whether a character ends there.
  let prefixCount: Int
  private(set) var filter: KeyFilterProgram?
  /// Whether every range is one key, so that nothing after it must be read.
  let isPoints: Bool
  let descends: Bool
  let idsDescend: Bool
  /// The length of ids of equal size, which LMDB returns a page at a time.
  let width: Int?
  @exclusivity(unchecked) var cursor: IndexCursor
  /// The ids of the only key begin here or slightly earlier, not at its first or last one.
  var startID: [UInt8]? {
    didSet { hasStart = startID != nil }
  }
  @exclusivity(unchecked) private var hasStart = false

  /// The current range; -1 before the first.
  @exclusivity(unchecked) var range = -1
  @exclusivity(unchecked) var isInRange = false
  /// The pair at which the cursor reached the key.
  @exclusivity(unchecked) private var entry: LMDBEntry?
  private enum Ids: UInt8 { case none, fresh, run, single }
  @exclusivity(unchecked) private var state = Ids.none
  // A literal that is not zero, so never nil; read only inside a run, where both are set.
  @exclusivity(unchecked) private var runPosition = UnsafeRawPointer(bitPattern: 1)!
  @exclusivity(unchecked) private var runEnd = UnsafeRawPointer(bitPattern: 1)!
  /// Whether the key has no ids after those of the run.
  @exclusivity(unchecked) private var isLastRun = false

  /// The current key.
  @exclusivity(unchecked) private(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The current id.
  @exclusivity(unchecked) private(set) var id = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Whether the key does not decide the filters, so that the records must be tested.
  @exclusivity(unchecked) private(set) var isUndecided = false
  @exclusivity(unchecked) var entriesExamined = 0
  /// The number of entries that may be read before `CostLimitReached` is thrown.
  @exclusivity(unchecked) var mostEntries = Int.max

  convenience init(
    _ scan: Plan.IndexScan, in collection: CollectionHandle, descends: Bool = false,
    idsDescend: Bool = false, context: TransactionContext
  ) throws {
    let index = try collection.index(at: scan.index)
    try self.init(
      scan, index.schema, index.database, collection, descends: descends, idsDescend: idsDescend,
      context)
  }

  /// A scan of lists of ids, whose entries are like those of an index with the owners' ids as keys.
  ///
  /// - Parameter collection: the collection of the ids in the lists.
  convenience init(
    _ scan: Plan.ListScan, in collection: CollectionHandle, idsDescend: Bool = false,
    context: TransactionContext
  ) throws {
    let (database, ranges) = try RelatedRoute.lists(scan, context)
    try self.init(
      Plan.IndexScan(
        index: 0, ranges: ranges, bounds: [], keyFilter: [], mayRepeat: ranges.count > 1,
        isPoints: true),
      RelatedRoute.listSchema, database, collection, descends: false, idsDescend: idsDescend,
      context)
  }

  private init(
    _ scan: Plan.IndexScan, _ schema: IndexSchema, _ database: LMDBDatabase,
    _ collection: CollectionHandle, descends: Bool, idsDescend: Bool, _ context: TransactionContext
  ) throws {
    self.schema = schema
    let wanted =
      scan.ranges.contains(where: \.isEmpty)
      ? scan.ranges.filter { !$0.isEmpty } : scan.ranges
    ranges = Bounds.memory(of: wanted)
    rangeCount = wanted.count
    prefixCount = scan.prefixCount
    isPoints = scan.isPoints
    self.descends = descends
    self.idsDescend = idsDescend
    width = collection.stored.idKind.width
    cursor = try IndexCursor(database, context)
    if !scan.keyFilter.isEmpty {
      filter = KeyFilterProgram(scan.keyFilter, schema, components)
    }
  }

  deinit {
    ranges.deallocate()
  }

  func close() {
    cursor.close()
    state = .none
    range = rangeCount
    isInRange = false
  }

  /// Moves to the next key whose filters are not false.
  func nextKey() throws -> Bool {
    while try step() {
      entriesExamined += 1
      if try isAccepted() { return true }
    }
    state = .none
    return false
  }

  /// Whether the filters of the current key are not false.
  @inline(__always)
  func isAccepted() throws -> Bool {
    if prefixCount > 0, key.count == prefixCount || key[prefixCount] < 0x80 {
      isUndecided = false
    } else if let filter {
      components.open(key)
      let outcome = try filter.test()
      if outcome == .no {
        if entriesExamined > mostEntries { throw CostLimitReached() }
        return false
      }
      isUndecided = outcome == .unknown
    }
    state = .fresh
    return true
  }

  func step() throws -> Bool {
    while true {
      if isInRange {
        let entry = descends ? try cursor.previousKey() : try cursor.nextKey()
        if accept(entry) { return true }
      }
      range += 1
      guard range < rangeCount else {
        isInRange = false
        return false
      }
      if accept(try seekRange()) { return true }
    }
  }

  func accept(_ entry: LMDBEntry?) -> Bool {
    isInRange = false
    guard let entry else { return false }
    let bounds = self.bounds
    if descends {
      guard compareBytes(bounds.pointee.lower, entry.key) <= 0 else { return false }
    } else if let upper = bounds.pointee.upper {
      guard compareBytes(entry.key, upper) < 0 else { return false }
    }
    isInRange = !isPoints
    self.entry = entry
    key = entry.key
    id = entry.value
    return true
  }

  /// The bounds of the current range.
  @inline(__always)
  var bounds: UnsafeMutablePointer<Bounds> {
    ranges + (descends ? rangeCount - 1 - range : range)
  }

  func seekRange() throws -> LMDBEntry? {
    if !descends {
      let lower = ranges[range].lower
      if lower.isEmpty { return try cursor.first() }
      return try cursor.seek(atOrAfter: lower)
    }
    guard let upper = ranges[rangeCount - 1 - range].upper else { return try cursor.last() }
    if upper.isEmpty { return nil }
    return try cursor.seek(before: upper)
  }

  /// The number of ids, counted key by key; may stop at `most`. The scan cannot be used after that.
  ///
  /// It does nothing else for a key, since a count may pass all keys of an index.
  func countIDs(upTo most: Int) throws -> Int {
    var count = 0
    for place in 0..<rangeCount {
      guard count < most else { break }
      let lower = ranges[place].lower
      var entry = lower.isEmpty ? try cursor.first() : try cursor.seek(atOrAfter: lower)
      if let upper = ranges[place].upper {
        while let found = entry, count < most, compareBytes(found.key, upper) < 0 {
          count += try cursor.idCount()
          entriesExamined += 1
          entry = isPoints ? nil : try cursor.nextKey()
        }
      } else {
        while entry != nil, count < most {
          count += try cursor.idCount()
          entriesExamined += 1
          entry = try cursor.nextKey()
        }
      }
    }
    close()
    return count
  }

  // MARK: The ids of a key

  /// The number of ids of the key, without reading them.
  func idCount() throws -> Int {
    try cursor.idCount()
  }

  /// The first id of a key whose ids were not read yet.
  func firstIDOfKey() throws -> UnsafeRawBufferPointer {
    _ = try nextID()
    return id
  }

  /// The next id of the key; false after the last one.
  @inline(__always)
  func nextID() throws -> Bool {
    if state == .run, runPosition < runEnd, let width {
      id = UnsafeRawBufferPointer(start: runPosition, count: width)
      runPosition += width
      entriesExamined &+= 1
      return true
    }
    return try nextIDSlowly()
  }

  private func nextIDSlowly() throws -> Bool {
    switch state {
    case .none: return false
    case .fresh: return try firstID()
    case .run:
      guard !isLastRun, let bytes = try cursor.nextRun() else {
        state = .none
        return false
      }
      begin(bytes)
      return try nextID()
    case .single:
      let entry = idsDescend ? try cursor.previousID() : try cursor.nextID()
      guard let entry else {
        state = .none
        return false
      }
      entriesExamined += 1
      id = entry.value
      return true
    }
  }

  private func begin(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, let width else { return }
    state = .run
    runPosition = start
    runEnd = start + bytes.count / width * width
  }

  /// The key was already counted as an entry.
  private func firstID() throws -> Bool {
    if hasStart, let startID { return try firstID(near: startID) }
    if !idsDescend, let width, let ids = cursor.allIDs, ids.count >= width {
      id = UnsafeRawBufferPointer(start: ids.baseAddress, count: width)
      // Mostly the only one.
      if ids.count == width {
        state = .none
        return true
      }
      isLastRun = true
      begin(ids)
      runPosition += width
      return true
    }
    // A step forward arrives at the first id of a key, a step back at the last one.
    var entry = self.entry
    if idsDescend, !descends {
      entry = try cursor.lastID()
    } else if descends, !idsDescend {
      entry = try cursor.firstID(of: key)
    }
    guard let entry else {
      state = .none
      return false
    }
    id = entry.value
    if idsDescend || width == nil {
      state = .single
      return true
    }
    guard let (run, isOnly) = try cursor.firstRun(at: entry) else { return false }
    isLastRun = isOnly
    begin(run)
    if let width { runPosition += width }
    return true
  }
}

extension IndexScanner {
  private func firstID(near start: [UInt8]) throws -> Bool {
    var entry = try start.withUnsafeBytes { try cursor.seek(key, idAtOrAfter: $0) }
    if entry == nil, idsDescend {
      entry = try cursor.seek(exactly: key)
      entry = try cursor.lastID()
    }
    guard let entry else {
      state = .none
      return false
    }
    id = entry.value
    state = .single
    return true
  }

  /// The bounds of a range, in memory that the scanner owns.
  struct Bounds {
    var lower: UnsafeRawBufferPointer
    var upper: UnsafeRawBufferPointer?

    /// The bounds, and in the same memory behind them their bytes.
    fileprivate static func memory(of ranges: [KeyRange]) -> UnsafeMutablePointer<Bounds> {
      let size = max(1, ranges.count) * MemoryLayout<Bounds>.stride
      var byteCount = 0
      for range in ranges { byteCount += range.lower.count + (range.upper?.count ?? 0) }
      let start = UnsafeMutableRawPointer.allocate(
        byteCount: size + byteCount, alignment: MemoryLayout<Bounds>.alignment)
      let bounds = start.bindMemory(to: Bounds.self, capacity: ranges.count)
      var free = start + size
      func keep(_ list: [UInt8]) -> UnsafeRawBufferPointer {
        list.withUnsafeBytes { source in
          if let start = source.baseAddress { free.copyMemory(from: start, byteCount: list.count) }
        }
        defer { free += list.count }
        return UnsafeRawBufferPointer(start: free, count: list.count)
      }
      for (place, range) in ranges.enumerated() {
        (bounds + place).initialize(
          to: Bounds(lower: keep(range.lower), upper: range.upper.map(keep)))
      }
      return bounds
    }
  }
}

extension Plan.IndexScan {
  /// The number of bytes of the only range, if it consists of the prefix of a text and there are no
  /// other tests of the key; otherwise 0.
  fileprivate var prefixCount: Int {
    guard keyFilter.count == 1, ranges.count == 1, case .field(let filter) = keyFilter[0],
      case .text(let text) = filter.test, text.kind == .hasPrefix,
      case .field(let bound)? = bounds.last, bound === filter
    else { return 0 }
    let wanted = text.wanted.utf8
    guard wanted.allSatisfy({ $0 < 0x80 && $0 != 0x0D }),
      ranges[0].lower.suffix(wanted.count).elementsEqual(wanted),
      ranges[0].upper == KeyRange.successor(ofPrefix: ranges[0].lower)
    else { return 0 }
    return ranges[0].lower.count
  }
}

extension CollectionHandle {
  /// The index at a place in the schema. A read-only file may not have it.
  func index(at position: Int) throws -> IndexHandle {
    guard let index = indexes.first(where: { $0.position == position }) else {
      throw LarchError(
        .schemaChanged, "The plan of a query uses an index that the file does not have."
      ) { $0.collection = stored.name }
    }
    return index
  }
}
