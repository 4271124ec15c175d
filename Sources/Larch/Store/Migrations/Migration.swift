/// A change of stored records that a program cannot tell by its declarations alone. It is run once
/// in each file, when a store is opened.
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
/// Each migration is a transaction of its own: it is done whole, with the note of its name, or not
/// at all. Those that a file has not had are run in the order of the list, wherever in it they
/// stand; a new file has had none. Names that the file knows and the list does not are no error, so
/// an old migration may be taken out once every file has had it.
public struct Migration: Sendable {
  /// What the file remembers it by: never to be changed once it was run somewhere.
  public let name: String
  let body: @Sendable (MigrationTransaction) throws -> Void

  /// A migration with a name of 1 to 255 bytes that no other one of the program has.
  ///
  /// The closure may run more than once, when the map had to grow in the middle: it must do nothing
  /// outside of its transaction.
  public init(
    _ name: String, _ body: @escaping @Sendable (_ tx: MigrationTransaction) throws -> Void
  ) {
    self.name = name
    self.body = body
  }

  /// Refuses names that cannot be remembered.
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

/// The fields of a stored record, by their coding names: what is there without its Swift type.
public struct StoredFields: Hashable, Sendable {
  /// The values by name. A field that is not here has no value: nil, or the declared default.
  public var values: [String: FieldValue]
  /// Set it to have the record removed rather than written.
  public var isDropped = false

  /// Fields with these values.
  public init(_ values: [String: FieldValue] = [:]) { self.values = values }

  /// The value of a field, nil where there is none; setting nil removes the field.
  public subscript(name: String) -> FieldValue? {
    get { values[name] }
    set { values[name] = newValue }
  }

  /// The names of the fields that have a value, in their order.
  public var names: [String] { values.keys.sorted() }

  /// Gives a field another name; nothing where it is not there.
  public mutating func rename(_ name: String, to other: String) {
    if let value = values.removeValue(forKey: name) { values[other] = value }
  }
}
