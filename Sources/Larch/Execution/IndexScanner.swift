/// Steps through the entries of an index that lie in ranges of keys: from key to key, and through
/// the ids of each key.
///
/// Key filters are asked once for a key, not for each of its ids.
final class IndexScanner {
  let schema: IndexSchema
  /// Takes the key apart that the scan is at.
  private(set) lazy var components = KeyComponents(schema)
  private let ranges: [KeyRange]
  private var filter: KeyFilterProgram?
  /// Every range is one key, so that behind it nothing has to be looked at.
  private let isPoints: Bool
  private let descends: Bool
  private let idsDescend: Bool
  /// Ids of one size, which LMDB gives a page at a time.
  private let width: Int?
  @exclusivity(unchecked) private var cursor: LMDBCursor?

  /// The place of the range that is read; -1 before the first.
  @exclusivity(unchecked) private var range = -1
  @exclusivity(unchecked) private var isInRange = false
  /// The pair that the cursor came to when it reached the key.
  @exclusivity(unchecked) private var entry: LMDBEntry?
  private enum Ids: UInt8 { case none, fresh, run, single }
  @exclusivity(unchecked) private var state = Ids.none
  @exclusivity(unchecked) private var runPosition = UnsafeRawPointer(bitPattern: 1)!
  @exclusivity(unchecked) private var runEnd = UnsafeRawPointer(bitPattern: 1)!

  /// The key that the scan is at.
  @exclusivity(unchecked) private(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The id that the scan is at.
  @exclusivity(unchecked) private(set) var id = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The key does not tell whether the filters are true; the records have to be asked.
  @exclusivity(unchecked) private(set) var isUndecided = false
  @exclusivity(unchecked) private(set) var entriesExamined = 0

  init(
    _ scan: Plan.IndexScan, in collection: CollectionHandle, descends: Bool = false,
    idsDescend: Bool = false, context: TransactionContext
  ) throws {
    let index = try collection.index(at: scan.index)
    schema = index.schema
    ranges =
      scan.ranges.contains(where: \.isEmpty)
      ? scan.ranges.filter { !$0.isEmpty } : scan.ranges
    isPoints = scan.isPoints
    self.descends = descends
    self.idsDescend = idsDescend
    width = collection.stored.idKind.width
    cursor = try LMDBCursor(index.database, in: try context.transaction())
    if !scan.keyFilter.isEmpty {
      filter = KeyFilterProgram(scan.keyFilter, index.schema, components)
    }
  }

  func close() {
    cursor = nil
    state = .none
    range = ranges.count
    isInRange = false
  }

  /// Goes to the next key whose filters are not false.
  func nextKey() throws -> Bool {
    while try step() {
      entriesExamined += 1
      if let filter {
        components.open(key)
        let outcome = try filter.test()
        if outcome == .no { continue }
        isUndecided = outcome == .unknown
      }
      state = .fresh
      return true
    }
    state = .none
    return false
  }

  private func step() throws -> Bool {
    while true {
      if isInRange {
        let entry = descends ? try cursor?.previousKey() : try cursor?.nextKey()
        if accept(entry) { return true }
      }
      range += 1
      guard range < ranges.count else {
        isInRange = false
        return false
      }
      if accept(try seekRange()) { return true }
    }
  }

  private func accept(_ entry: LMDBEntry?) -> Bool {
    isInRange = false
    guard let entry else { return false }
    let bounds = descends ? ranges[ranges.count - 1 - range] : ranges[range]
    if descends {
      guard bounds.lower.withUnsafeBytes({ compareBytes($0, entry.key) }) <= 0 else { return false }
    } else if let upper = bounds.upper {
      guard upper.withUnsafeBytes({ compareBytes(entry.key, $0) }) < 0 else { return false }
    }
    isInRange = !isPoints
    self.entry = entry
    key = entry.key
    id = entry.value
    return true
  }

  private func seekRange() throws -> LMDBEntry? {
    if !descends {
      let lower = ranges[range].lower
      if lower.isEmpty { return try cursor?.first() }
      return try lower.withUnsafeBytes { try cursor?.seek(atOrAfter: $0) }
    }
    guard let upper = ranges[ranges.count - 1 - range].upper else { return try cursor?.last() }
    if upper.isEmpty { return nil }
    let entry = try upper.withUnsafeBytes { try cursor?.seek(atOrAfter: $0) }
    return entry == nil ? try cursor?.last() : try cursor?.previousKey()
  }

  /// How many ids there are, counted key by key; may stop at `most`. Uses the scan up.
  ///
  /// Nothing but this is done for a key, since a count may pass all keys of an index.
  func countIDs(upTo most: Int) throws -> Int {
    var count = 0
    for bounds in ranges {
      guard count < most else { break }
      let lower = bounds.lower
      var entry =
        lower.isEmpty
        ? try cursor?.first() : try lower.withUnsafeBytes { try cursor?.seek(atOrAfter: $0) }
      if let upper = bounds.upper {
        try upper.withUnsafeBytes { upper in
          while let found = entry, count < most, compareBytes(found.key, upper) < 0 {
            count += try cursor?.duplicateCount() ?? 0
            entriesExamined += 1
            entry = try cursor?.nextKey()
          }
        }
      } else {
        while entry != nil, count < most {
          count += try cursor?.duplicateCount() ?? 0
          entriesExamined += 1
          entry = try cursor?.nextKey()
        }
      }
    }
    close()
    return count
  }

  // MARK: The ids of a key

  /// How many ids the key has, without reading them.
  func idCount() throws -> Int {
    try cursor?.duplicateCount() ?? 0
  }

  /// The next id of the key; false behind the last one.
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
      guard let bytes = try cursor?.nextRun() else {
        state = .none
        return false
      }
      begin(bytes)
      return try nextID()
    case .single:
      let entry = idsDescend ? try cursor?.previousDuplicate() : try cursor?.nextDuplicate()
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

  /// The key was counted as an entry already.
  private func firstID() throws -> Bool {
    // A step forward ends at the first id of a key, a step back at the last one.
    var entry = self.entry
    if idsDescend, !descends {
      entry = try cursor?.lastDuplicate()
    } else if descends, !idsDescend {
      // Not `firstDuplicate`: a cursor that came to the last key by `last` keeps a mark that it is
      // at the end, and then LMDB gives no further value of this key.
      entry = try cursor?.seek(exactly: key)
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
    guard let run = try cursor?.firstRun(at: entry) else { return false }
    begin(run)
    if let width { runPosition += width }
    return true
  }
}

extension CollectionHandle {
  /// The index at a place in the schema. A file that was opened read-only may lack it.
  func index(at position: Int) throws -> IndexHandle {
    guard let index = indexes.first(where: { $0.position == position }) else {
      throw LarchError(
        .schemaChanged, "The plan of a query uses an index that the file does not have."
      ) { $0.collection = stored.name }
    }
    return index
  }
}
