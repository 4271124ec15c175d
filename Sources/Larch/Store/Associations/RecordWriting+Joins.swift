// Changes of associations through join records, which are made by a closure with the two ids. The work
// is in `WriteTransaction+Joins`.

extension RecordWriting {
  /// Relates the record with this id to the owner by a new join record.
  ///
  /// ```swift
  /// try tx.add(tag.id, to: post.related(Post.tags)) {
  ///   Tagging(postID: $0, tagID: $1, addedBy: "ada")
  /// }
  /// ```
  ///
  /// The join record is saved like any other: its hooks and rules run, and a unique index over its two
  /// references (`Unique(\.postID, \.tagID)`) refuses a second one for the same pair. Without such an
  /// index each call makes one more; the other record is related once all the same.
  ///
  /// - Parameters:
  ///   - id: the id of the record at the other end.
  ///   - related: the related records of the owner, by an association through join records.
  ///   - join: makes the join record with the id of the owner and the other id.
  /// - Returns: the join record as it was saved.
  /// - Throws: `.uniqueConflict` if a unique index has the pair already, and the other errors of
  ///   ``RecordWriting/save(_:)``; `.unsavedReference` for an id that no save has assigned,
  ///   `.danglingReference` at the end of the transaction for a record that does not exist,
  ///   `.unsuitableAssociation` for an association that does not go through records of this type, and
  ///   if the join record has other ids; `.unknownAssociation`, and the errors of `join`. Nothing is
  ///   changed then.
  /// - Complexity: that of saving the join record.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func add<Owner: Record, Target: Record, Join: Record>(
    _ id: Target.ID, to related: Related<Owner, Target>,
    through join: (Owner.ID, Target.ID) throws -> Join
  ) throws -> Join {
    try _writing { tx in try tx.addJoin(id, to: related, join) }
  }

  /// Relates a saved record to the owner by a new join record.
  ///
  /// ```swift
  /// try tx.add(tag, to: post.related(Post.tags)) {
  ///   Tagging(postID: $0, tagID: $1, addedBy: "ada")
  /// }
  /// ```
  ///
  /// - Returns: the join record as it was saved.
  /// - Throws: the errors of ``add(_:to:through:)-(Target.ID,_,_)``.
  /// - Complexity: that of saving the join record.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func add<Owner: Record, Target: Record, Join: Record>(
    _ record: Target, to related: Related<Owner, Target>,
    through join: (Owner.ID, Target.ID) throws -> Join
  ) throws -> Join {
    try add(record.id, to: related, through: join)
  }

  /// Saves a record, which may be new, and relates it to the owner by a new join record.
  ///
  /// - Returns: the join record as it was saved.
  /// - Throws: the errors of ``add(_:to:through:)-(Target.ID,_,_)`` and ``RecordWriting/save(_:)``;
  ///   nothing is changed then.
  /// - Complexity: that of saving both records.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func add<Owner: Record, Target: Record, Join: Record>(
    _ record: inout Target, to related: Related<Owner, Target>,
    through join: (Owner.ID, Target.ID) throws -> Join
  ) throws -> Join {
    // A write may run twice: each run must begin with the same record.
    let before = record
    do {
      return try _writing { tx in
        record = before
        return try tx.undoablePart {
          try tx.save(&record)
          return try tx.addJoin(record.id, to: related, join)
        }
      }
    } catch {
      record = before
      throw error
    }
  }

  /// Relates the records with these ids to the owner, each by a new join record.
  ///
  /// - Returns: the join records as they were saved, in the order of the ids.
  /// - Throws: the errors of ``add(_:to:through:)-(Target.ID,_,_)``; nothing is changed then.
  /// - Complexity: that of saving each join record.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func add<Owner: Record, Target: Record, Join: Record, IDs: Sequence>(
    contentsOf ids: IDs, to related: Related<Owner, Target>,
    through join: (Owner.ID, Target.ID) throws -> Join
  ) throws -> [Join] where IDs.Element == Target.ID {
    try _writing { tx in
      try tx.undoablePart { try ids.map { try tx.addJoin($0, to: related, join) } }
    }
  }

  /// Makes exactly the records with these ids the related ones, by join records.
  ///
  /// ```swift
  /// try tx.replace(post.related(Post.tags), with: [swift.id, birds.id]) {
  ///   Tagging(postID: $0, tagID: $1, addedBy: "ada")
  /// }
  /// ```
  ///
  /// Only what differs is changed: the join records of those that remain stay as they are, and the
  /// closure is called for those that are new, once for each id. The join records of the others are
  /// deleted, by their delete rules and with their hooks.
  ///
  /// - Throws: the errors of ``add(_:to:through:)-(Target.ID,_,_)`` and of
  ///   ``RecordWriting/delete(_:_:)`` for a join record; nothing is changed then.
  /// - Complexity: that of reading the ids of the related records, and of saving and deleting the join
  ///   records that differ.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func replace<Owner: Record, Target: Record, Join: Record, IDs: Sequence>(
    _ related: Related<Owner, Target>, with ids: IDs,
    through join: (Owner.ID, Target.ID) throws -> Join
  ) throws where IDs.Element == Target.ID {
    try _writing { tx in try tx.replaceJoins(of: related, with: Array(ids), join) }
  }
}
