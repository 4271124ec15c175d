extension ReadTransaction {
  /// Runs a request for records with their related ones, all in one pass.
  func run<Owner: Record, Row, T>(
    _ request: WithRelated<Owner, Row>, _ body: (RowsWithRelated<Owner, Row>) throws -> T
  ) throws -> T {
    try storage { _ in
      // In this order: an error names the type of the query first.
      _ = try context.collection(of: Owner.self)
      try check(request.form)
      let prepared = try request.form.parts.map { try $0.prepared(in: self) }
      let parts = try prepared.map { try $0() }
      defer { for part in parts { part.close() } }
      return try run(request.query.details, of: Owner.self, for: .records) { run, access in
        try body(RowsWithRelated(run, RelatedRowMaker(request.form, access, parts, of: run)))
      }
    }
  }

  /// Refuses associations that no open type lists in its schema, and related records of a page.
  func check<R: Record, Row>(_ form: RelatedRowForm<R, Row>) throws {
    _ = try live()
    for part in form.parts { try part.check(in: self) }
  }
}

/// The rows of a request for records with their related ones, while it runs.
final class RowsWithRelated<Owner: Record, Row> {
  private let run: PlanRun
  private let maker: RelatedRowMaker<Owner, Row>

  init(_ run: PlanRun, _ maker: RelatedRowMaker<Owner, Row>) {
    self.run = run
    self.maker = maker
  }

  /// The cost of the query itself so far.
  var ownCounters: ExecutionCounters { run.counters }
  var parts: [RelatedPartRun] { maker.parts }

  /// All rows. It is one call for all of them: in code that is compiled once for all types, each call
  /// would look up the type of a row in the runtime.
  func all(noting digest: RowDigest?) throws -> [Row] {
    let rows = RecordBuffer<Row>()
    while let row = try run.next() {
      let record = try row.record ?? run.record()
      digest?.add(id: row.id, record)
      try maker.make(record, row.id, at: rows.next(), noting: digest)
      rows.filled()
    }
    return rows.takeArray()
  }

  func forEach(_ body: (Row) throws -> Void) throws {
    let memory = UnsafeMutablePointer<Row>.allocate(capacity: 1)
    defer { memory.deallocate() }
    while let row = try run.next() {
      try maker.make(row.record ?? run.record(), row.id, at: memory, noting: nil)
      defer { memory.deinitialize(count: 1) }
      try body(memory.pointee)
    }
  }
}

/// Makes rows of records: in place, part by part.
final class RelatedRowMaker<R: Record, Row> {
  let parts: [RelatedPartRun]
  private let access: RecordAccess<R>
  /// That of the query; nil for related records.
  private let run: PlanRun?
  private let offsets: [Int]?
  /// Memory for each part, if it is not known where it is in a row.
  private let places: [UnsafeMutableRawPointer]
  private let assemble: @Sendable ([UnsafeMutableRawPointer]) -> Row

  init(
    _ form: RelatedRowForm<R, Row>, _ access: RecordAccess<R>, _ parts: [RelatedPartRun],
    of run: PlanRun? = nil
  ) {
    self.parts = parts
    self.access = access
    self.run = run
    offsets = form.offsets
    assemble = form.assemble
    places =
      offsets == nil
      ? [UnsafeMutableRawPointer(UnsafeMutablePointer<R>.allocate(capacity: 1))]
        + parts.map { $0.allocate() } : []
  }

  deinit { for place in places { place.deallocate() } }

  /// Makes the row of a record. On an error there is none.
  func make(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    at target: UnsafeMutablePointer<Row>, noting digest: RowDigest?
  ) throws {
    let row = UnsafeMutableRawPointer(target)
    if parts.isEmpty {
      // Such a row is the record itself.
      row.assumingMemoryBound(to: R.self).initialize(to: try decoded(record, id))
      return
    }
    func place(_ number: Int) -> UnsafeMutableRawPointer {
      if let offsets { return row + offsets[number] }
      return places[number]
    }
    var made = 0
    do {
      while made < parts.count {
        try parts[made].make(for: record, id, at: place(made &+ 1), noting: digest)
        made &+= 1
      }
      place(0).assumingMemoryBound(to: R.self).initialize(to: try decoded(record, id))
    } catch {
      for number in 0..<made { parts[number].destroy(at: place(number + 1)) }
      throw error
    }
    if offsets == nil { target.initialize(to: assemble(places)) }
  }

  @inline(__always)
  private func decoded(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> R {
    guard let run else { return try access.decode(record, id: id) }
    return try access.decode(QueryRow(id: id, record: record), of: run)
  }
}
