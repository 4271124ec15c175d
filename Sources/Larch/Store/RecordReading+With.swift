extension RecordReading {
  /// The records of a query, each with the records that an association leads to, in one pass over
  /// one snapshot.
  ///
  /// ```swift
  /// for (company, people) in try store.fetch(Company.all, with: Company.people) {
  ///   print(company.name, people.count)
  /// }
  /// ```
  ///
  /// The related records come in the order of their ids, those of a list of ids that the record
  /// itself holds in the order of the list, without the ids of which there is no record. Through
  /// join records, each comes once.
  ///
  /// - Parameters:
  ///   - query: the records, in its order.
  ///   - association: a declared association of their type.
  ///   - targets: refines the related records: its condition and order hold for each record's own,
  ///     and so do its limit and offset. It must not have a page token.
  /// - Throws: `.unknownAssociation` when no open type declares the association; as
  ///   ``fetch(_:)-(Query<R>)``.
  /// - Complexity: that of the query, a search for each of its records, and one for each related
  ///   record; related records that several share are read and decoded once.
  public func fetch<A: ToManyAssociation>(
    _ query: Query<A.Owner>, with association: A, from targets: Query<A.Target> = A.Target.all
  ) throws -> [(A.Owner, [A.Target])] {
    try _reading { tx in
      try tx.run(query, with: association, from: targets) { related in
        var rows = RecordBuffer<(A.Owner, [A.Target])>()
        while try related.next() {
          let targets = try related.targets()
          rows.next().initialize(to: (try related.owner(), targets))
          rows.filled()
        }
        return rows.takeArray()
      }
    }
  }

  /// The records of a query, each with the record that an association leads to, or nil, in one
  /// pass over one snapshot.
  ///
  /// ```swift
  /// for (person, company) in try store.fetch(Person.all, with: Person.company) {
  ///   print(person.name, company?.name ?? "-")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - query: the records, in its order.
  ///   - association: a declared association of their type.
  ///   - targets: refines the related records: nil stands for one that is not of this query.
  /// - Throws: `.unknownAssociation` when no open type declares the association; as
  ///   ``fetch(_:)-(Query<R>)``.
  /// - Complexity: that of the query, and a search for each different related record, which is
  ///   read and decoded once.
  public func fetch<A: ToOneAssociation>(
    _ query: Query<A.Owner>, with association: A, from targets: Query<A.Target> = A.Target.all
  ) throws -> [(A.Owner, A.Target?)] {
    try _reading { tx in
      try tx.run(query, with: association, from: targets) { related in
        let offset = RelatedRows<A.Owner, A.Target>.offset(of: A.Target?.self)
        var rows = RecordBuffer<(A.Owner, A.Target?)>()
        while try related.next() {
          let target = try related.target()
          let row = UnsafeMutableRawPointer(rows.next())
          try related.makeOwner(at: row)
          target.copy(to: row + offset)
          rows.filled()
        }
        return rows.takeArray()
      }
    }
  }
}

extension RecordReading {
  /// Calls the closure with each record of a query and the records that an association leads to
  /// from it, one after the other.
  ///
  /// ```swift
  /// try store.forEach(Company.all, with: Company.people) { company, people in … }
  /// ```
  ///
  /// For what is too much for an array; the parameters are those of
  /// ``fetch(_:with:from:)->[(A.Owner,[A.Target])]``. In a write transaction, whose records the
  /// closure may change, all are read before the first call.
  ///
  /// - Throws: what `body` throws; as ``fetch(_:with:from:)->[(A.Owner,[A.Target])]``.
  /// - Complexity: in a read, the memory of one record with its related ones, and of those that
  ///   several share: the targets of a list of ids, of join records and of ``ManyToMany``.
  public func forEach<A: ToManyAssociation>(
    _ query: Query<A.Owner>, with association: A, from targets: Query<A.Target> = A.Target.all,
    _ body: (A.Owner, [A.Target]) throws -> Void
  ) throws {
    try _reading { tx in
      if tx is WriteTransaction {
        for (owner, related) in try tx.fetch(query, with: association, from: targets) {
          try body(owner, related)
        }
        return
      }
      try tx.run(query, with: association, from: targets) { related in
        while try related.next() {
          let targets = try related.targets()
          try body(try related.owner(), targets)
        }
      }
    }
  }
}

extension Query {
  /// The records, each with its related ones.
  ///
  /// - Throws: `.unknownAssociation`; as ``fetch(in:)``.
  /// - Complexity: that of the query, a search for each of its records, and one for each related
  ///   record.
  public func fetch<A: ToManyAssociation>(
    with association: A, from targets: Query<A.Target> = A.Target.all,
    in reader: some RecordReading = AmbientStore()
  ) throws -> [(R, [A.Target])] where A.Owner == R {
    try reader.fetch(self, with: association, from: targets)
  }

  /// The records, each with its related one or nil.
  ///
  /// - Throws: `.unknownAssociation`; as ``fetch(in:)``.
  /// - Complexity: that of the query, and a search for each different related record.
  public func fetch<A: ToOneAssociation>(
    with association: A, from targets: Query<A.Target> = A.Target.all,
    in reader: some RecordReading = AmbientStore()
  ) throws -> [(R, A.Target?)] where A.Owner == R {
    try reader.fetch(self, with: association, from: targets)
  }
  /// Calls the closure with each record and its related ones, one after the other.
  ///
  /// - Throws: what `body` throws; as ``fetch(with:from:in:)->[(R,[A.Target])]``.
  /// - Complexity: as ``RecordReading/forEach(_:with:from:_:)``.
  public func forEach<A: ToManyAssociation>(
    with association: A, from targets: Query<A.Target> = A.Target.all,
    in reader: some RecordReading = AmbientStore(), _ body: (R, [A.Target]) throws -> Void
  ) throws where A.Owner == R {
    try reader.forEach(self, with: association, from: targets, body)
  }
}
