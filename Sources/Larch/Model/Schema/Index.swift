/// Declares an index over one or several fields, in the order of comparison.
///
/// ```swift
/// Index(\.city, \.age)                       // by city, then by age
/// Index(\.tags)                              // an entry for each element
/// Index(\.name, options: .caseInsensitive)
/// Index(\.name, options: .localized("nb"))   // in the order of a language
/// Index(\.city, then: \.name, options: .localized("nb"))
/// Index(\.address.city)                      // inside a nested value
/// Index(\.email, where: { $0.isActive })     // over a part of the records
/// Index(\.fullName, name: "fullName")        // a computed property, with a name
/// ```
///
/// An index answers filters on its first fields, and returns records in its order; an index over a
/// part of the records answers no queries. Each index costs about half a microsecond per record
/// when records are saved in bulk. A field may be any ``IndexKey``, or an array or set of them.
public struct Index<R: Record>: Sendable {
  let declaration: IndexDeclaration<R>

  /// Declares an index over the fields.
  ///
  /// - Parameters:
  ///   - first: the field that is compared first.
  ///   - rest: the fields that are compared if the ones before are equal.
  ///   - name: required for a computed property; the keys of such an index come from the decoded
  ///     record. The name identifies the index in the file: change it when the computation changes.
  ///   - condition: selects the records in the index; change `name` when it changes.
  public init<First: IndexableField, each Rest: IndexableField>(
    _ first: any KeyPath<R, First> & Sendable, _ rest: repeat any KeyPath<R, each Rest> & Sendable,
    name: String? = nil, where condition: (@Sendable (R) -> Bool)? = nil
  ) {
    var list = [FieldDeclaration(first)]
    for field in repeat each rest { list.append(FieldDeclaration(field)) }
    declaration = IndexDeclaration(
      name: name, isUnique: false, fields: list, condition: condition)
  }

  /// Declares an index over a text, ignoring case, or in the order of a language.
  public init<Value: IndexableField>(
    _ field: any KeyPath<R, Value> & Sendable, options: TextIndexOption, name: String? = nil,
    where condition: (@Sendable (R) -> Bool)? = nil
  ) where Value._Entry.IndexValue.IndexValue == String {
    declaration = IndexDeclaration(
      name: name, isUnique: false, fields: [FieldDeclaration(field, options.form)],
      condition: condition)
  }

  /// Declares an index over fields, and then over a text, ignoring its case, or in the order of a language.
  ///
  /// - Parameters:
  ///   - fields: the fields that are compared first, as they are.
  ///   - last: the text that is compared if they are equal.
  ///   - options: how the text is compared.
  ///   - name: as of an index without a text.
  ///   - condition: selects the records in the index; change `name` when it changes.
  public init<each Field: IndexableField, Value: IndexableField>(
    _ fields: repeat any KeyPath<R, each Field> & Sendable,
    then last: any KeyPath<R, Value> & Sendable, options: TextIndexOption, name: String? = nil,
    where condition: (@Sendable (R) -> Bool)? = nil
  ) where Value._Entry.IndexValue.IndexValue == String {
    var list: [FieldDeclaration<R>] = []
    for field in repeat each fields { list.append(FieldDeclaration(field)) }
    list.append(FieldDeclaration(last, options.form))
    declaration = IndexDeclaration(name: name, isUnique: false, fields: list, condition: condition)
  }

  /// Not available: a type that is not a key.
  @available(
    *, unavailable,
    message:
      "a field has a type that no index can order: add the word `IndexKey` to an enum with raw values, one word and nothing to write; name a property of a nested value, `\\.address.city`, through an optional `\\.address?.city`; see `IndexKey` for other types"
  )
  @_disfavoredOverload
  public init(
    _ fields: PartialKeyPath<R>..., name: String? = nil,
    where condition: (@Sendable (R) -> Bool)? = nil
  ) {
    declaration = IndexDeclaration(name: name, isUnique: false, fields: [], condition: condition)
  }

  /// Not available: a field that is not text.
  @available(
    *, unavailable,
    message: "only one text by itself, or the one after `then:`, can have `options`; leave them out"
  )
  @_disfavoredOverload
  public init(
    _ fields: PartialKeyPath<R>..., options: TextIndexOption, name: String? = nil,
    where condition: (@Sendable (R) -> Bool)? = nil
  ) {
    declaration = IndexDeclaration(name: name, isUnique: false, fields: [], condition: condition)
  }
}

/// Declares an index in which no two records have the same values.
///
/// ```swift
/// Unique(\.email)
/// Unique(\.teamID, \.number)
/// ```
///
/// A record with nil, or NaN, in one of the fields never conflicts. A save that would break the
/// rule changes nothing and throws `.uniqueConflict`, which names the index and the conflicting
/// record.
public struct Unique<R: Record>: Sendable {
  let declaration: IndexDeclaration<R>

  /// Declares that the fields together are unique. See ``Index`` for the parameters.
  public init<First: IndexableField, each Rest: IndexableField>(
    _ first: any KeyPath<R, First> & Sendable, _ rest: repeat any KeyPath<R, each Rest> & Sendable,
    name: String? = nil, where condition: (@Sendable (R) -> Bool)? = nil
  ) {
    var list = [FieldDeclaration(first)]
    for field in repeat each rest { list.append(FieldDeclaration(field)) }
    declaration = IndexDeclaration(name: name, isUnique: true, fields: list, condition: condition)
  }

  /// Declares that a text is unique, ignoring case.
  public init<Value: IndexableField>(
    _ field: any KeyPath<R, Value> & Sendable, options: TextOption, name: String? = nil,
    where condition: (@Sendable (R) -> Bool)? = nil
  ) where Value._Entry.IndexValue.IndexValue == String {
    declaration = IndexDeclaration(
      name: name, isUnique: true, fields: [FieldDeclaration(field, options.form)],
      condition: condition)
  }

  /// Not available: a type that is not a key.
  @available(
    *, unavailable,
    message:
      "a field has a type that no index can order: add the word `IndexKey` to an enum with raw values, one word and nothing to write; name a property of a nested value, `\\.address.city`, through an optional `\\.address?.city`; see `IndexKey` for other types"
  )
  @_disfavoredOverload
  public init(
    _ fields: PartialKeyPath<R>..., name: String? = nil,
    where condition: (@Sendable (R) -> Bool)? = nil
  ) {
    declaration = IndexDeclaration(name: name, isUnique: true, fields: [], condition: condition)
  }

  /// Not available: a field that is not text.
  @available(
    *, unavailable,
    message: "only one text by itself can have `options`; leave them out"
  )
  @_disfavoredOverload
  public init(
    _ fields: PartialKeyPath<R>..., options: TextOption, name: String? = nil,
    where condition: (@Sendable (R) -> Bool)? = nil
  ) {
    declaration = IndexDeclaration(name: name, isUnique: true, fields: [], condition: condition)
  }
}

// MARK: - Declarations

/// A declared index with its record type.
final class IndexDeclaration<R: Record>: Sendable {
  let name: String?
  let isUnique: Bool
  let fields: [FieldDeclaration<R>]
  let condition: (@Sendable (R) -> Bool)?
  /// Makes its keys from records in memory.
  let keys: RecordKeys
  /// Created for a uniqueness rule: it gives way to a declared index with its name.
  let isOfRule: Bool

  init(
    name: String?, isUnique: Bool, fields: [FieldDeclaration<R>],
    condition: (@Sendable (R) -> Bool)?, isOfRule: Bool = false
  ) {
    self.isOfRule = isOfRule
    self.name = name
    self.isUnique = isUnique
    self.fields = fields
    self.condition = condition
    keys = RecordKeys(fields.map(\.keys), where: IndexDeclaration.test(condition))
  }

  private static func test(_ condition: (@Sendable (R) -> Bool)?) -> RuleCondition? {
    guard let condition else { return nil }
    // Keys are made only of records of this type, each at the address of its record.
    return { condition($0.assumingMemoryBound(to: R.self).pointee) }
  }

  /// Writes each key of the record and calls `emit` after each.
  func forEachKey(
    of record: R, in writer: inout KeyWriter, _ emit: (inout KeyWriter) throws -> Void
  ) throws {
    try withUnsafePointer(to: record) {
      try keys.forEachKey(at: UnsafeRawPointer($0), in: &writer, emit)
    }
  }
}

/// A declared field of an index; closures keep the type of the field.
final class FieldDeclaration<R: Record>: @unchecked Sendable {
  /// Immutable, and only compared.
  let keyPath: AnyKeyPath
  let form: KeyForm
  let isMultiple: Bool
  /// The form of texts, and what is wrong with it.
  let textForm: TextForm
  let textError: LarchError?
  /// Whether keys can be made from stored bytes, if the field is stored.
  let isStandard: Bool
  let resolve: @Sendable () -> FieldNaming.Resolution
  let keys: RecordKeys.Field

  init<Value: IndexableField>(
    _ keyPath: any KeyPath<R, Value> & Sendable, _ texts: CheckedTextForm = .exact
  ) {
    let textForm = texts.form
    self.keyPath = keyPath
    let coding = Value.fieldCoding
    form = coding.form
    isMultiple = coding.isMultiple
    self.textForm = textForm
    textError = texts.error
    isStandard = Value.isReadableFromBytes
    resolve = { FieldNaming.storedPath(of: keyPath) }
    let access = FieldAccess(keyPath)
    guard let single = coding.single else {
      keys = RecordKeys.Field { record, writer, isLast, next in
        writer.textForm = textForm
        defer { writer.textForm = .exact }
        // The address is that of an `R`; see above.
        try access.withValue(at: record) {
          try coding.forEachKey(of: $0.pointee, to: &writer, isLast: isLast, next)
        }
      }
      return
    }
    keys = RecordKeys.Field { record, writer, isLast, next in
      writer.textForm = textForm
      // See above.
      access.writeKey(single, of: record, to: &writer, isLast: isLast)
      writer.textForm = .exact
      try next(&writer)
    }
  }
}
