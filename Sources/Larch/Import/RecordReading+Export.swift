public import Foundation

extension RecordReading {
  /// Exports the records of a query to a JSON file, in the order of the query.
  ///
  /// ```swift
  /// try store.exportJSON(Person.where { $0.age >= 18 }, to: .file("adults.json"))
  /// ```
  ///
  /// They come from one snapshot. An import reads the output of the default encoder without a
  /// difference, except for what JSON cannot represent: a nil inside a nil, and the bits of a NaN.
  ///
  /// - Parameters:
  ///   - query: the records and their order.
  ///   - destination: the file. It replaces an existing file, but never a store. Only the owner can
  ///     read a new file, like a store.
  ///   - options: how values are written.
  ///   - progress: called for about every 256 KiB.
  /// - Returns: the number of records written.
  /// - Throws: `.encodingFailed`, `.accessDenied`, `.unsuitableFile`, `.fileNotFound` if the
  ///   directory does not exist, `.diskFull`; and the errors of ``fetch(_:)``. The file is as it
  ///   was then.
  /// - Complexity: that of ``forEach(_:_:)``.
  @discardableResult
  public func exportJSON<R: Record>(
    _ query: Query<R>, to destination: JSONDestination, options: ExportOptions = ExportOptions(),
    progress: ((ExportProgress) -> Void)? = nil
  ) throws -> Int {
    let file = try ReplacementFile(destination.path)
    let count = try exportJSON(query, options: options, progress: progress) { try file.write($0) }
    try file.takePlace()
    return count
  }

  /// Exports all records of a type to a JSON file, in the order of their ids.
  ///
  /// - Returns: the number of records written.
  /// - Throws: the errors of ``exportJSON(_:to:options:progress:)-(Query<R>,_,_,_)``.
  /// - Complexity: the same.
  @discardableResult
  public func exportJSON<R: Record>(
    _ type: R.Type, to destination: JSONDestination, options: ExportOptions = ExportOptions(),
    progress: ((ExportProgress) -> Void)? = nil
  ) throws -> Int {
    try exportJSON(R.all, to: destination, options: options, progress: progress)
  }

  /// Exports the records of a query as a JSON text in pieces, for an open file or a connection.
  ///
  /// - Parameters:
  ///   - query: the records and their order.
  ///   - options: how values are written.
  ///   - progress: called for each piece.
  ///   - write: receives the pieces in order.
  /// - Returns: the number of records written.
  /// - Throws: what `write` throws, and the errors of
  ///   ``exportJSON(_:to:options:progress:)-(Query<R>,_,_,_)``.
  /// - Complexity: the same.
  @discardableResult
  public func exportJSON<R: Record>(
    _ query: Query<R>, options: ExportOptions = ExportOptions(),
    progress: ((ExportProgress) -> Void)? = nil, write: (Data) throws -> Void
  ) throws -> Int {
    try withoutActuallyEscaping(write) { write in
      var exporter = RecordExporter<R>(options, progress, write)
      try forEach(query) { try exporter.add($0) }
      try exporter.finish()
      return exporter.count
    }
  }

  /// The records of a query as a JSON text.
  ///
  /// - Throws: the errors of ``exportJSON(_:to:options:progress:)-(Query<R>,_,_,_)``.
  /// - Complexity: the same, and memory for the whole text.
  public func json<R: Record>(
    of query: Query<R>, options: ExportOptions = ExportOptions()
  ) throws -> Data {
    var text = Data()
    try exportJSON(query, options: options) { text.append($0) }
    return text
  }
}
