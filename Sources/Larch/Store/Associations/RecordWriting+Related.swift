// What can be changed of associations. The work is in `WriteTransaction+Related` and, for lists
// of ids between two types, in `WriteTransaction+Links`.

extension RecordWriting {
  /// Relates the record with this id to the owner; once more is the same as once.
  ///
  /// ```swift
  /// try store.add(ada.id, to: project.members)
  /// ```
  ///
  /// Where a property holds the reference, it is set in the stored record, be it that of the
  /// owner or the other one: one in your hand stays as it is. In a list of ids the new one is the
  /// last. Both ends may be saved later in the same transaction where the store keeps the lists
  /// (``ManyToMany``); else the record with the property must be there.
  ///
  /// - Throws: `.unsavedReference` for an id that no save has assigned, `.danglingReference` at the
  ///   end of the transaction for a record that is not there, `.recordNotFound` for the record whose
  ///   property is to be set, `.unsuitableAssociation` through a join record, which has to be saved
  ///   itself, and for a property that cannot be set; `.unknownAssociation`, what
  ///   `RecordWriting.update(_:)` throws. Nothing is changed then.
  /// - Complexity: two searches and two entries for ``ManyToMany``; else reading and saving one
  ///   record.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add<Owner: Record, Target: Record>(
    _ id: Target.ID, to related: Related<Owner, Target>
  ) throws {
    try _writing { tx in try tx.addOne(id, to: related) }
  }

  /// Relates a saved record to the owner, as its id does: what else was changed in the one in your
  /// hand is not saved, which passing it with `&` would do.
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

  /// Relates the records with these ids to the owner; those that are related stay so.
  ///
  /// - Throws: the errors of ``add(_:to:)-(Target.ID,_)``; nothing is changed then.
  ///   `.unsuitableAssociation` for several where the property holds one id.
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
  /// - Complexity: a save, and as ``add(_:to:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add<Owner: Record, Target: Record>(
    _ record: inout Target, to related: Related<Owner, Target>
  ) throws {
    // A write may run twice: what it does to the record begins with the same one.
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

  /// Takes the record with this id away from the related ones; one that is none is no error.
  ///
  /// Where a property holds the reference, it becomes nil, or the id is taken out of the list. Join
  /// records between the two are deleted.
  ///
  /// - Throws: `.unsuitableAssociation` where the property must hold an id, or cannot be set;
  ///   `.unsavedReference` for an owner that was never saved, `.unknownAssociation`, what
  ///   `RecordWriting.update(_:)` and, of join records, ``RecordWriting/delete(_:_:)`` throws.
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

  /// Takes a record away from the related ones; one that is none is no error. The record itself is
  /// not deleted, and the one in your hand stays as it is.
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

  /// Takes all related records away; none of them is deleted, but join records are.
  ///
  /// - Throws: the errors of ``remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: that of ``remove(_:from:)-(Target.ID,_)`` for each; 8 to 16 bytes of memory a
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

  /// Makes the records with these ids, and no others, the related ones.
  ///
  /// In a list of ids they have the order that they have here.
  ///
  /// - Throws: the errors of ``add(_:to:)-(Target.ID,_)`` and ``remove(_:from:)-(Target.ID,_)``;
  ///   nothing is changed then.
  /// - Complexity: as adding those that are new, and removing those that are left out.
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

// MARK: - The owner in hand

extension RecordWriting {
  /// Relates the record with this id to the owner, and changes the owner in your hand too where it
  /// holds the id itself.
  ///
  /// ```swift
  /// try store.add(john, to: &group, Group.users)    // `group.userIDs` has the id
  /// ```
  ///
  /// What else was changed in the one in your hand is neither saved nor lost. With ``Versioned`` it
  /// gets the new version, if it had the stored one before.
  ///
  /// - Throws: the errors of ``add(_:to:)-(Target.ID,_)``. The owner is then as it was.
  /// - Complexity: that of ``add(_:to:)-(Target.ID,_)``, and reading the owner again.
  public func add<A: Association>(
    _ id: A.Target.ID, to owner: inout A.Owner, _ association: A
  ) throws {
    try changingOwner(&owner, association) { tx, related in try tx.addOne(id, to: related) }
  }

  /// Relates a saved record to the owner, as its id does, and changes the owner in your hand too.
  ///
  /// - Throws: the errors of ``add(_:to:_:)-(A.Target.ID,_,_)``.
  /// - Complexity: that of ``add(_:to:_:)-(A.Target.ID,_,_)``.
  public func add<A: Association>(
    _ record: A.Target, to owner: inout A.Owner, _ association: A
  ) throws {
    try add(record.id, to: &owner, association)
  }

  /// Takes the record with this id away from the related ones, and changes the owner in your hand
  /// too where it holds the id itself.
  ///
  /// - Throws: the errors of ``remove(_:from:)-(Target.ID,_)``. The owner is then as it was.
  /// - Complexity: that of ``add(_:to:_:)-(A.Target.ID,_,_)``.
  public func remove<A: Association>(
    _ id: A.Target.ID, from owner: inout A.Owner, _ association: A
  ) throws {
    try changingOwner(&owner, association) { tx, related in try tx.remove(id, from: related) }
  }

  /// Takes a record away from the related ones, and changes the owner in your hand too.
  ///
  /// - Throws: the errors of ``remove(_:from:_:)-(A.Target.ID,_,_)``.
  /// - Complexity: that of ``add(_:to:_:)-(A.Target.ID,_,_)``.
  public func remove<A: Association>(
    _ record: A.Target, from owner: inout A.Owner, _ association: A
  ) throws {
    try remove(record.id, from: &owner, association)
  }

  /// Makes the records with these ids, and no others, the related ones, and changes the owner in
  /// your hand too where it holds the ids itself.
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
    // A write may run twice: what it does to the record begins with the same one.
    let before = owner
    do {
      try _writing { tx in
        owner = before
        try tx.changeHeld(&owner, association) { try change(tx, $0) }
      }
    } catch {
      owner = before
      throw error
    }
  }
}
