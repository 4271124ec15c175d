// Static methods to find and delete single records of a type. For several records use a query:
// `Person.all.count()`, `Person.where { … }.first()`.

extension Record {
  /// The record with this id, or nil. See ``RecordReading/find(_:_:)->R?``.
  ///
  /// ```swift
  /// let ada = try Person.find(id)
  /// ```
  ///
  /// - Throws: `.noDefaultStore` if no store is set; and the errors of
  ///   ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  @inlinable  // As the verbs of readers, see `RecordWriting+Records`.
  public static func find(
    _ id: ID, in reader: some RecordReading = AmbientStore()
  ) throws -> Self? {
    try reader.find(Self.self, id)
  }

  /// Not available: an id that is no text.
  @available(
    *, unavailable,
    message:
      "the id of this type is not a `String`: make one of its type first, as `UUID(uuidString:)` and `Int(_:)` do from a text"
  )
  @_disfavoredOverload
  public static func find(
    _ id: String, in reader: some RecordReading = AmbientStore()
  ) throws -> Self? { nil }

  /// The records with these ids, in the order of the ids; missing records are skipped. A record is
  /// returned once, at the first position of its id.
  ///
  /// - Throws: the errors of `find(_:in:)`.
  /// - Complexity: one search for each id.
  @_disfavoredOverload  // So that the error for an id of another type names the id.
  public static func find<IDs: Sequence>(
    _ ids: IDs, in reader: some RecordReading = AmbientStore()
  ) throws -> [Self] where IDs.Element == ID {
    try reader.find(Self.self, ids)
  }

  /// The record whose field has this value; the first by id if there are several.
  ///
  /// ```swift
  /// let ada = try Person.find(by: \.email, equals: "ada@acme.example")
  /// ```
  ///
  /// - Throws: the errors of `find(_:in:)`.
  /// - Complexity: that of ``RecordReading/find(_:by:equals:)``: two searches with an index over
  ///   the field.
  public static func find<Value: IndexKey>(
    by keyPath: any KeyPath<Self, Value> & Sendable, equals value: Value,
    in reader: some RecordReading = AmbientStore()
  ) throws -> Self? {
    try reader.find(Self.self, by: keyPath, equals: value)
  }

  /// The record whose field has this value, or a new one that is inserted. See
  /// ``RecordWriting/findOrCreate(_:by:equals:create:)``.
  ///
  /// ```swift
  /// let tag = try Tag.findOrCreate(by: \.name, equals: "swift") { Tag(name: "swift") }
  /// ```
  ///
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; and the errors of
  ///   ``RecordWriting/findOrCreate(_:by:equals:create:)``.
  /// - Complexity: that of ``find(by:equals:in:)``, and an insert.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public static func findOrCreate<Value: IndexKey>(
    by keyPath: any KeyPath<Self, Value> & Sendable, equals value: Value,
    in writer: some RecordWriting = AmbientStore(), create: () throws -> Self
  ) throws -> Self {
    try writer.findOrCreate(Self.self, by: keyPath, equals: value, create: create)
  }

  /// Whether a record with this id exists. Reads no record.
  ///
  /// - Throws: `.noDefaultStore`; and the errors of ``RecordReading/exists(_:_:)``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  public static func exists(
    _ id: ID, in reader: some RecordReading = AmbientStore()
  ) throws -> Bool {
    try reader.exists(Self.self, id)
  }

  /// Deletes the record with this id, by the rules of its associations. See
  /// ``RecordWriting/delete(_:_:)``.
  ///
  /// - Returns: whether there was such a record.
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; and the errors of
  ///   ``RecordWriting/delete(_:_:)``.
  /// - Complexity: that of ``RecordWriting/delete(_:_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func delete(
    _ id: ID, in writer: some RecordWriting = AmbientStore()
  ) throws -> Bool {
    try writer.delete(Self.self, id)
  }

  /// Deletes all records of the type at once, without their hooks; `Person.all.delete()` runs them.
  /// See ``RecordWriting/erase(_:)``.
  ///
  /// - Returns: the number of deleted records.
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; and the errors of
  ///   ``RecordWriting/erase(_:)``.
  /// - Complexity: O(pages), far less than `Person.all.delete()`; where rules of associations act
  ///   on other records, as that.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func erase(in writer: some RecordWriting = AmbientStore()) throws -> Int {
    try writer.erase(Self.self)
  }
}
