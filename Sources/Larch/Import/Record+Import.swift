public import Foundation

// The methods of a store or a transaction as static methods of the type.

extension Record {
  /// Imports the elements of a JSON text as records of this type. See
  /// ``RecordWriting/importJSON(_:from:map:existing:onError:batchSize:options:progress:)``.
  ///
  /// ```swift
  /// let report = try Person.importJSON(from: .file("people.json"), onError: .skip)
  /// ```
  ///
  /// - Throws: the same errors.
  /// - Complexity: the same.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func importJSON(
    from source: JSONSource, map: ImportMap<Self>? = nil, existing: ImportExisting = .replace,
    onError policy: ImportErrorPolicy = .stop, batchSize: Int = 1000,
    options: ImportOptions = ImportOptions(), in writer: some RecordWriting = AmbientStore(),
    progress: ((ImportProgress) -> Void)? = nil
  ) throws -> ImportReport {
    try writer.importJSON(
      Self.self, from: source, map: map, existing: existing, onError: policy, batchSize: batchSize,
      options: options, progress: progress)
  }

  /// Imports the elements of a JSON text as records of this type, matched by a unique field. See
  /// ``RecordWriting/importJSON(_:from:map:matching:existing:onError:batchSize:options:progress:)``.
  ///
  /// - Throws: the same errors.
  /// - Complexity: the same.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func importJSON<Value: IndexKey & Decodable>(
    from source: JSONSource, map: ImportMap<Self>? = nil,
    matching field: any KeyPath<Self, Value> & Sendable,
    existing: ImportExisting = .replace, onError policy: ImportErrorPolicy = .stop,
    batchSize: Int = 1000, options: ImportOptions = ImportOptions(),
    in writer: some RecordWriting = AmbientStore(),
    progress: ((ImportProgress) -> Void)? = nil
  ) throws -> ImportReport {
    try writer.importJSON(
      Self.self, from: source, map: map, matching: field, existing: existing, onError: policy,
      batchSize: batchSize, options: options, progress: progress)
  }

  /// Exports all records of this type to a JSON file. See
  /// ``RecordReading/exportJSON(_:to:options:progress:)-(Query<R>,_,_,_)``.
  ///
  /// - Returns: the number of records written.
  /// - Throws: the same errors.
  /// - Complexity: the same.
  @discardableResult
  public static func exportJSON(
    to destination: JSONDestination, options: ExportOptions = ExportOptions(),
    in reader: some RecordReading = AmbientStore(), progress: ((ExportProgress) -> Void)? = nil
  ) throws -> Int {
    try reader.exportJSON(all, to: destination, options: options, progress: progress)
  }
}

extension Query {
  /// Exports the records to a JSON file. See
  /// ``RecordReading/exportJSON(_:to:options:progress:)-(Query<R>,_,_,_)``.
  ///
  /// - Returns: the number of records written.
  /// - Throws: the same errors.
  /// - Complexity: the same.
  @discardableResult
  public func exportJSON(
    to destination: JSONDestination, options: ExportOptions = ExportOptions(),
    in reader: some RecordReading = AmbientStore(), progress: ((ExportProgress) -> Void)? = nil
  ) throws -> Int {
    try reader.exportJSON(self, to: destination, options: options, progress: progress)
  }

  /// The records as a JSON text. See ``RecordReading/json(of:options:)``.
  ///
  /// - Throws: the same errors.
  /// - Complexity: the same.
  public func json(
    options: ExportOptions = ExportOptions(), in reader: some RecordReading = AmbientStore()
  ) throws -> Data {
    try reader.json(of: self, options: options)
  }
}
