/// An association by which rows depend on more than their own records.
struct RelatedDependency {
  /// Contains the tests of related records; the rest of it is of no interest.
  let filter: FilterNode
  /// Whether all that related records contain counts, and not only whether they pass the filter.
  let isContent: Bool
}

/// Changes of the records of several trees, each id once.
struct ChangesByTree {
  /// There are few trees, mostly one.
  private var lists: [(tree: UInt32, changes: [StoredChange])] = []

  subscript(tree: UInt32) -> [StoredChange]? {
    get { lists.first { $0.tree == tree }?.changes }
    set {
      lists.removeAll { $0.tree == tree }
      if let newValue { lists.append((tree, newValue)) }
    }
  }

  /// How many records of one tree have changed at most.
  var greatestCount: Int { lists.reduce(0) { max($0, $1.changes.count) } }
}

/// The trees of the records that rows depend on, and the other ones that they are found by.
struct RelatedTrees {
  /// Also that of the rows themselves.
  var records = TreeSet()
  /// Also the lists of associations. What changes in a list is not known record by record.
  var all = TreeSet()

  init(_ collection: CollectionHandle) { add(collection) }

  /// Nil without dependencies.
  init?(
    _ dependencies: [RelatedDependency], of collection: CollectionHandle,
    _ context: TransactionContext
  ) throws {
    if dependencies.isEmpty { return nil }
    self.init(collection)
    for dependency in dependencies { try add(dependency.filter, context) }
  }

  mutating func formUnion(_ other: RelatedTrees) {
    records.formUnion(other.records)
    all.formUnion(other.all)
  }

  private mutating func add(_ collection: CollectionHandle) {
    records.insert(collection.records.handle)
    all.insert(collection.records.handle)
  }

  private mutating func add(_ filter: FilterNode, _ context: TransactionContext) throws {
    try filter.forEachRelated { related in
      let route = try RelatedRoute(related, context)
      add(route.target)
      if case .links(let end, _) = route.kind, let lists = end.association.lists {
        all.insert(lists.forward.handle)
        all.insert(lists.inverse.handle)
      }
      try add(related.filter, context)
    }
  }
}

/// Finds the records whose rows may be others after changes of related records.
///
/// It works in the snapshot after the changes. A record that was not changed itself has the same
/// entries there as before in the indexes of its references, and in the lists of the store, if these
/// have not changed. So the holders of the id of a changed record are found there, as they were and as
/// they are. Where the changed record holds the ids, its bytes before and after tell them.
final class RelatedCandidates {
  /// Why it is not known what has changed.
  enum Unknown: Error {
    case tooMany
    /// No index has the holders of the ids of related records.
    case noIndex
    /// A read returned what it was not asked for.
    case otherRows
  }

  private let context: TransactionContext
  private let answers: RelatedAnswers
  private let changes: ChangesByTree
  /// How many more entries and changes may be looked at.
  private var room: Int
  @exclusivity(unchecked) private var writer = KeyWriter()

  /// - Parameters:
  ///   - changes: those of all trees that the rows depend on.
  ///   - room: how many entries and changes are looked at; with more it throws.
  init(_ changes: ChangesByTree, room: Int, _ context: TransactionContext) {
    self.changes = changes
    self.room = room
    self.context = context
    answers = RelatedAnswers(context)
  }

  /// The ids of the records of the rows. Throws if they cannot be found with the room.
  func ids(_ dependencies: [RelatedDependency]) throws -> Set<[UInt8]> {
    try dependencies.reduce(into: []) { try $0.formUnion(owners($1.filter, $1.isContent)) }
  }

  /// The ids of records that have not changed themselves. Throws if these and those that have are too
  /// many.
  func ids(
    _ dependencies: [RelatedDependency], beside own: [StoredChange], most: Int
  ) throws -> Set<[UInt8]> {
    guard own.count <= most else { throw Unknown.tooMany }
    let concerned = try ids(dependencies).subtracting(own.map(\.id))
    guard own.count + concerned.count <= most else { throw Unknown.tooMany }
    return concerned
  }

  private func owners(_ filter: FilterNode, _ isContent: Bool) throws -> Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    try filter.forEachRelated { try found.formUnion(owners($0, isContent)) }
    return found
  }

  /// The ids of the records that have such a related record, or had one.
  private func owners(_ related: RelatedFilter, _ isContent: Bool) throws -> Set<[UInt8]> {
    let side = try Side(related, answers)
    // With a filter of a further association, the bytes show only whom it refuses in any case.
    let isExact = !isContent && !related.filter.asksRelated
    let further = try owners(related.filter, isContent)
    let changed = changes[side.route.target.records.handle] ?? []
    var found: Set<[UInt8]> = []
    for change in changed {
      try spend()
      try change.withRecords { old, new, id in
        let (old, new) = (try side.passing(old, id), try side.passing(new, id))
        if let held = side.held {
          let (before, after) = (try ids(held, old), try ids(held, new))
          found.formUnion(isExact ? before.symmetricDifference(after) : before.union(after))
        } else if isExact ? (old == nil) != (new == nil) : old != nil || new != nil {
          try add(side, id, to: &found)
        }
      }
    }
    if further.isEmpty { return found }
    let known = Set(changed.map(\.id))
    for id in further.subtracting(known) {
      try id.withUnsafeBytes { id in
        let stored = try side.route.target.records.get(id, in: try context.transaction())
        guard let record = try side.passing(stored.map { try side.reader.open($0, id) }, id) else {
          return
        }
        if let held = side.held {
          found.formUnion(try ids(held, record))
        } else {
          try add(side, id, to: &found)
        }
      }
    }
    return found
  }

  /// The ids of owners that a related record holds; none without a record.
  private func ids(_ held: HeldIDs, _ record: UnsafeRawBufferPointer?) throws -> Set<[UInt8]> {
    var ids: Set<[UInt8]> = []
    guard let record else { return ids }
    try held.forEach(in: record) { id in
      try spend()
      ids.insert([UInt8](id))
      return true
    }
    return ids
  }

  /// Adds the ids of the owners in whose references or lists a related record is.
  private func add(
    _ side: Side, _ id: UnsafeRawBufferPointer, to found: inout Set<[UInt8]>
  ) throws {
    guard let end = side.end else { throw Unknown.noIndex }
    try spend()
    try AssociationList(end, of: id, &writer)?.forEach(context) { owner in
      try spend()
      found.insert([UInt8](owner))
      return true
    }
  }

  private func spend() throws {
    room -= 1
    if room < 0 { throw Unknown.tooMany }
  }
}

/// The related records of one association.
private struct Side {
  let route: RelatedRoute
  /// What reads the ids of owners; nil if related records hold none.
  let held: HeldIDs?
  /// The end of the related records, if it has a list of owners for each of them.
  let end: AssociationEnd?
  let reader: RowReader
  private let test: FilterProgram?

  init(_ related: RelatedFilter, _ answers: RelatedAnswers) throws {
    let context = answers.context
    route = try RelatedRoute(related, context)
    switch route.kind {
    case .held(let reference): (held, end) = (nil, route.end(of: reference, context))
    case .holding(let reference, _):
      (held, end) = (HeldIDs(reference, in: route.target, context), nil)
    case .links(_, let target): (held, end) = (nil, target)
    }
    let typed = route.target.access(partOf: answers)
    reader = try RowReader(route.target, residue: [], context: context, typed: typed)
    let filter = related.filter.withoutRelated()
    test = filter.isAlways ? nil : try FilterProgram([filter], context: context, typed: typed)
  }

  /// The record, if it can pass the filter.
  func passing(
    _ record: UnsafeRawBufferPointer?, _ id: UnsafeRawBufferPointer
  ) throws -> UnsafeRawBufferPointer? {
    guard let record else { return nil }
    return try test?.matches(record, id: id) ?? true ? record : nil
  }
}

extension QueryDescription {
  /// The query of those of its records that have one of these ids, without a limit.
  func only(_ ids: some Sequence<[UInt8]>, in collection: CollectionHandle) throws -> Self {
    let values = try ids.map { id in
      guard let value = id.withUnsafeBytes({ KeyValue(id: $0, collection.stored.idKind) }) else {
        throw RelatedCandidates.Unknown.otherRows
      }
      return [value]
    }
    var query = self
    query.limit = nil
    query.filter = filter.and(
      .field(FieldFilter(collection.idField, .oneOf(anyOrder: values))))
    return query
  }
}

extension FilterNode {
  /// Calls with each test of related records, but not with those inside of one.
  func forEachRelated(_ body: (RelatedFilter) throws -> Void) rethrows {
    switch self {
    case .all(let nodes), .any(let nodes): for node in nodes { try node.forEachRelated(body) }
    case .not(let node): try node.forEachRelated(body)
    case .related(let related): try body(related)
    case .field, .pair, .words, .record: break
    }
  }
}
