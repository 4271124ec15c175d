/// A line of related records that was checked against the schema.
class MapLink<R: Record> {
  /// The key of the property of the record that the line gives its value; nil if the record has none.
  let name: String?
  /// Whether this property is set from the element: null is nil.
  let isField: Bool

  init(name: String?, isField: Bool) {
    self.name = name
    self.isField = isField
  }

  /// Saves the objects that the record of the element refers to. Returns what the other steps need.
  func linkBefore(
    _ value: Range<Int>?, _ source: UnsafeRawBufferPointer, _ input: inout ElementInput,
    _ tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> Any? { nil }

  /// Changes the record before it is saved.
  func adjust(
    _ record: inout R, _ state: Any?, stored: R.ID?, _ existing: ImportExisting,
    _ tx: WriteTransaction
  ) throws {}

  /// Links what refers to the record, which is saved.
  func linkAfter(
    _ record: R, _ state: Any?, _ value: Range<Int>?, _ source: UnsafeRawBufferPointer,
    _ tx: WriteTransaction, _ tally: inout MapTally
  ) throws {}
}

/// A line with its types.
final class TypedLink<A: Association>: MapLink<A.Owner> {
  typealias Owner = A.Owner
  typealias Target = A.Target

  /// Where the association keeps its references.
  private enum Route {
    case one(String)
    case list(String, TypedReference<Owner>)
    case children(String, TypedReference<Target>, isOne: Bool)
    case through(JoinMaker<Owner, Target>)
    case links
  }

  private let association: A
  private let route: Route
  private let isReplacing: Bool
  private let key: String
  private let linked: LinkedObjects<Target>

  /// - Throws: `.invalidImportMap`, `.unsuitableMatch`, `.unsuitableAssociation`,
  ///   `.unknownAssociation`, `.unknownCollection`.
  init(
    _ association: A, _ keys: [String], _ matcher: RecordMatcher<Target>, _ isReplacing: Bool,
    _ map: ImportMap<Target>?, _ session: MapSession, _ tx: ReadTransaction
  ) throws {
    self.association = association
    self.isReplacing = isReplacing
    key = keys.joined(separator: " or ")
    try tx.context.catalog.checkListed(association._route.kind)
    let route = try TypedLink.route(association, session, tx)
    self.route = route
    linked = try LinkedObjects(matcher, map, key, session, tx)
    switch route {
    case .one(let name): super.init(name: name, isField: true)
    case .list(let name, _): super.init(name: name, isField: false)
    case .children, .through, .links: super.init(name: nil, isField: false)
    }
  }

  private static func route(
    _ association: A, _ session: MapSession, _ tx: ReadTransaction
  ) throws -> Route {
    switch association._route.kind {
    case .parent(let reference) where !reference.isList: return .one(try name(of: reference))
    case .parent(let reference), .listed(let reference):
      return .list(try name(of: reference), try typed(reference))
    case .children(let reference):
      return .children(
        try name(of: reference), try typed(reference),
        isOne: association is any ToOneAssociation)
    case .through(let near, let far):
      let names = (near: try name(of: near), far: try name(of: far))
      let joins = try tx.context.collection(near.holder.id, name: near.holder.collection)
      return .through(try JoinMaker(near, far, names, joins.schema.type, session.options))
    case .links: return .links
    }
  }

  private static func typed<Holder: Record>(
    _ reference: ReferenceDeclaration
  ) throws -> TypedReference<Holder> {
    guard !reference.isList || reference.isWritable else {
      throw LarchError(
        .unsuitableAssociation,
        "The property that holds the reference cannot be set; make it a stored `var`, or save a changed record."
      ) {
        $0.collection = reference.holder.collection
        $0.field = reference.fieldText
      }
    }
    guard let typed = reference as? TypedReference<Holder> else {
      throw LarchError.unknownAssociation(AssociatedType(Owner.self), AssociatedType(Target.self))
    }
    return typed
  }

  private static func name(of reference: ReferenceDeclaration) throws -> String {
    guard case .stored(let path, _) = reference.resolve(), path.count == 1 else {
      throw MapPlan<Owner>.error(
        "A line of an import map links records by a property inside another value; link them in `DidImport`.",
        reference.fieldText)
    }
    return path[0]
  }

  // MARK: Saving

  override func linkBefore(
    _ value: Range<Int>?, _ source: UnsafeRawBufferPointer, _ input: inout ElementInput,
    _ tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> Any? {
    switch route {
    case .children: return nil
    case .one(let name):
      guard let value else { return nil }
      let ids = try save(value, isOne: true, LinkedValues(), source, tx, &tally)
      if let id = ids.first { input.given[name] = id }
      return ids
    case .list(let name, _):
      input.emptyLists.insert(name)
      guard let value else { return nil }
      return try save(value, isOne: false, LinkedValues(), source, tx, &tally)
    case .through, .links:
      guard let value else { return nil }
      return try save(value, isOne: false, LinkedValues(), source, tx, &tally)
    }
  }

  override func adjust(
    _ record: inout Owner, _ state: Any?, stored: Owner.ID?, _ existing: ImportExisting,
    _ tx: WriteTransaction
  ) throws {
    guard case .list(_, let reference) = route else { return }
    let ids = state as? [Target.ID]
    if isReplacing {
      if let ids { _ = reference.replaceAll(&record, ids) }
      return
    }
    // The stored list stays, and those of the element follow.
    if existing == .replace, let stored, let before = try tx.find(Owner.self, stored) {
      reference.copy(before, &record)
    }
    if let ids, !ids.isEmpty { _ = reference.addAll(&record, ids) }
  }

  override func linkAfter(
    _ record: Owner, _ state: Any?, _ value: Range<Int>?, _ source: UnsafeRawBufferPointer,
    _ tx: WriteTransaction, _ tally: inout MapTally
  ) throws {
    guard let value else { return }
    let related = record.related(association)
    try KeyedError.under(key) {
      switch route {
      case .one, .list: break
      case .links:
        let ids = state as? [Target.ID] ?? []
        if isReplacing {
          try tx.replace(related, with: ids)
        } else {
          try tx.add(contentsOf: ids, to: related)
        }
      case .through(let joins):
        let ids = state as? [Target.ID] ?? []
        for id in ids { try joins.join(record.id, id, tx) }
        if isReplacing { try tx.replace(related, with: ids) }
      case .children: break
      }
    }
    guard case .children(let name, let reference, let isOne) = route else { return }
    let values = values(of: record, name, reference, isOne: isOne, tx)
    let ids = try save(value, isOne: isOne, values, source, tx, &tally)
    if isReplacing { try KeyedError.under(key) { try tx.replace(related, with: ids) } }
  }

  /// What makes a linked record refer to the owner.
  private func values(
    of owner: Owner, _ name: String, _ reference: TypedReference<Target>, isOne: Bool,
    _ tx: WriteTransaction
  ) -> LinkedValues<Target> {
    var values = LinkedValues<Target>()
    if reference.isList {
      values.emptyLists = [name]
      values.adjust = { _ = reference.add(&$0, owner.id) }
    } else {
      values.given = [name: owner.id]
      guard isOne else { return values }
      let related = owner.related(association)
      values.adjust = { record in
        for id in try tx.ids(related) where id != record.id { try tx.remove(id, from: related) }
      }
    }
    return values
  }

  /// Saves the object, or the objects, of a value; none for null.
  private func save(
    _ value: Range<Int>, isOne: Bool, _ values: LinkedValues<Target>,
    _ source: UnsafeRawBufferPointer, _ tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> [Target.ID] {
    var ids: [Target.ID] = []
    var cursor = JSONCursor(source, value)
    switch try cursor.kind() {
    case .null: return []
    case .list:
      var parts: [Range<Int>] = []
      try cursor.forEachItem { parts.append($0) }
      guard !isOne || parts.count <= 1 else {
        throw KeyedError(
          key: key, error: linked.mismatch("a list of several stands for one record"))
      }
      for part in parts {
        let id = try linked.save(part, "\(key)[]", values, source, tx, &tally)
        if let id { ids.append(id) }
      }
    default:
      if let id = try linked.save(value, key, values, source, tx, &tally) { ids.append(id) }
    }
    tally.related[Target.collectionName, default: ImportRelated()].linked += ids.count
    return ids
  }
}
