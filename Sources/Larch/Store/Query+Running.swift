// The same as the methods of a store or a transaction, for those who begin with the query.

extension Query {
  /// The records, in the order of the query. See ``RecordReading/fetch(_:)-(Query<R>)``.
  ///
  /// ```swift
  /// let adults = try Person.where { $0.age >= 18 }.fetch(in: store)
  /// ```
  ///
  /// - Throws: `.invalidQuery`, `.checksumMismatch`, `.decodingFailed`, `.unknownCollection`.
  /// - Complexity: what the plan of the query says.
  public func fetch(in reader: some RecordReading = AmbientStore()) throws -> [R] {
    try reader.fetch(self)
  }

  /// The first record, or nil. See ``RecordReading/first(_:)-(Query<R>)``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: stops at the first record, where no sort is needed.
  public func first(in reader: some RecordReading = AmbientStore()) throws -> R? {
    try reader.first(self)
  }

  /// How many records there are. See ``RecordReading/count(_:)-(Query<R>)``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: the distinct keys in the range of an index that answers the whole filter.
  public func count(in reader: some RecordReading = AmbientStore()) throws -> Int {
    try reader.count(self)
  }

  /// Whether there is any record.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: stops at the first match.
  public func exists(in reader: some RecordReading = AmbientStore()) throws -> Bool {
    try reader.exists(self)
  }

  /// The ids of the records, in the order of the query.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: reads no record where an index answers the whole filter.
  public func ids(in reader: some RecordReading = AmbientStore()) throws -> [R.ID] {
    try reader.ids(self)
  }

  /// Calls the closure with each record. See ``RecordReading/forEach(_:_:)-(Query<R>,_)``.
  ///
  /// - Throws: what `body` throws, and as ``fetch(in:)``.
  /// - Complexity: as ``RecordReading/forEach(_:_:)-(Query<R>,_)``.
  public func forEach(in reader: some RecordReading = AmbientStore(), _ body: (R) throws -> Void)
    throws
  {
    try reader.forEach(self, body)
  }

  /// How the query would be answered. See ``RecordReading/explain(_:running:)-(Query<R>,_)``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: a few searches in the indexes, without running.
  public func explain(in reader: some RecordReading = AmbientStore(), running: Bool = false) throws
    -> String
  {
    try reader.explain(self, running: running)
  }

  /// How the query would be counted: often from an index alone. See
  /// ``RecordReading/explain(counting:running:)``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: a few searches in the indexes, without running.
  public func explainCount(in reader: some RecordReading = AmbientStore(), running: Bool = false)
    throws -> String
  {
    try reader.explain(counting: self, running: running)
  }

  /// Deletes the records. See `RecordWriting.delete(_:)`.
  ///
  /// - Returns: how many there were.
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: as `RecordWriting.delete(_:)`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.delete(query)` or `update(query)`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func delete(in writer: some RecordWriting = AmbientStore()) throws -> Int {
    try writer.delete(self)
  }

  /// Changes each of the records. See ``RecordWriting/update(_:_:)``.
  ///
  /// - Returns: how many records were given to the closure.
  /// - Throws: as ``RecordWriting/update(_:_:)``.
  /// - Complexity: as ``RecordWriting/update(_:_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.delete(query)` or `update(query)`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func update(
    in writer: some RecordWriting = AmbientStore(), _ change: (inout R) throws -> Void
  ) throws -> Int { try writer.update(self, change) }
}
