extension WriteTransaction {
  func addOne<Owner: Record, Target: Record>(
    _ id: Target.ID, to related: Related<Owner, Target>
  ) throws {
    try traced("add", Target.self) { try addOneNow(id, to: related) }
  }

  private func addOneNow<Owner: Record, Target: Record>(
    _ id: Target.ID, to related: Related<Owner, Target>
  ) throws {
    let end = try end(of: related)
    switch related.route {
    case .links: try addLink(id, end, related)
    case .through: throw related.needsJoinRecord
    case .children(let reference):
      let reference = try related.reference(reference, of: Target.self)
      try addChildren(CollectionOfOne(id), reference, related)
    case .parent(let reference), .listed(let reference):
      let ids = [id]
      try changeOwner(of: related, reference) { $0.addAll(&$1, ids) }
    }
  }

  func addAll<Owner: Record, Target: Record, IDs: Sequence>(
    _ ids: IDs, to related: Related<Owner, Target>
  ) throws where IDs.Element == Target.ID {
    try traced("add", Target.self) { try addAllNow(ids, to: related) }
  }

  private func addAllNow<Owner: Record, Target: Record, IDs: Sequence>(
    _ ids: IDs, to related: Related<Owner, Target>
  ) throws where IDs.Element == Target.ID {
    let end = try end(of: related)
    switch related.route {
    case .links: try addLinks(ids, end, related)
    case .through: throw related.needsJoinRecord
    case .children(let reference):
      let reference = try related.reference(reference, of: Target.self)
      // An error in the middle must undo the changes before it.
      try undoablePart { try addChildren(ids, reference, related) }
    case .parent(let reference), .listed(let reference):
      let ids = Array(ids)
      try changeOwner(of: related, reference) { $0.addAll(&$1, ids) }
    }
  }

  func addSaving<Owner: Record, Target: Record>(
    _ record: inout Target, to related: Related<Owner, Target>
  ) throws {
    try traced("add", Target.self) { try addSavingNow(&record, to: related) }
  }

  private func addSavingNow<Owner: Record, Target: Record>(
    _ record: inout Target, to related: Related<Owner, Target>
  ) throws {
    let end = try end(of: related)
    if related.owner.id._isUnassigned { throw related.unsavedOwner }
    switch related.route {
    case .through: throw related.needsJoinRecord
    case .children(let reference):
      let reference = try related.reference(reference, of: Target.self)
      guard reference.add(&record, related.owner.id) else {
        throw related.cannotBeSet(reference)
      }
      try save(&record)
    case .links:
      try undoablePart {
        try save(&record)
        try addLink(record.id, end, related)
      }
    case .parent(let reference), .listed(let reference):
      try undoablePart {
        try save(&record)
        let ids = [record.id]
        try changeOwner(of: related, reference) { $0.addAll(&$1, ids) }
      }
    }
  }

  func remove<Owner: Record, Target: Record>(
    _ id: Target.ID, from related: Related<Owner, Target>
  ) throws {
    try traced("remove", Target.self) { try removeNow(id, from: related) }
  }

  private func removeNow<Owner: Record, Target: Record>(
    _ id: Target.ID, from related: Related<Owner, Target>
  ) throws {
    let end = try end(of: related)
    switch related.route {
    case .links: try removeLink(id, end, related)
    case .through(let near, let far): try deleteJoins(near, far, to: id, related)
    case .children(let reference):
      try removeChild(id, try related.reference(reference, of: Target.self), related)
    case .parent(let reference), .listed(let reference):
      let key = [UInt8](try context.key(of: id))
      try changeOwner(of: related, reference) { reference, owner in
        try key.withUnsafeBytes { try reference.remove(&owner, $0, &context.listWriter) }
      }
    }
  }

  func replace<Owner: Record, Target: Record, IDs: Sequence>(
    _ related: Related<Owner, Target>, with ids: IDs
  ) throws where IDs.Element == Target.ID {
    try traced("replace", Target.self) { try replaceNow(related, with: ids) }
  }

  private func replaceNow<Owner: Record, Target: Record, IDs: Sequence>(
    _ related: Related<Owner, Target>, with ids: IDs
  ) throws where IDs.Element == Target.ID {
    let end = try end(of: related)
    switch related.route {
    case .links: try replaceLinks(with: ids, end, related)
    case .through(let near, let far):
      let wanted = Set(ids)
      try undoablePart { try replaceJoins(near, far, with: wanted, related) }
    case .children(let reference):
      let reference = try related.reference(reference, of: Target.self)
      let wanted = Array(ids)
      try undoablePart {
        let kept = Set(wanted)
        for id in try self.ids(related) where !kept.contains(id) {
          try removeChild(id, reference, related)
        }
        try addChildren(wanted, reference, related)
      }
    case .parent(let reference), .listed(let reference):
      let ids = Array(ids)
      try changeOwner(of: related, reference) { $0.replaceAll(&$1, ids) }
    }
  }
}

// MARK: - Properties with ids

extension WriteTransaction {
  private func addChildren<Owner: Record, Target: Record, IDs: Sequence>(
    _ ids: IDs, _ reference: TypedReference<Target>, _ related: Related<Owner, Target>
  ) throws where IDs.Element == Target.ID {
    if related.owner.id._isUnassigned { throw related.unsavedOwner }
    for id in ids {
      guard let stored = try find(Target.self, id) else { throw notFound(Target.self, id) }
      var child = stored
      guard reference.add(&child, related.owner.id) else {
        throw related.cannotBeSet(reference)
      }
      try saveReferences(child, before: stored, reference)
    }
  }

  private func removeChild<Owner: Record, Target: Record>(
    _ id: Target.ID, _ reference: TypedReference<Target>, _ related: Related<Owner, Target>
  ) throws {
    let owner = [UInt8](try context.savedKey(of: related))
    guard let stored = try find(Target.self, id) else { return }
    var child = stored
    let isDone = try owner.withUnsafeBytes {
      try reference.remove(&child, $0, &context.listWriter)
    }
    guard isDone else { throw related.cannotBeSet(reference) }
    try saveReferences(child, before: stored, reference)
  }

  /// Changes the ids in the stored record of the owner.
  private func changeOwner<Owner: Record, Target: Record>(
    of related: Related<Owner, Target>, _ reference: ReferenceDeclaration,
    _ change: (TypedReference<Owner>, inout Owner) throws -> Bool
  ) throws {
    let reference = try related.reference(reference, of: Owner.self)
    if related.owner.id._isUnassigned { throw related.unsavedOwner }
    guard let stored = try find(Owner.self, related.owner.id) else {
      throw notFound(Owner.self, related.owner.id)
    }
    var owner = stored
    guard try change(reference, &owner) else { throw related.cannotBeSet(reference) }
    try saveReferences(owner, before: stored, reference)
  }

  private func notFound<R: Record>(_ type: R.Type, _ id: R.ID) -> LarchError {
    LarchError(
      .recordNotFound,
      "The record that holds the reference does not exist; save it first."
    ) {
      $0.collection = R.collectionName
      $0.id = "\(id)"
    }
  }
}

// MARK: - Errors

extension Related {
  /// The reference with the type of its holder.
  func reference<Holder: Record>(
    _ reference: ReferenceDeclaration, of type: Holder.Type
  ) throws -> TypedReference<Holder> {
    guard let typed = reference as? TypedReference<Holder> else { throw unknownAssociation }
    return typed
  }

  fileprivate func cannotBeSet(_ reference: ReferenceDeclaration) -> LarchError {
    let fill: (inout LarchError.Context) -> Void = {
      $0.collection = reference.holder.collection
      $0.field = reference.fieldText
    }
    guard reference.isWritable else {
      return LarchError(
        .unsuitableAssociation,
        "The property that holds the reference cannot be set; make it a stored `var`, or save a changed record.",
        fill)
    }
    return LarchError(
      .unsuitableAssociation,
      "The property holds only one id, or must have one; set another id, or make the property optional.",
      fill)
  }
}

extension ReferenceDeclaration {
  /// The name of the property in errors.
  var fieldText: String {
    guard case .stored(let path, _) = resolve() else { return String(describing: keyPath) }
    return "\(holder.collection).\(path.joined(separator: "."))"
  }
}
