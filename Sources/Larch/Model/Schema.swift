/// The declarations of a record type: its indexes, unique fields, associations and defaults, one a
/// line.
///
/// ```swift
/// static let schema = Schema<Person> {
///   Unique(\.email)
///   Index(\.city, \.age)
///   Default(\.role, .member)
/// }
/// ```
///
/// Declarations take effect when a store is opened: a new index is built then, one that is no
/// longer declared is removed, and a changed one is built anew.
public struct Schema<R: Record>: Sendable {
  let indexes: [IndexDeclaration<R>]
  let defaults: [DefaultDeclaration<R>]
  let associations: [DeclaredAssociation]
  let validations: [ValidationDeclaration<R>]
  let renames: [RenameDeclaration<R>]
  let versions: [VersionDeclaration<R>]
  let hooks: [_DeclaredHook<R>]

  /// A schema without declarations.
  public init() {
    indexes = []
    defaults = []
    associations = []
    validations = []
    renames = []
    versions = []
    hooks = []
  }

  /// A schema of the declarations in the closure.
  public init(@SchemaBuilder<R> _ declarations: () -> [SchemaElement<R>]) {
    var indexes: [IndexDeclaration<R>] = []
    var defaults: [DefaultDeclaration<R>] = []
    var associations: [DeclaredAssociation] = []
    var validations: [ValidationDeclaration<R>] = []
    var renames: [RenameDeclaration<R>] = []
    var versions: [VersionDeclaration<R>] = []
    var hooks: [_DeclaredHook<R>] = []
    for element in declarations() {
      switch element.kind {
      case .index(let index): indexes.append(index)
      case .default(let value): defaults.append(value)
      case .association(let ends): associations += ends
      case .validation(let validation): validations.append(validation)
      case .rename(let rename): renames.append(rename)
      case .version(let version): versions.append(version)
      case .hook(let hook): hooks.append(hook)
      }
    }
    self.indexes = indexes
    self.defaults = defaults
    self.associations = associations
    self.validations = validations
    self.renames = renames
    self.versions = versions
    self.hooks = hooks
  }
}

/// One line of a schema.
public struct SchemaElement<R: Record>: Sendable {
  enum Kind: Sendable {
    case index(IndexDeclaration<R>)
    case `default`(DefaultDeclaration<R>)
    case association([DeclaredAssociation])
    case validation(ValidationDeclaration<R>)
    case rename(RenameDeclaration<R>)
    case version(VersionDeclaration<R>)
    case hook(_DeclaredHook<R>)
  }

  let kind: Kind
}

/// Collects the lines of a schema. You write the lines, the compiler calls this.
@resultBuilder
public enum SchemaBuilder<R: Record> {
  /// A line that declares an index.
  public static func buildExpression(_ index: Index<R>) -> [SchemaElement<R>] {
    [SchemaElement(kind: .index(index.declaration))]
  }

  /// A line that declares a unique index.
  public static func buildExpression(_ unique: Unique<R>) -> [SchemaElement<R>] {
    [SchemaElement(kind: .index(unique.declaration))]
  }

  /// A line that declares a default.
  public static func buildExpression(_ value: Default<R>) -> [SchemaElement<R>] {
    [SchemaElement(kind: .default(value.declaration))]
  }

  /// A line that declares a reference to another type.
  public static func buildExpression<Target: Record>(
    _ association: BelongsTo<R, Target>
  ) -> [SchemaElement<R>] {
    [SchemaElement(kind: .association(association.declared))]
  }

  /// A line that declares that others refer to the type.
  public static func buildExpression<Target: Record>(
    _ association: HasMany<R, Target>
  ) -> [SchemaElement<R>] {
    [SchemaElement(kind: .association(association.declared))]
  }

  /// A line that declares that one other refers to each record of the type.
  public static func buildExpression<Target: Record>(
    _ association: HasOne<R, Target>
  ) -> [SchemaElement<R>] {
    [SchemaElement(kind: .association(association.declared))]
  }

  /// A line that declares lists of ids.
  public static func buildExpression<Target: Record>(
    _ association: ManyToMany<R, Target>
  ) -> [SchemaElement<R>] {
    [SchemaElement(kind: .association(association.declared))]
  }

  /// A line that declares a rule for the values of records.
  public static func buildExpression(_ rule: Validate<R>) -> [SchemaElement<R>] {
    [SchemaElement(kind: .validation(rule.declaration))]
  }

  /// A line that declares an older name of a field, or of the type.
  public static func buildExpression(_ rename: Renamed<R>) -> [SchemaElement<R>] {
    [SchemaElement(kind: .rename(rename.declaration))]
  }

  /// A line that declares which property counts the saves of a record.
  public static func buildExpression(_ version: Versioned<R>) -> [SchemaElement<R>] {
    [SchemaElement(kind: .version(version.declaration))]
  }

  /// A line that declares a hook.
  public static func buildExpression<Line: _HookLine<R>>(_ hook: Line) -> [SchemaElement<R>] {
    [SchemaElement(kind: .hook(hook._declared))]
  }

  /// All lines together.
  public static func buildBlock(_ lines: [SchemaElement<R>]...) -> [SchemaElement<R>] {
    lines.flatMap { $0 }
  }

  /// Lines behind an `if`.
  public static func buildOptional(_ lines: [SchemaElement<R>]?) -> [SchemaElement<R>] {
    lines ?? []
  }

  /// Lines of the first branch of an `if`.
  public static func buildEither(first lines: [SchemaElement<R>]) -> [SchemaElement<R>] { lines }

  /// Lines of the second branch of an `if`.
  public static func buildEither(second lines: [SchemaElement<R>]) -> [SchemaElement<R>] { lines }

  /// Lines of a loop.
  public static func buildArray(_ lines: [[SchemaElement<R>]]) -> [SchemaElement<R>] {
    lines.flatMap { $0 }
  }
}
