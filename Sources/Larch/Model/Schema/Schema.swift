/// The declarations of a record type: its indexes, unique fields, associations and defaults, one
/// per line.
///
/// ```swift
/// static let schema = Schema<Person> {
///   Unique(\.email)
///   Index(\.city, \.age)
///   Default(\.role, .member)
/// }
/// ```
///
/// Declarations take effect when a store is opened: a new index is built, a changed index is built
/// again, and an index that is no longer declared is removed.
public struct Schema<R: Record>: Sendable {
  let indexes: [IndexDeclaration<R>]
  let searches: [SearchDeclaration<R>]
  let defaults: [DefaultDeclaration<R>]
  let associations: [DeclaredAssociation]
  let validations: [ValidationDeclaration<R>]
  let renames: [RenameDeclaration<R>]
  let versions: [VersionDeclaration<R>]
  let hooks: [DeclaredHook<R>]

  /// A schema without declarations.
  public init() {
    indexes = []
    searches = []
    defaults = []
    associations = []
    validations = []
    renames = []
    versions = []
    hooks = []
  }

  /// A schema of the declarations in the closure.
  public init(@SchemaBuilder<R> _ declarations: () -> [any SchemaEntry<R>]) {
    var indexes: [IndexDeclaration<R>] = []
    var searches: [SearchDeclaration<R>] = []
    var defaults: [DefaultDeclaration<R>] = []
    var associations: [DeclaredAssociation] = []
    var validations: [ValidationDeclaration<R>] = []
    var renames: [RenameDeclaration<R>] = []
    var versions: [VersionDeclaration<R>] = []
    var hooks: [DeclaredHook<R>] = []
    for entry in declarations() {
      switch SchemaElement(entry) {
      case .index(let index): indexes.append(index)
      case .search(let search): searches.append(search)
      case .default(let value): defaults.append(value)
      case .association(let ends): associations += ends
      case .validation(let validation): validations.append(validation)
      case .rename(let rename): renames.append(rename)
      case .version(let version): versions.append(version)
      case .hook(let hook): hooks.append(hook)
      }
    }
    self.indexes = indexes
    self.searches = searches
    self.defaults = defaults
    self.associations = associations
    self.validations = validations
    self.renames = renames
    self.versions = versions
    self.hooks = hooks
  }
}

/// A line of a schema: ``Index``, ``Unique``, ``Search``, ``Default``, ``Renamed``, ``Validate``,
/// ``Versioned``, ``BelongsTo``, ``HasMany``, ``HasOne``, ``ManyToMany`` or a hook such as
/// ``WillSave``. Only these types conform.
public protocol SchemaEntry<R>: Sendable {
  /// The type of the schema.
  associatedtype R: Record
}

/// A line of a schema that Larch knows: each type that conforms to ``SchemaEntry``.
protocol SchemaLine<R>: SchemaEntry {
  /// The declaration.
  var element: SchemaElement<R> { get }
}

/// The declaration in one line of a schema.
enum SchemaElement<R: Record>: Sendable {
  case index(IndexDeclaration<R>)
  case search(SearchDeclaration<R>)
  case `default`(DefaultDeclaration<R>)
  case association([DeclaredAssociation])
  case validation(ValidationDeclaration<R>)
  case rename(RenameDeclaration<R>)
  case version(VersionDeclaration<R>)
  case hook(DeclaredHook<R>)

  init(_ entry: any SchemaEntry<R>) {
    guard let line = entry as? any SchemaLine<R> else {
      // The program conformed a type that only Larch may conform.
      preconditionFailure("\(type(of: entry)) is no line of a schema; see SchemaEntry.")
    }
    self = line.element
  }
}

/// Collects the lines of a schema. The compiler calls it for the lines that you write.
@resultBuilder
public enum SchemaBuilder<R: Record> {
  /// A line of the schema.
  ///
  /// There is one function for all entries, so that the compiler reports the error in a line, and
  /// not that none of nine overloads fits. It is not generic: the compiler would then try all
  /// operators of a closure before it knows the type of the record, twenty times as many steps.
  public static func buildExpression(_ entry: any SchemaEntry<R>) -> [any SchemaEntry<R>] {
    [entry]
  }

  /// All lines together.
  public static func buildBlock(_ lines: [any SchemaEntry<R>]...) -> [any SchemaEntry<R>] {
    lines.flatMap { $0 }
  }

  /// Lines in an `if`.
  public static func buildOptional(_ lines: [any SchemaEntry<R>]?) -> [any SchemaEntry<R>] {
    lines ?? []
  }

  /// Lines of the first branch of an `if`.
  public static func buildEither(first lines: [any SchemaEntry<R>]) -> [any SchemaEntry<R>] {
    lines
  }

  /// Lines of the second branch of an `if`.
  public static func buildEither(second lines: [any SchemaEntry<R>]) -> [any SchemaEntry<R>] {
    lines
  }

  /// Lines of a loop.
  public static func buildArray(_ lines: [[any SchemaEntry<R>]]) -> [any SchemaEntry<R>] {
    lines.flatMap { $0 }
  }
}

// MARK: - Entries

extension Index: SchemaEntry, SchemaLine {
  var element: SchemaElement<R> { .index(declaration) }
}

extension Unique: SchemaEntry, SchemaLine {
  var element: SchemaElement<R> { .index(declaration) }
}

extension Default: SchemaEntry, SchemaLine {
  var element: SchemaElement<R> { .default(declaration) }
}

extension Validate: SchemaEntry, SchemaLine {
  var element: SchemaElement<R> { .validation(declaration) }
}

extension Versioned: SchemaEntry, SchemaLine {
  var element: SchemaElement<R> { .version(declaration) }
}

extension Renamed: SchemaEntry, SchemaLine {
  var element: SchemaElement<R> { .rename(declaration) }
}

extension BelongsTo: SchemaLine {}
extension HasMany: SchemaLine {}
extension HasOne: SchemaLine {}
extension ManyToMany: SchemaLine {}

extension Association {
  var element: SchemaElement<Owner> { .association(_route.declared) }
}
