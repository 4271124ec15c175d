// The methods that only a query of records has. Those of every request are in `Request`.

extension Query {
  /// The ids of the records, in the order of the query.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: reads no record if an index answers the whole filter.
  public func ids(in reader: some RecordReading = AmbientStore()) throws -> [R.ID] {
    try reader.ids(self)
  }

  /// Deletes the records. See `RecordWriting.delete(_:)`.
  ///
  /// - Returns: the number of deleted records.
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: that of `RecordWriting.delete(_:)`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func delete(in writer: some RecordWriting = AmbientStore()) throws -> Int {
    try writer.delete(self)
  }

  /// Changes each record. See ``RecordWriting/update(_:_:)``.
  ///
  /// - Returns: the number of records that the closure received.
  /// - Throws: the errors of ``RecordWriting/update(_:_:)``.
  /// - Complexity: that of ``RecordWriting/update(_:_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func update(
    in writer: some RecordWriting = AmbientStore(), _ change: (inout R) throws -> Void
  ) throws -> Int { try writer.update(self, change) }
}
