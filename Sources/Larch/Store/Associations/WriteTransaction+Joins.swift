/// Join records: an association through them is changed by saving and deleting them.
extension WriteTransaction {
  /// Makes and saves the join record between the owner and another record.
  func addJoin<Owner: Record, Target: Record, Join: Record>(
    _ id: Target.ID, to related: Related<Owner, Target>,
    _ make: (Owner.ID, Target.ID) throws -> Join
  ) throws -> Join {
    _ = try end(of: related)
    guard case .through(let near, let far) = related.route,
      let near = near as? TypedReference<Join>, let far = far as? TypedReference<Join>
    else { throw related.needsOtherRecord(Join.self) }
    if related.owner.id._isUnassigned { throw related.unsavedOwner }
    if id._isUnassigned { throw related.unsavedTarget }
    var join = try make(related.owner.id, id)
    guard near.ids(of: join, as: Owner.ID.self).contains(related.owner.id),
      far.ids(of: join, as: Target.ID.self).contains(id)
    else { throw related.otherIDs(Join.self) }
    try save(&join)
    return join
  }

  func replaceJoins<Owner: Record, Target: Record, Join: Record>(
    of related: Related<Owner, Target>, with ids: [Target.ID],
    _ make: (Owner.ID, Target.ID) throws -> Join
  ) throws {
    _ = try end(of: related)
    guard case .through(let near, let far) = related.route,
      near.holder.id == ObjectIdentifier(Join.self)
    else { throw related.needsOtherRecord(Join.self) }
    try undoablePart {
      let current = try joinedIDs(near, far, related)
      let wanted = Set(ids)
      for id in current where !wanted.contains(id) {
        try deleteJoins(near, far, to: id, related)
      }
      var known = current
      for id in ids where known.insert(id).inserted {
        _ = try addJoin(id, to: related, make)
      }
    }
  }

  /// Without a closure that makes join records, only those that are related already may remain.
  func replaceJoins<Owner: Record, Target: Record>(
    _ near: ReferenceDeclaration, _ far: ReferenceDeclaration, with wanted: Set<Target.ID>,
    _ related: Related<Owner, Target>
  ) throws {
    if wanted.isEmpty { return try deleteJoins(near, far, to: nil, related) }
    let current = try joinedIDs(near, far, related)
    guard wanted.isSubset(of: current) else { throw related.needsJoinRecord }
    for id in current where !wanted.contains(id) {
      try deleteJoins(near, far, to: id, related)
    }
  }

  /// The ids of which the owner has a join record, also of records that are not saved.
  private func joinedIDs<Owner: Record, Target: Record>(
    _ near: ReferenceDeclaration, _ far: ReferenceDeclaration, _ related: Related<Owner, Target>
  ) throws -> Set<Target.ID> {
    func read<Join: Record>(_ type: Join.Type) throws -> Set<Target.ID> {
      let far = try related.reference(far, of: type)
      let held = try fetch(joins(near, type, related))
      return Set(held.flatMap { far.ids(of: $0, as: Target.ID.self) })
    }
    let collection = try context.collection(near.holder.id, name: near.holder.collection)
    return try read(collection.schema.type)
  }

  /// Deletes the join records between the owner and one record, or all of the owner's.
  func deleteJoins<Owner: Record, Target: Record>(
    _ near: ReferenceDeclaration, _ far: ReferenceDeclaration, to id: Target.ID?,
    _ related: Related<Owner, Target>
  ) throws {
    func delete<Join: Record>(_ type: Join.Type) throws {
      let far = try related.reference(far, of: type)
      var query = try joins(near, type, related)
      if let id {
        query.details.filter = query.details.filter.and(
          .field(FieldFilter(far.field, .equal(Target.ID.values(of: id)))))
      }
      _ = try self.delete(query)
    }
    let collection = try context.collection(near.holder.id, name: near.holder.collection)
    try delete(collection.schema.type)
  }

  /// The join records of the owner.
  private func joins<Join: Record, Owner: Record, Target: Record>(
    _ near: ReferenceDeclaration, _ type: Join.Type, _ related: Related<Owner, Target>
  ) throws -> Query<Join> {
    if related.owner.id._isUnassigned { throw related.unsavedOwner }
    let near = try related.reference(near, of: type)
    var query = Join.all
    query.details.filter = .field(
      FieldFilter(near.field, .equal(Owner.ID.values(of: related.owner.id))))
    return query
  }
}

extension Related {
  var needsJoinRecord: LarchError {
    LarchError(
      .unsuitableAssociation,
      "An association through a join record cannot be changed by ids alone; give a closure that makes the join record, as `add(_:to:through:)` and `replace(_:with:through:)` take it."
    ) {
      $0.collection = Owner.collectionName
      $0.detail = Target.collectionName
    }
  }

  fileprivate func needsOtherRecord<Join: Record>(_ type: Join.Type) -> LarchError {
    LarchError(
      .unsuitableAssociation,
      "The association does not go through records of the type that the closure makes; make the join record that it declares, or use a form without a closure."
    ) {
      $0.collection = Owner.collectionName
      $0.detail = Join.collectionName
    }
  }

  fileprivate func otherIDs<Join: Record>(_ type: Join.Type) -> LarchError {
    LarchError(
      .unsuitableAssociation,
      "The closure made a join record of other records; use the two ids that it is called with, the owner's first."
    ) {
      $0.collection = Join.collectionName
      $0.detail = Target.collectionName
    }
  }

  fileprivate var unsavedTarget: LarchError {
    LarchError(
      .unsavedReference, "A record without an id cannot be related to another; save it first."
    ) { $0.collection = Target.collectionName }
  }
}
