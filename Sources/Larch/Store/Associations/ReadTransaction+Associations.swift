extension ReadTransaction {
  /// The owner's end of the association; nil if it goes through join records.
  ///
  /// - Throws: `.unknownAssociation` unless an open type declares it.
  final func end<Owner: Record, Target: Record>(
    of related: Related<Owner, Target>
  ) throws -> AssociationEnd? {
    switch related.route {
    case .parent(let reference), .listed(let reference):
      return try context.end(reference, isFirst: true, of: related)
    case .children(let reference):
      return try context.end(reference, isFirst: false, of: related)
    case .links(let links): return try context.end(links, of: related)
    case .through(let near, let far):
      _ = try context.end(near, isFirst: false, of: related)
      _ = try context.end(far, isFirst: true, of: related)
      return nil
    }
  }

  /// The list of the owner; nil if the owner itself has the ids, if the association goes through
  /// join records, or if there can be no list.
  ///
  /// - Throws: `.unsavedReference` if the owner has no id yet, `.unknownAssociation`.
  final func list<Owner: Record, Target: Record>(
    of related: Related<Owner, Target>
  ) throws -> AssociationList? {
    guard let end = try end(of: related) else { return nil }
    if case .inOwner = related.idLocation { try checkReferencesAreCurrent(related.owner) }
    if !end.isFirst, end.association.lists == nil, end.association.index?.isReady != true {
      throw LarchError(
        .unknownAssociation,
        "The index of the related records is incomplete; open the store for writing, which builds it."
      ) {
        $0.collection = end.association.stored.second
        $0.field = end.association.stored.key
      }
    }
    return AssociationList(end, of: try context.savedKey(of: related), &context.listWriter)
  }
}

extension TransactionContext {
  /// The bytes of the owner's id, in the buffer of the context.
  func savedKey<Owner: Record, Target: Record>(
    of related: Related<Owner, Target>
  ) throws -> UnsafeRawBufferPointer {
    if related.owner.id._isUnassigned { throw related.unsavedOwner }
    return try key(of: related.owner.id)
  }

  fileprivate func end<Owner: Record, Target: Record>(
    _ reference: ReferenceDeclaration, isFirst: Bool, of related: Related<Owner, Target>
  ) throws -> AssociationEnd {
    if let last = lastAssociation, last.declaration === reference, last.end.isFirst == isFirst {
      return last.end
    }
    // For a join record, the types of the two ends are not those of the reference.
    let type = isFirst ? reference.holder : reference.target
    let collection = try collection(type.id, name: type.collection)
    try catalog.checkListed(isFirst ? .parent(reference) : .children(reference))
    for end in catalog.ends(of: collection) where end.isFirst == isFirst {
      guard let declared = end.association.reference?.declaration,
        declared === reference || declared.isSame(as: reference)
      else { continue }
      lastAssociation = (reference, end)
      return end
    }
    throw related.unknownAssociation
  }

  fileprivate func end<Owner: Record, Target: Record>(
    _ links: LinksDeclaration, of related: Related<Owner, Target>
  ) throws -> AssociationEnd {
    if let last = lastAssociation, last.declaration === links { return last.end }
    let collection = try collection(of: Owner.self)
    try catalog.checkListed(.links(links))
    let key = links.key
    for end in catalog.ends(of: collection) where end.isFirst != links.isInverse {
      guard end.association.schema != nil, end.association.lists != nil,
        end.association.stored.key == key
      else { continue }
      lastAssociation = (links, end)
      return end
    }
    throw related.unknownAssociation
  }
}

extension TransactionContext {
  /// The stored id of a record of this type.
  @inline(__always)
  func id<R: Record>(
    of type: R.Type, _ bytes: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws -> R.ID {
    let declarations = collection.declarations(of: type)
    if collection.stored.idKind == .assigned, bytes.count == 8,
      let id = declarations.idKey.assigned(WriteContext.number(of: bytes))
    {
      return id
    }
    return try slowID(of: type, bytes, in: collection)
  }

  @inline(never)
  private func slowID<R: Record>(
    of type: R.Type, _ bytes: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws -> R.ID {
    if let id = collection.declarations(of: type).id(storedAs: bytes) { return id }
    // For an id type with an index value of its own, only the record has the id.
    guard let stored = try collection.records.get(bytes, in: try transaction()) else {
      throw missingRecord(bytes, in: collection)
    }
    return try decode(type, stored, id: bytes, in: collection).id
  }

  /// A list refers to a record that does not exist.
  @inline(never)
  func missingRecord(
    _ id: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) -> LarchError {
    LarchError(
      .corrupted, "A list refers to a record that does not exist; call `verify()` for details."
    ) {
      $0.collection = collection.stored.name
      $0.id = collection.stored.idKind.text(of: id)
    }
  }
}
