public import Foundation

extension RecordReading {
  /// Writes the records of a query to a file of JSON, in the order of the query.
  ///
  /// ```swift
  /// try store.exportJSON(Person.where { $0.age >= 18 }, to: .file("adults.json"))
  /// ```
  ///
  /// They are those of one snapshot. What the default encoder writes, an import reads back
  /// without a difference, but for what JSON cannot tell: a nil inside of a nil, the bits inside
  /// of a NaN.
  ///
  /// - Parameters:
  ///   - query: which records, and in which order.
  ///   - destination: the file, which takes the place of one that is there, but never of a store. A
  ///     new one is for its owner alone, as a store is.
  ///   - options: how values are written.
  ///   - progress: called for about every 256 KiB.
  /// - Returns: how many records were written.
  /// - Throws: `.encodingFailed`, `.accessDenied`, `.unsuitableFile`, `.fileNotFound` for a directory that is not
  ///   there, `.diskFull`; as ``fetch(_:)``. The file is as it was then.
  /// - Complexity: as ``forEach(_:_:)``.
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

  /// Writes all records of a type to a file of JSON, in the order of their ids.
  ///
  /// - Returns: how many records were written.
  /// - Throws: as ``exportJSON(_:to:options:progress:)-(Query<R>,_,_,_)``.
  /// - Complexity: the same.
  @discardableResult
  public func exportJSON<R: Record>(
    _ type: R.Type, to destination: JSONDestination, options: ExportOptions = ExportOptions(),
    progress: ((ExportProgress) -> Void)? = nil
  ) throws -> Int {
    try exportJSON(R.all, to: destination, options: options, progress: progress)
  }

  /// Gives the records of a query as a text of JSON, piece by piece: for a file that is open, or a
  /// connection.
  ///
  /// - Parameters:
  ///   - query: which records, and in which order.
  ///   - options: how values are written.
  ///   - progress: called for each piece.
  ///   - write: gets the pieces, in their order.
  /// - Returns: how many records were written.
  /// - Throws: what `write` throws, and as
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

  /// The records of a query as a text of JSON.
  ///
  /// - Throws: as ``exportJSON(_:to:options:progress:)-(Query<R>,_,_,_)``.
  /// - Complexity: the same, and memory for the whole text.
  public func json<R: Record>(
    of query: Query<R>, options: ExportOptions = ExportOptions()
  ) throws -> Data {
    var text = Data()
    try exportJSON(query, options: options) { text.append($0) }
    return text
  }
}
