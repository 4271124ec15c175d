// What a type finds and deletes of its records, in the store that is found by itself. What is more
// than a line is a query: `Person.all`, `Person.where { … }`.

extension Record {
  /// The record with this id, or nil. See ``ReadTransaction/find(_:_:)``.
  ///
  /// ```swift
  /// let ada = try Person.find(id)
  /// ```
  ///
  /// - Throws: `.noDefaultStore` when no store is set; as ``ReadTransaction/find(_:_:)``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  public static func find(_ id: ID) throws -> Self? { try AmbientStore().find(Self.self, id) }

  /// The records with these ids, in the order of the ids; those that are not there are left out. A
  /// record comes once, at the first place of its id, however often the id is given.
  ///
  /// - Throws: as ``find(_:)->Self?``.
  /// - Complexity: one search for each id.
  public static func find<IDs: Sequence>(_ ids: IDs) throws -> [Self] where IDs.Element == ID {
    try AmbientStore().find(Self.self, ids)
  }

  /// The record whose field has this value; the first by id if there are several.
  ///
  /// ```swift
  /// let ada = try Person.find(by: \.email, "ada@acme.example")
  /// ```
  ///
  /// - Throws: as ``find(_:)->Self?``.
  /// - Complexity: as ``RecordReading/find(_:by:_:)``: two searches with an index over the field.
  public static func find<Value: IndexKey>(
    by keyPath: any KeyPath<Self, Value> & Sendable, _ value: Value
  ) throws -> Self? {
    try AmbientStore().find(Self.self, by: keyPath, value)
  }

  /// The record whose field has this value, or a new one that is inserted. See
  /// ``RecordWriting/findOrCreate(_:by:_:create:)``.
  ///
  /// ```swift
  /// let tag = try Tag.findOrCreate(by: \.name, "swift") { Tag(name: "swift") }
  /// ```
  ///
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; as
  ///   ``RecordWriting/findOrCreate(_:by:_:create:)``.
  /// - Complexity: as ``find(by:_:)``, and an insert.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public static func findOrCreate<Value: IndexKey>(
    by keyPath: any KeyPath<Self, Value> & Sendable, _ value: Value, create: () throws -> Self
  ) throws -> Self {
    try AmbientStore().findOrCreate(Self.self, by: keyPath, value, create: create)
  }

  /// The record with the lowest id, or nil when there is none.
  ///
  /// - Throws: as ``find(_:)->Self?``.
  /// - Complexity: one search.
  public static var first: Self? { get throws { try AmbientStore().first(all) } }

  /// How many records of the type there are.
  ///
  /// - Throws: as ``find(_:)->Self?``.
  /// - Complexity: O(1).
  public static func count() throws -> Int { try AmbientStore().count(Self.self) }

  /// Whether there is a record with this id. Reads no record.
  ///
  /// - Throws: `.noDefaultStore`; as ``ReadTransaction/exists(_:_:)``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  public static func exists(_ id: ID) throws -> Bool { try AmbientStore().exists(Self.self, id) }

  /// Deletes the record with this id, by the rules of its associations. See
  /// ``WriteTransaction/delete(_:_:)``.
  ///
  /// - Returns: whether there was one.
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; as ``WriteTransaction/delete(_:_:)``.
  /// - Complexity: as ``WriteTransaction/delete(_:_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func delete(_ id: ID) throws -> Bool { try AmbientStore().delete(Self.self, id) }

  /// Deletes all records of the type as a query does: by the rules of their associations, and with
  /// their hooks. See `RecordWriting.delete(_:)`.
  ///
  /// - Returns: how many there were.
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; as `RecordWriting.delete(_:)`.
  /// - Complexity: O(log n) for each record, index entry and associated record.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func deleteAll() throws -> Int { try AmbientStore().delete(all) }

  /// Drops all records of the type at once, without their hooks. See ``WriteTransaction/erase(_:)``.
  ///
  /// - Returns: how many there were.
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; as ``WriteTransaction/erase(_:)``.
  /// - Complexity: O(pages), far less than `deleteAll()`; where rules of associations act on
  ///   other records, as that.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func erase() throws -> Int { try AmbientStore().erase(Self.self) }
}
