// Changes of associations. The work is in `WriteTransaction+Related` and, for many-to-many lists,
// in `WriteTransaction+Links`. Those that make join records are in `RecordWriting+Joins`.

extension RecordWriting {
  /// Relates the record with this id to the owner; repeating it has no effect.
  ///
  /// ```swift
  /// try store.add(ada.id, to: project.members)
  /// ```
  ///
  /// If a property holds the reference, it is set in the stored record, that of the owner or the
  /// other one: your own copy does not change. In a list of ids the new id is the last. For
  /// ``ManyToMany``, both records may be saved later in the same transaction; otherwise the record
  /// with the property must exist.
  ///
  /// - Throws: `.unsavedReference` for an id that no save has assigned, `.danglingReference` at the
  ///   end of the transaction for a record that does not exist, `.recordNotFound` for the record
  ///   with the property, `.unsuitableAssociation` through a join record, which
  ///   ``add(_:to:through:)-(Target.ID,_,_)`` makes, and for a property that cannot be set; `.unknownAssociation`, and the errors of
  ///   `RecordWriting.update(_:)`. Nothing is changed then.
  /// - Complexity: two searches and two entries for ``ManyToMany``; otherwise reading and saving
  ///   one record.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add<Owner: Record, Target: Record>(
    _ id: Target.ID, to related: Related<Owner, Target>
  ) throws {
    try _writing { tx in try tx.addOne(id, to: related) }
  }

  /// Relates a saved record to the owner by its id. Other changes in your copy are not saved; pass
  /// it with `&` to save them.
  ///
  /// - Throws: the errors of ``add(_:to:)-(Target.ID,_)``.
  /// - Complexity: that of ``add(_:to:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add<Owner: Record, Target: Record>(
    _ record: Target, to related: Related<Owner, Target>
  ) throws {
    try add(record.id, to: related)
  }

  /// Relates the records with these ids to the owner; related ones stay related.
  ///
  /// - Throws: the errors of ``add(_:to:)-(Target.ID,_)``; nothing is changed then.
  ///   `.unsuitableAssociation` for several ids if the property holds one id.
  /// - Complexity: that of ``add(_:to:)-(Target.ID,_)`` for each id; a list in the owner's record
  ///   is saved once.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add<Owner: Record, Target: Record, IDs: Sequence>(
    contentsOf ids: IDs, to related: Related<Owner, Target>
  ) throws where IDs.Element == Target.ID {
    try _writing { tx in try tx.addAll(ids, to: related) }
  }

  /// Saves a record, which may be new, and relates it to the owner.
  ///
  /// ```swift
  /// var ada = Person(name: "Ada")
  /// try store.add(&ada, to: acme.people)    // `ada.companyID` is set too
  /// ```
  ///
  /// - Throws: the errors of ``add(_:to:)-(Target.ID,_)`` and ``RecordWriting/save(_:)``; nothing
  ///   is changed then.
  /// - Complexity: a save, and that of ``add(_:to:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add<Owner: Record, Target: Record>(
    _ record: inout Target, to related: Related<Owner, Target>
  ) throws {
    // A write may run twice: each run must begin with the same record.
    let before = record
    do {
      try _writing { tx in
        record = before
        try tx.addSaving(&record, to: related)
      }
    } catch {
      record = before
      throw error
    }
  }

  /// Removes the record with this id from the related ones; it need not be one of them.
  ///
  /// If a property holds the reference, it becomes nil, or the id is removed from the list. Join
  /// records between the two are deleted.
  ///
  /// - Throws: `.unsuitableAssociation` if the property must have an id, or cannot be set;
  ///   `.unsavedReference` for an owner that was never saved, `.unknownAssociation`, and the errors
  ///   of `RecordWriting.update(_:)` and, for join records, of ``RecordWriting/delete(_:_:)``.
  ///   Nothing is changed then.
  /// - Complexity: that of ``add(_:to:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func remove<Owner: Record, Target: Record>(
    _ id: Target.ID, from related: Related<Owner, Target>
  ) throws {
    try _writing { tx in try tx.remove(id, from: related) }
  }

  /// Removes a record from the related ones; it need not be one of them. The record itself is not
  /// deleted, and your copy does not change.
  ///
  /// - Throws: the errors of ``remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: that of ``remove(_:from:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func remove<Owner: Record, Target: Record>(
    _ record: Target, from related: Related<Owner, Target>
  ) throws {
    try remove(record.id, from: related)
  }

  /// Removes all related records. The records are not deleted, but join records are.
  ///
  /// - Throws: the errors of ``remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: that of ``remove(_:from:)-(Target.ID,_)`` for each; 8 to 16 bytes of memory per
  ///   record.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func removeAll<Owner: Record, Target: Record>(
    from related: Related<Owner, Target>
  ) throws {
    try replace(related, with: EmptyCollection())
  }

  /// Makes exactly the records with these ids the related ones.
  ///
  /// A list of ids gets the same order.
  ///
  /// - Throws: the errors of ``add(_:to:)-(Target.ID,_)`` and ``remove(_:from:)-(Target.ID,_)``;
  ///   nothing is changed then.
  /// - Complexity: that of adding the new ones, and removing the others.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func replace<Owner: Record, Target: Record, IDs: Sequence>(
    _ related: Related<Owner, Target>, with ids: IDs
  ) throws where IDs.Element == Target.ID {
    try _writing { tx in try tx.replace(related, with: ids) }
  }
}

// MARK: - The caller's copy of the owner

extension RecordWriting {
  /// Relates the record with this id to the owner, and also changes your copy of the owner if it
  /// holds the id itself.
  ///
  /// ```swift
  /// try store.add(john, to: &group, Group.users)    // `group.userIDs` has the id
  /// ```
  ///
  /// Other changes in your copy are neither saved nor lost. With ``Versioned`` it gets the new
  /// version, if it had the stored one before.
  ///
  /// - Throws: the errors of ``add(_:to:)-(Target.ID,_)``. The owner is then as it was.
  /// - Complexity: that of ``add(_:to:)-(Target.ID,_)``, and reading the owner again.
  public func add<A: Association>(
    _ id: A.Target.ID, to owner: inout A.Owner, _ association: A
  ) throws {
    try changingOwner(&owner, association) { tx, related in try tx.addOne(id, to: related) }
  }

  /// Relates a saved record to the owner by its id, and also changes your copy of the owner.
  ///
  /// - Throws: the errors of ``add(_:to:_:)-(A.Target.ID,_,_)``.
  /// - Complexity: that of ``add(_:to:_:)-(A.Target.ID,_,_)``.
  public func add<A: Association>(
    _ record: A.Target, to owner: inout A.Owner, _ association: A
  ) throws {
    try add(record.id, to: &owner, association)
  }

  /// Removes the record with this id from the related ones, and also changes your copy of the owner
  /// if it holds the id itself.
  ///
  /// - Throws: the errors of ``remove(_:from:)-(Target.ID,_)``. The owner is then as it was.
  /// - Complexity: that of ``add(_:to:_:)-(A.Target.ID,_,_)``.
  public func remove<A: Association>(
    _ id: A.Target.ID, from owner: inout A.Owner, _ association: A
  ) throws {
    try changingOwner(&owner, association) { tx, related in try tx.remove(id, from: related) }
  }

  /// Removes a record from the related ones, and also changes your copy of the owner.
  ///
  /// - Throws: the errors of ``remove(_:from:_:)-(A.Target.ID,_,_)``.
  /// - Complexity: that of ``add(_:to:_:)-(A.Target.ID,_,_)``.
  public func remove<A: Association>(
    _ record: A.Target, from owner: inout A.Owner, _ association: A
  ) throws {
    try remove(record.id, from: &owner, association)
  }

  /// Makes exactly the records with these ids the related ones, and also changes your copy of the
  /// owner if it holds the ids itself.
  ///
  /// - Throws: the errors of ``replace(_:with:)``. The owner is then as it was.
  /// - Complexity: that of ``replace(_:with:)``, and reading the owner again.
  public func replace<A: Association, IDs: Sequence>(
    _ association: A, of owner: inout A.Owner, with ids: IDs
  ) throws where IDs.Element == A.Target.ID {
    let ids = Array(ids)
    try changingOwner(&owner, association) { tx, related in try tx.replace(related, with: ids) }
  }

  private func changingOwner<A: Association>(
    _ owner: inout A.Owner, _ association: A,
    _ change: (WriteTransaction, Related<A.Owner, A.Target>) throws -> Void
  ) throws {
    // A write may run twice: each run must begin with the same record.
    let before = owner
    do {
      try _writing { tx in
        owner = before
        try tx.changeReference(&owner, association) { try change(tx, $0) }
      }
    } catch {
      owner = before
      throw error
    }
  }
}
