/// An older name of a field, or of the type, under which a file may hold it.
///
/// ```swift
/// Renamed(\.surname, from: "lastName")
/// ```
///
/// Records are not rewritten: those that lack the field are read by the older name, by queries and
/// indexes too. A field may have several older names, one a line. While a name is declared so, no
/// other field of the type can have it.
public struct Renamed<R: Record>: Sendable {
  let declaration: RenameDeclaration<R>

  /// Declares that older records have the field under another name, that of its coding key.
  ///
  /// The field is a stored property, also one of a nested value; the name then holds for that type
  /// wherever it is stored.
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

  /// Declares that older files have the records under another name of the type.
  ///
  /// The collection gets its present name when a file is opened for writing, with its indexes,
  /// references and lists. Opening is refused where records stand under both names.
  public init(from collectionName: String) {
    declaration = RenameDeclaration(resolve: nil, formerName: collectionName)
  }
}

/// A declared older name.
struct RenameDeclaration<R: Record>: Sendable {
  /// The field; nil for the type itself.
  let resolve: (@Sendable () -> FieldNaming.Resolution)?
  let formerName: String
}
