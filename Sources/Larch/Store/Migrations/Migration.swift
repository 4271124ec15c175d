/// A change of stored records that declarations alone cannot express. It runs once on each file,
/// when a store is opened.
///
/// ```swift
/// let store = try Store(
///   at: path, for: Person.self, Category.self,
///   migrations: [
///     Migration("split names") { tx in
///       try tx.rewrite(Person.self, from: PersonV1.self) { old in
///         let parts = old.name.split(separator: " ", maxSplits: 1).map(String.init)
///         return Person(id: .init(old.id.rawValue), first: parts[0], last: parts.last ?? "")
///       }
///     },
///     Migration("first categories") { tx in
///       var other = Category(name: "Other")
///       try tx.save(&other)
///     },
///   ])
/// ```
///
/// Each migration is a transaction of its own: it runs completely, and its name is noted, or not at
/// all. The migrations that have not run on a file run in the order of the list, at whatever
/// position they are; on a new file none has run. A name in the file that is not in the list is not
/// an error, so an old migration can be removed once it has run on every file.
public struct Migration: Sendable {
  /// The name that the file remembers; it must not change once the migration has run anywhere.
  public let name: String
  let body: @Sendable (MigrationTransaction) throws -> Void

  /// A migration with a unique name of 1 to 255 bytes.
  ///
  /// The closure may run more than once, if the map has to grow: it must have no effects outside
  /// its transaction.
  public init(
    _ name: String, _ body: @escaping @Sendable (_ tx: MigrationTransaction) throws -> Void
  ) {
    self.name = name
    self.body = body
  }

  /// Refuses names that cannot be stored, and duplicates.
  static func check(_ migrations: [Migration]) throws {
    var known: Set<String> = []
    for migration in migrations {
      guard (1...CatalogStorage.migrationNameLimit).contains(migration.name.utf8.count) else {
        throw LarchError(
          .invalidSchema, "The name of a migration must have 1 to 255 bytes; change it."
        ) { $0.detail = migration.name }
      }
      guard known.insert(migration.name).inserted else {
        throw LarchError(
          .invalidSchema, "Two migrations have the same name; rename one."
        ) { $0.detail = migration.name }
      }
    }
  }
}

/// The fields of a stored record by their coding names, without its Swift type.
public struct StoredFields: Hashable, Sendable {
  /// The values by name. A missing field has no value: it is nil, or has the declared default. An
  /// optional field with a default that was saved as nil is ``FieldValue/null``.
  public var values: [String: FieldValue]
  /// Set it to remove the record instead of writing it.
  public var isDropped = false

  /// Fields with these values.
  public init(_ values: [String: FieldValue] = [:]) { self.values = values }

  /// The value of a field; nil if it has none. Setting nil removes the field.
  public subscript(name: String) -> FieldValue? {
    get { values[name] }
    set { values[name] = newValue }
  }

  /// The names of the fields that have a value, in order.
  public var names: [String] { values.keys.sorted() }

  /// Whether they have the same names and values, bit for bit.
  func isIdentical(to other: StoredFields) -> Bool {
    FieldValue.areIdentical(values, other.values)
  }

  /// Renames a field; does nothing if it does not exist.
  public mutating func rename(_ name: String, to other: String) {
    if let value = values.removeValue(forKey: name) { values[other] = value }
  }
}
