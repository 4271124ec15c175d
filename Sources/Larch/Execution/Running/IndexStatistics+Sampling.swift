// Samples: some keys of ranges, some of their records, and what conditions say of them.
extension IndexStatistics {
  /// The number of keys that are sampled.
  private static let sampledKeys = 32

  /// The bytes of a record, on which conditions are tested, and nothing else: a sample decodes no
  /// record and runs no code of the program.
  private final class StoredBytes: TypedAccess {
    private let collection: CollectionHandle

    init(_ collection: CollectionHandle) { self.collection = collection }

    override var reading: FieldReading? { collection.reading }
  }

  func sample(
    _ source: Plan.Source, _ conditions: [FilterNode], rows count: Int
  ) throws -> PlanSample? {
    do {
      switch source {
      case .index(let scan): return try sample(scan, conditions, rows: count)
      case .records(let ranges): return try sample(ids: ranges, conditions, rows: count)
      case .nothing, .list, .search, .union, .intersection: return nil
      }
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }

  private func sample(
    _ scan: Plan.IndexScan, _ conditions: [FilterNode], rows count: Int
  ) throws -> PlanSample? {
    let handle = try collection.index(at: scan.index)
    guard let tree = try context.mappedTree(handle.database) else { return nil }
    let components = KeyComponents(handle.schema)
    let filter =
      scan.keyFilter.isEmpty
      ? nil : KeyFilterProgram(scan.keyFilter, handle.schema, components)
    var sample = PlanSample()
    var passing: [MappedTree.SampledKey] = []
    guard let keys = someKeys(of: tree, in: scan.ranges, Self.sampledKeys, &sample) else {
      return nil
    }
    for key in keys {
      sample.entries += key.entries
      if let filter {
        components.open(key.bytes)
        // What a damaged key holds matters only to a run that reads it.
        if (try? filter.test()) == .no { continue }
      }
      sample.passingKeys += 1
      sample.passingEntries += key.entries
      passing.append(key)
    }
    if count == 0 || passing.isEmpty { return sample }
    // Evenly spread over the entries, since a key may have most of them.
    var ids: [UnsafeRawBufferPointer] = []
    let looked = min(count, sample.passingEntries)
    var place = 0
    var before = 0
    for number in 0..<looked {
      let wanted = (2 * number + 1) * sample.passingEntries / (2 * looked)
      while before + passing[place].entries <= wanted {
        before += passing[place].entries
        place += 1
      }
      let part = Double(wanted - before) / Double(passing[place].entries)
      if let id = tree.entry(of: passing[place], at: part) { ids.append(id) }
    }
    try test(conditions, ids, &sample)
    return sample
  }

  private func sample(
    ids ranges: [KeyRange], _ conditions: [FilterNode], rows count: Int
  ) throws -> PlanSample? {
    guard let tree = try context.mappedTree(collection.records) else { return nil }
    var sample = PlanSample()
    guard let keys = someKeys(of: tree, in: ranges, count, &sample) else { return nil }
    sample.entries = keys.count
    sample.passingKeys = keys.count
    sample.passingEntries = keys.count
    try test(conditions, keys.map(\.bytes), &sample)
    return sample
  }

  private func someKeys(
    of tree: MappedTree, in ranges: [KeyRange], _ count: Int, _ sample: inout PlanSample
  ) -> [MappedTree.SampledKey]? {
    var keys: [MappedTree.SampledKey] = []
    let looked = min(ranges.count, Self.rangesLooked)
    for place in 0..<looked {
      let range = ranges[place * ranges.count / looked]
      if range.isEmpty { continue }
      let found = range.withBounds {
        tree.someKeys(from: $0, to: $1, atMost: max(2, count / looked))
      }
      guard let found else { return nil }
      keys += found.keys
      sample.keyCount += found.keyCount
    }
    sample.keys = keys.count
    if looked < ranges.count { sample.keyCount *= Double(ranges.count) / Double(looked) }
    return keys
  }

  /// Tests the conditions on the stored bytes of records.
  private func test(
    _ conditions: [FilterNode], _ ids: [UnsafeRawBufferPointer], _ sample: inout PlanSample
  ) throws {
    let typed = StoredBytes(collection)
    var programs: [(place: Int, program: FilterProgram)] = []
    for (place, condition) in conditions.enumerated()
    where place < 64 && FilterProgram.isDecidable(condition) && !condition.asksRelated {
      programs.append((place, try FilterProgram([condition], context: context, typed: typed)))
      sample.decided.setBit(place)
    }
    let transaction = try context.transaction()
    for id in ids {
      // A damaged file may lack it; the run of the plan tells that.
      guard let stored = try context.get(id, from: collection.records, in: transaction) else {
        continue
      }
      let record = RecordEnvelope.unverified(stored)
      var met: UInt64 = 0
      for (place, program) in programs where !program.refuses(record, id: id) { met.setBit(place) }
      sample.rows.append(met)
    }
  }
}
