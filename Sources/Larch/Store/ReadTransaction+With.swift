extension ReadTransaction {
  /// Runs a query, and finds the related records of each of its records, all in one pass.
  func run<A: Association, T>(
    _ query: Query<A.Owner>, with association: A, from targets: Query<A.Target>,
    _ body: (RelatedRows<A.Owner, A.Target>) throws -> T
  ) throws -> T {
    try storage { _ in
      let owners = try context.collection(of: A.Owner.self)
      let related = try context.collection(of: A.Target.self)
      let route = association._route.kind
      try context.checkDeclared(route, A.Owner.self, A.Target.self)
      guard targets.details.after == nil else {
        throw LarchError(
          .invalidQuery,
          "A page token tells a place among all records, not among those of one; use offset and limit."
        ) { $0.collection = related.stored.name }
      }
      let owner = RecordAccess<A.Owner>(context, owners)
      let target = RecordAccess<A.Target>(context, related)
      // Planned for what it proves of the query, and for what it writes of what is gathered.
      _ = try prepare(targets.details, for: .records, in: related)
      if gathersEntries {
        for database in try JoinPartners.databases(route, from: owners, to: related, context) {
          try writeGathered(for: database)
        }
      }
      let partners = try JoinPartners.along(
        route, from: owners, owner, to: related, target, targets.details, context)
      defer { partners.close() }
      return try run(query.details, of: A.Owner.self, for: .records) { run, access in
        try body(RelatedRows(run, access, partners, target, targets.details))
      }
    }
  }
}

extension TransactionContext {
  /// - Throws: `.unknownAssociation` unless an open type declares the association.
  fileprivate func checkDeclared<Owner: Record, Target: Record>(
    _ route: AssociationRoute.Kind, _ owner: Owner.Type, _ target: Target.Type
  ) throws {
    let isDeclared =
      switch route {
      case .parent(let reference), .listed(let reference), .children(let reference):
        try isDeclared(reference)
      case .links(let links): catalog.association(links.key)?.schema != nil
      case .through(let near, let far): try isDeclared(near) && isDeclared(far)
      }
    if isDeclared { return }
    throw LarchError.unknownAssociation(Owner.collectionName, Target.collectionName)
  }

  private func isDeclared(_ reference: ReferenceDeclaration) throws -> Bool {
    let holder = try collection(reference.holder.id, name: reference.holder.collection)
    return catalog.ends(of: holder).contains { end in
      guard end.isFirst, let declared = end.association.reference?.declaration else {
        return false
      }
      return declared === reference || declared.isSame(as: reference)
    }
  }
}

/// The records of a query, each with its related ones.
final class RelatedRows<Owner: Record, Target: Record> {
  private let run: PlanRun
  private let access: RecordAccess<Owner>
  private let partners: JoinPartners
  private let targetAccess: RecordAccess<Target>
  private let offset: Int
  private let limit: Int
  /// Those that several records share are decoded once.
  private var known: [Target?] = []
  private var buffer = RecordBuffer<Target>()
  /// The places of the related records of the row that are wanted.
  private var places = 0..<0

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
  }

  /// The next record; its related ones are then found.
  func next() throws -> Owner? {
    guard let row = try run.next() else { return nil }
    let record = try row.record ?? run.record()
    let owner = try access.decode(QueryRow(id: row.id, record: record), of: run)
    try partners.find(record, id: row.id)
    let start = min(offset, partners.count)
    places = start..<start + min(limit, partners.count - start)
    return owner
  }

  /// What finding the related records cost so far.
  var counters: ExecutionCounters { partners.counters }

  /// All related records of the row.
  func targets() throws -> [Target] {
    if places.isEmpty { return [] }
    for place in places {
      let number = partners.number(at: place)
      if number >= 0 {
        buffer.next().initialize(to: try shared(number, place))
      } else {
        buffer.next().initialize(to: try decode(place))
      }
      buffer.filled()
    }
    return buffer.takeArray()
  }

  /// The only related record of the row.
  func target() throws -> Target? {
    guard let place = places.first else { return nil }
    let number = partners.number(at: place)
    return number >= 0 ? try shared(number, place) : try decode(place)
  }

  private func shared(_ number: Int, _ place: Int) throws -> Target {
    while known.count <= number { known.append(nil) }
    if let record = known[number] { return record }
    let record = try decode(place)
    known[number] = record
    return record
  }

  @inline(__always)
  private func decode(_ place: Int) throws -> Target {
    try targetAccess.decode(partners.record(at: place), id: partners.id(at: place))
  }
}
