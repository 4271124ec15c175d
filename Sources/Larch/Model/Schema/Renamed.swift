/// An older name of a field, or of the type, that a file may still use.
///
/// ```swift
/// Renamed(\.surname, from: "lastName")
/// ```
///
/// Records are not rewritten: if a record does not have the field, its older name is read, also by
/// queries and indexes. A field may have several older names, one per line. No other field of the
/// type can have a name that is declared in this way.
public struct Renamed<R: Record>: Sendable {
  let declaration: RenameDeclaration<R>

  /// Declares that older records have the field under another coding key.
  ///
  /// The field is a stored property. It may be one of a nested value; the older name then applies
  /// to that type wherever it is stored.
  public init<Value>(_ field: any KeyPath<R, Value> & Sendable, from name: String) {
    declaration = RenameDeclaration(
      resolve: { FieldNaming.storedPath(of: field) }, formerName: name)
  }

  /// Not available: a property of another type.
  @available(*, unavailable, message: "the field is a property of another type")
  @_disfavoredOverload
  public init(_ field: PartialKeyPath<R>, from name: String) {
    declaration = RenameDeclaration(resolve: nil, formerName: name)
  }

  /// Declares that older records have all fields under the names of another strategy: the type had
  /// another ``KeyNaming/keyStrategy``.
  ///
  /// ```swift
  /// static let keyStrategy = KeyStrategy.snakeCase
  /// static let schema = Schema<Person> {
  ///   Renamed(keysFrom: .asWritten)  // older records have firstName for first_name
  /// }
  /// ```
  ///
  /// It also applies to nested types that are ``KeyNaming``, wherever they are stored. Records are not
  /// rewritten.
  public init(keysFrom strategy: KeyStrategy) {
    declaration = RenameDeclaration(resolve: nil, formerName: "", formerKeys: strategy)
  }

  /// Declares that older files have the collection under another name.
  ///
  /// The collection gets its present name when a file is opened for writing, with its indexes,
  /// references and lists. Opening fails if there are records under both names.
  public init(from collectionName: String) {
    declaration = RenameDeclaration(resolve: nil, formerName: collectionName)
  }
}

/// A declared older name.
struct RenameDeclaration<R: Record>: Sendable {
  /// The field; nil for the type itself.
  let resolve: (@Sendable () -> FieldNaming.Resolution)?
  let formerName: String
  /// For all fields: the strategy that named them.
  var formerKeys: KeyStrategy?
}
