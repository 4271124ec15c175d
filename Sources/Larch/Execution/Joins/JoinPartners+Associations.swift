extension JoinPartners {
  /// The related records of an association, for the records of its owner.
  ///
  /// - Parameters:
  ///   - typed: the access to the records of the owner.
  ///   - target: the query of the related records, and the access to them.
  static func along(
    _ route: AssociationRoute.Kind, from owner: CollectionHandle, _ typed: TypedAccess,
    to target: CollectionHandle, _ targetTyped: TypedAccess, _ query: QueryDescription,
    _ context: TransactionContext
  ) throws -> JoinPartners {
    func keys(
      _ field: FieldReference, _ typed: TypedAccess
    ) -> JoinKeyReader {
      JoinKeyReader(field, context: context, typed: typed)
    }
    switch route {
    case .parent(let reference), .listed(let reference):
      return try KeyedPartners(
        keys(owner.field(of: reference), typed), keys(target.idField, targetTyped), .id, query,
        in: target, context: context, typed: targetTyped, keepsFound: true, keepsFoundOrder: true)
    case .children(let reference):
      return try children(reference, owner, typed, target, targetTyped, query, context)
    case .links(let links):
      guard let lists = context.catalog.association(links.key)?.lists else {
        throw LarchError.unknownAssociation(links.owner, links.target)
      }
      return try LinkedPartners(
        links.isInverse ? lists.inverse : lists.forward, query, in: target, context: context,
        typed: targetTyped, keepsFound: true)
    case .through(let near, let far):
      let join = try context.collection(near.holder.id, name: near.holder.collection)
      let joinTyped = join.access(partOf: RelatedAnswers(context))
      let joins = try children(
        near, owner, typed, join, joinTyped, QueryDescription(), context)
      return try ThroughPartners(
        joins, keys(join.field(of: far), joinTyped), query, in: target, context: context,
        typed: targetTyped, keepsFound: true)
    }
  }

  private static func children(
    _ reference: ReferenceDeclaration, _ owner: CollectionHandle, _ typed: TypedAccess,
    _ target: CollectionHandle, _ targetTyped: TypedAccess, _ query: QueryDescription,
    _ context: TransactionContext
  ) throws -> JoinPartners {
    let field = target.field(of: reference)
    let outer = JoinKeyReader(owner.idField, context: context, typed: typed)
    let inner = JoinKeyReader(field, context: context, typed: targetTyped)
    if let access = JoinPlan.access(to: field, of: target) {
      // Only a list of references makes several owners share a record. Ids of one width are whole in
      // the index.
      return try KeyedPartners(
        outer, inner, access, query, in: target, context: context, typed: targetTyped,
        keepsIndexed: reference.isList && owner.stored.idKind.width != nil)
    }
    // A read-only file may not have the index.
    var all = query
    all.limit = nil
    all.offset = 0
    let plan = try Planner(schema: target.schema, usable: target.answering).plan(
      all, for: .records, statistics: IndexStatistics(target, context))
    let run = try PlanRun(plan, in: target, context: context, typed: targetTyped)
    return TablePartners(outer, inner, run, keepsAlone: false)
  }

  /// The databases that are read to find partners along an association, without those of records.
  static func databases(
    _ route: AssociationRoute.Kind, from owner: CollectionHandle, to target: CollectionHandle,
    _ context: TransactionContext
  ) throws -> [LMDBDatabase] {
    switch route {
    case .parent, .listed: return []
    case .children: return target.indexes.filter(\.isReady).map(\.database)
    case .links(let links):
      guard let lists = context.catalog.association(links.key)?.lists else { return [] }
      return [lists.forward, lists.inverse]
    case .through(let near, _):
      let join = try context.collection(near.holder.id, name: near.holder.collection)
      return join.indexes.filter(\.isReady).map(\.database)
    }
  }
}
