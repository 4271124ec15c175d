/// What a row is made of: a record, and its related rows of some associations.
struct RelatedRowForm<R: Record, Row>: Sendable {
  let parts: [RelatedPart<R>]
  /// Where the record and each part are in the memory of a row; nil if that is not known.
  let offsets: [Int]?
  /// Makes a row of the record and its parts, each in memory of its own, which it moves out.
  let assemble: @Sendable ([UnsafeMutableRawPointer]) -> Row

  /// Rows with parts of these types.
  init<each Part>(_ parts: [RelatedPart<R>], _ types: repeat (each Part).Type)
  where Row == (R, repeat each Part) {
    self.parts = parts
    var elements: [Any.Type] = [R.self]
    repeat elements.append(each types)
    offsets = TupleLayout.offsets(of: elements, in: Row.self)
    assemble = { places in
      var next = 0
      func take<Value>(_ type: Value.Type) -> Value {
        defer { next += 1 }
        // Each place has the part of the same number.
        return places[next].assumingMemoryBound(to: Value.self).move()
      }
      return (take(R.self), repeat take((each Part).self))
    }
  }

  /// Rows that are the records themselves.
  init() where Row == R {
    parts = []
    offsets = [0]
    assemble = { $0[0].assumingMemoryBound(to: R.self).move() }
  }

  /// Whether related records at any depth come in the order of records that are related to these.
  var hasRelatedOrder: Bool { parts.contains { $0.hasRelatedOrder } }
}

/// An association of the rows of a request, without the types at its other end.
class RelatedPart<Owner: Record>: @unchecked Sendable {  // Its subclass has only constants.
  fileprivate init() {}

  /// Refuses associations that no open type lists, and related records of a page, at any depth.
  func check(in tx: ReadTransaction) throws {}

  /// Plans how the related records are found at any depth, and writes pending changes that this
  /// reads. The result opens the cursors, when everything is written.
  func prepared(in tx: ReadTransaction) throws -> () throws -> RelatedPartRun {
    // Only Larch makes them, and the one that it makes overrides this.
    preconditionFailure("\(Self.self) has no related records.")
  }

  /// A test of the related records at any depth, for an observer.
  var dependency: FilterNode { .always }
  var hasRelatedOrder: Bool { false }

  /// Its part of a plan.
  func lines(below indent: String) -> [String] { [] }
}

extension RelatedPart {
  static func many<A: ToManyAssociation>(
    _ association: A, _ targets: Query<A.Target>
  ) -> RelatedPart where A.Owner == Owner {
    AssociatedRows(association._route.kind, targets, RelatedRowForm()) {
      ManyRelatedRows($0, $1, $2)
    }
  }

  static func many<A: ToManyAssociation, Element>(
    _ association: A, _ targets: WithRelated<A.Target, Element>
  ) -> RelatedPart where A.Owner == Owner {
    AssociatedRows(association._route.kind, targets.query, targets.form) {
      ManyRelatedRows($0, $1, $2)
    }
  }

  static func one<A: ToOneAssociation>(
    _ association: A, _ targets: Query<A.Target>
  ) -> RelatedPart where A.Owner == Owner {
    AssociatedRows(association._route.kind, targets, RelatedRowForm()) {
      OneRelatedRow($0, $1, $2)
    }
  }

  static func one<A: ToOneAssociation, Element>(
    _ association: A, _ targets: WithRelated<A.Target, Element>
  ) -> RelatedPart where A.Owner == Owner {
    AssociatedRows(association._route.kind, targets.query, targets.form) {
      OneRelatedRow($0, $1, $2)
    }
  }
}

/// An association of the rows of a request.
private final class AssociatedRows<Owner: Record, Target: Record, Element>: RelatedPart<Owner>,
  @unchecked Sendable
{  // As its superclass says.
  private let route: AssociationRoute.Kind
  private let targets: Query<Target>
  private let form: RelatedRowForm<Target, Element>
  private let run:
    @Sendable (JoinPartners, RelatedRowMaker<Target, Element>, QueryDescription) -> RelatedPartRun

  init(
    _ route: AssociationRoute.Kind, _ targets: Query<Target>,
    _ form: RelatedRowForm<Target, Element>,
    run:
      @escaping @Sendable (JoinPartners, RelatedRowMaker<Target, Element>, QueryDescription)
      -> RelatedPartRun
  ) {
    self.route = route
    self.targets = targets
    self.form = form
    self.run = run
    super.init()
  }

  override func check(in tx: ReadTransaction) throws {
    try tx.context.catalog.checkListed(route)
    guard targets.details.after == nil else {
      throw LarchError(
        .invalidQuery,
        "A page token does not work for the related records of one record; use offset and limit."
      ) { $0.collection = Target.collectionName }
    }
    guard !targets.details.isByRelevance else {
      throw LarchError(
        .invalidQuery,
        "The related records of one record have no order by relevance; sort them by a field, or fetch them as a query."
      ) { $0.collection = Target.collectionName }
    }
    for part in form.parts { try part.check(in: tx) }
  }

  override func prepared(in tx: ReadTransaction) throws -> () throws -> RelatedPartRun {
    let context = tx.context
    let owners = try context.collection(of: Owner.self)
    let related = try context.collection(of: Target.self)
    let refined = try tx.prepare(targets.details, for: .records, in: related)
    if tx.mayHavePendingEntries {
      for database in try JoinPartners.databases(route, from: owners, to: related, context) {
        try tx.writePending(for: database)
      }
    }
    let further = try form.parts.map { try $0.prepared(in: tx) }
    return { [self] in
      let access = RecordAccess<Target>(context, related, with: refined.answers)
      let partners = try JoinPartners.along(
        route, from: owners, RecordAccess<Owner>(context, owners), to: related, access,
        targets.details, context)
      let maker = RelatedRowMaker(form, access, try further.map { try $0() })
      return run(partners, maker, targets.details)
    }
  }

  override var dependency: FilterNode {
    let filter = form.parts.reduce(targets.details.filter) { $0.and($1.dependency) }
    return .related(RelatedFilter(route, AssociatedType(Target.self), filter))
  }

  override var hasRelatedOrder: Bool { targets.details.hasRelatedOrder || form.hasRelatedOrder }

  override func lines(below indent: String) -> [String] {
    let details = targets.details
    var lines = [indent + "with \(Target.collectionName)"]
    func add(_ text: String) { lines.append(indent + "  " + text) }
    if !details.filter.isAlways { add("filter " + details.filter.text) }
    if !details.order.isEmpty || details.idsDescend { add("sort those of each record") }
    if details.offset > 0 { add("offset \(details.offset) of each record") }
    if let limit = details.limit { add("limit \(limit) for each record") }
    return lines + form.parts.flatMap { $0.lines(below: indent + "  ") }
  }
}
