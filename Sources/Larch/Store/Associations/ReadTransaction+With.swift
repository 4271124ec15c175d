extension ReadTransaction {
  /// Runs a query, and finds the related records of each of its records, all in one pass.
  func run<Owner: Record, Target: Record, T>(
    _ query: Query<Owner>, along route: AssociationRoute.Kind, from targets: Query<Target>,
    _ body: (RelatedRows<Owner, Target>) throws -> T
  ) throws -> T {
    try storage { _ in
      let owners = try context.collection(of: Owner.self)
      let related = try context.collection(of: Target.self)
      try check(query, along: route, from: targets)
      let owner = RecordAccess<Owner>(context, owners)
      // Preparing it checks the query, and writes the pending changes that it reads.
      let refined = try prepare(targets.details, for: .records, in: related)
      let target = RecordAccess<Target>(context, related, with: refined.answers)
      if mayHavePendingEntries {
        for database in try JoinPartners.databases(route, from: owners, to: related, context) {
          try writePending(for: database)
        }
      }
      let partners = try JoinPartners.along(
        route, from: owners, owner, to: related, target, targets.details, context)
      defer { partners.close() }
      return try run(query.details, of: Owner.self, for: .records) { run, access in
        try body(RelatedRows(run, access, partners, target, targets.details))
      }
    }
  }

  /// Refuses an association that no open type lists in its schema, and related records of a page.
  func check<Owner: Record, Target: Record>(
    _ query: Query<Owner>, along route: AssociationRoute.Kind, from targets: Query<Target>
  ) throws {
    _ = try live()
    try context.catalog.checkListed(route)
    guard targets.details.after == nil else {
      throw LarchError(
        .invalidQuery,
        "A page token does not work for the related records of one record; use offset and limit."
      ) { $0.collection = Target.collectionName }
    }
  }
}

/// The records of a query, each with its related records.
final class RelatedRows<Owner: Record, Target: Record> {
  private let run: PlanRun
  private let access: RecordAccess<Owner>
  private let partners: JoinPartners
  private let targetAccess: RecordAccess<Target>
  private let offset: Int
  private let limit: Int
  /// Related records that several records share are decoded once.
  @exclusivity(unchecked) private var shared: [RowPart<Target>?] = []
  private let ownPart = RowPart<Target>.optional()
  private let missingPart = RowPart<Target>.optional()
  @exclusivity(unchecked) private var known = KnownRecords<Target>()
  private let buffer = RecordBuffer<Target>()
  /// The row.
  @exclusivity(unchecked) private var id = UnsafeRawBufferPointer(start: nil, count: 0)
  @exclusivity(unchecked) private var record = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The range of its related records that are returned.
  @exclusivity(unchecked) private var start = 0
  @exclusivity(unchecked) private var end = 0
  /// What the records of each row are added to, for an observer.
  @exclusivity(unchecked) var digest: RowDigest?

  init(
    _ run: PlanRun, _ access: RecordAccess<Owner>, _ partners: JoinPartners,
    _ target: RecordAccess<Target>, _ query: QueryDescription
  ) {
    self.run = run
    self.access = access
    self.partners = partners
    targetAccess = target
    offset = query.offset
    limit = query.limit ?? .max
    missingPart.setMissing()
  }

  /// Moves to the next record and finds its related records; false after the last one.
  @inline(__always)
  func next() throws -> Bool {
    guard let row = try run.next() else { return false }
    let record = try row.record ?? run.record()
    id = row.id
    self.record = record
    try partners.find(record, id: id)
    start = min(offset, partners.count)
    end = start + min(limit, partners.count - start)
    if let digest { note(in: digest) }
    return true
  }

  @inline(never)
  private func note(in digest: RowDigest) {
    digest.add(id: id, record)
    digest.add(count: end - start)
    for place in start..<end {
      digest.add(id: partners.id(at: place), partners.record(at: place))
    }
  }

  /// The record of the row.
  func owner() throws -> Owner {
    try access.decode(QueryRow(id: id, record: record), of: run)
  }

  /// Copies the record at a place. It runs after everything else that may fail, so that an error
  /// never leaves half a row.
  @inline(__always)
  func makeOwner(at place: UnsafeMutableRawPointer) throws {
    place.assumingMemoryBound(to: Owner.self).initialize(
      to: try access.decode(QueryRow(id: id, record: record), of: run))
  }

  /// The cost of the query itself so far.
  var ownCounters: ExecutionCounters { run.counters }

  /// The cost of finding the related records so far.
  var counters: ExecutionCounters { partners.counters }

  /// All related records of the row.
  func targets() throws -> [Target] {
    var place = start
    while place < end {
      let number = partners.number(at: place)
      if number >= 0 {
        try known.copy(number, to: buffer.next()) { try decode(place) }
      } else {
        buffer.next().initialize(to: try decode(place))
      }
      buffer.filled()
      place &+= 1
    }
    return start < end ? buffer.takeArray() : []
  }

  /// The only related record of the row, or nil, in the form that a row has it.
  func target() throws -> RowPart<Target> {
    guard start < end else { return missingPart }
    let number = partners.number(at: start)
    if number < 0 {
      ownPart.set(try decode(start))
      return ownPart
    }
    if number < shared.count, let part = shared[number] { return part }
    while shared.count <= number { shared.append(nil) }
    let part = RowPart<Target>.optional()
    part.set(try decode(start))
    shared[number] = part
    return part
  }

  @inline(__always)
  private func decode(_ place: Int) throws -> Target {
    try targetAccess.decode(partners.record(at: place), id: partners.id(at: place))
  }

  /// The offset of the second part of a row.
  static func offset<Second>(of second: Second.Type) -> Int {
    // Every element of a tuple is stored in it, so it has an offset.
    MemoryLayout<(Owner, Second)>.offset(of: \.1)!
  }
}

/// Decoded records, by the numbers of their partners.
private struct KnownRecords<R>: ~Copyable {
  private let records = RecordBuffer<R>()
  /// The place of each number; -1 where its record is not decoded yet.
  private var places: [Int] = []

  /// Makes a copy of the record with a number, which is decoded now if it was not before.
  mutating func copy(
    _ number: Int, to target: UnsafeMutablePointer<R>, _ decode: () throws -> R
  ) rethrows {
    while places.count <= number { places.append(-1) }
    if places[number] < 0 {
      records.next().initialize(to: try decode())
      places[number] = records.count
      records.filled()
    }
    records.copy(places[number], to: target)
  }
}
