// What only a query of records can tell or do, for those who begin with the query; what every request
// can is in `Request`.

extension Query {
  /// The ids of the records, in the order of the query.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: reads no record where an index answers the whole filter.
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

  /// Changes each of the records. See ``RecordWriting/update(_:_:)``.
  ///
  /// - Returns: how many records were given to the closure.
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
