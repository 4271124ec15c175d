extension Tracked {
  /// A record that is not stored yet: its state is ``RecordState/new``.
  public init(_ record: R) {
    self.init(record, base: Known(record: Known.snapshot(record), standing: .absent))
  }

  /// Tracks a record in memory, compared with the stored one with its id.
  ///
  /// Use it for a record from elsewhere: a form, a file or another program.
  ///
  /// - Throws: the errors of ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: that of ``RecordReading/find(_:_:)->R?``.
  public init(_ record: R, in reader: some RecordReading) throws {
    guard !record.id._isUnassigned,
      let stored = try reader.tracked(R.self, record.id)
    else {
      self.init(record)
      return
    }
    self = stored
    current = record
    edits &+= 1
  }

  /// A record that was just read.
  fileprivate init(read record: R, _ outcome: TransactionOutcome?) {
    let known = Known(record: Known.snapshot(record), standing: .stored)
    guard let outcome else {
      self.init(record, base: known)
      return
    }
    self.init(record, base: Known(record: known.record, standing: .uncertain))
    learn(known, record, before: record, outcome)
  }
}

extension ReadTransaction {
  /// The outcome that a read depends on; nil if nothing was changed before it.
  final var outcomeOfReads: TransactionOutcome? {
    guard changeCount != 0, let writer = self as? WriteTransaction else { return nil }
    return writer.outcome
  }
}

extension RecordReading {
  /// The record with this id, tracked, or nil. See ``Tracked``.
  ///
  /// - Throws: the errors of ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: that of ``RecordReading/find(_:_:)->R?``.
  public func tracked<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> Tracked<R>? {
    try _reading { tx in
      try tx.find(type, id).map { Tracked(read: $0, tx.outcomeOfReads) }
    }
  }

  /// The records of a query, tracked, in its order. See ``Tracked``.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: that of ``fetch(_:)``.
  public func fetchTracked<R: Record>(_ query: Query<R>) throws -> [Tracked<R>] {
    try _reading { tx in
      let outcome = tx.outcomeOfReads
      return try tx.fetch(query).map { Tracked(read: $0, outcome) }
    }
  }
}

extension Query {
  /// The records, tracked, in the order of the query. See ``Tracked``.
  ///
  /// - Throws: the errors of ``fetch(in:)``.
  /// - Complexity: that of ``fetch(in:)``.
  public func fetchTracked(in reader: some RecordReading = AmbientStore()) throws -> [Tracked<R>] {
    try reader.fetchTracked(self)
  }
}
