/// The source of one component of an index.
package final class IndexFieldSchema: Sendable {
  /// The coding names that lead to the stored field; nil if only the decoded record has the value.
  package let storedPath: [String]?
  /// For each name of the path, whether a record without the field has nil there; empty if only
  /// decoding can answer that.
  let optionalNames: [Bool]
  /// Whether decoding may replace a nil by another value. If a type is known, its `FieldReading`
  /// answers this.
  let mayHaveDefault: Bool
  /// The type of the key bytes.
  package let form: KeyForm
  /// Whether the field is an array or a set, with an entry for each element.
  package let isMultiple: Bool
  /// The form of texts in the keys.
  let textForm: TextForm
  /// Whether the keys have something else than the texts themselves.
  let isFolded: Bool
  /// Identifies the field: a filter finds the index by it.
  let identity: FieldIdentity
  /// The hash of the identity, so that most different fields need not be compared.
  let identityHash: Int
  /// Nil can be written in several ways, so it is in several places of an index.
  let hasNestedOptionals: Bool
  /// Whether there are only two values, apart from nil.
  let isBool: Bool

  init(
    storedPath: [String]?, optionalNames: [Bool] = [], mayHaveDefault: Bool = false,
    identity: FieldIdentity, form: KeyForm, isMultiple: Bool, textForm: TextForm
  ) {
    self.storedPath = storedPath
    self.optionalNames = optionalNames
    self.mayHaveDefault = mayHaveDefault
    self.identity = identity
    identityHash = identity.hashValue
    hasNestedOptionals = form.hasNestedOptionals
    isBool = form.unwrapped == .primitive(.bool)
    self.form = form
    self.isMultiple = isMultiple
    self.textForm = textForm
    isFolded = textForm.isFolded
  }
}

/// An index as the program declares it, without the record type.
package final class IndexSchema: Sendable {
  package let name: String
  let isUnique: Bool
  package let fields: [IndexFieldSchema]
  /// Entries come from the decoded record: a computed property, a key type of the program, or an
  /// index over a part of the records.
  package let isDecoded: Bool
  /// Only the records that a closure selects have entries, so the index cannot answer queries.
  package let isPartial: Bool
  /// How the entries are made. Kept in the catalog: another text means other keys.
  package let definition: String
  /// Whether any field has several entries.
  let hasMultiple: Bool
  /// The form of the keys: that of all fields, one after the other.
  let form: KeyForm
  /// Where the keys have the fields of a record; nil if they do not have all of them.
  let record: RecordInKeys?
  /// The words that it has; nil for an index of keys.
  package let search: SearchSchema?

  init(
    name: String, isUnique: Bool, fields: [IndexFieldSchema], isDecoded: Bool, isPartial: Bool,
    definition: String, record: RecordInKeys? = nil, search: SearchSchema? = nil
  ) {
    self.record = record
    self.search = search
    self.name = name
    self.isUnique = isUnique
    self.fields = fields
    self.isDecoded = isDecoded
    self.isPartial = isPartial
    self.definition = definition
    form = .composite(fields.map { $0.form.ofKey($0.textForm) })
    hasMultiple = fields.contains { $0.isMultiple }
  }
}

/// Decodes a record and emits the keys of the indexes for which `isWanted` returns true.
typealias DecodedKeys =
  @Sendable (
    _ record: UnsafeRawBufferPointer, _ coder: RecordCoder, _ writer: inout KeyWriter,
    _ isWanted: (Int) -> Bool, _ emit: (_ index: Int, _ writer: inout KeyWriter) throws -> Void
  ) throws -> Void

/// Decodes a record and emits the bytes of each id in a reference of its type.
typealias ReferencedIDs =
  @Sendable (
    _ record: UnsafeRawBufferPointer, _ coder: RecordCoder, _ reference: ReferenceDeclaration,
    _ writer: inout KeyWriter, _ emit: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Void

/// Decodes a record and calls with each text of a search, by the place of the search in the schema, and the place
/// of the field in the search.
typealias DecodedTexts =
  @Sendable (
    _ record: UnsafeRawBufferPointer, _ coder: RecordCoder, _ search: Int,
    _ emit: (_ field: Int, _ text: String) -> Void
  ) throws -> Void

/// All declarations of one record type, without the type, for the layers below the generic API.
package final class CollectionSchema: Sendable {
  let name: String
  let typeName: String
  let typeID: ObjectIdentifier
  let type: any Record.Type
  let idKind: RecordIDKind
  package let indexes: [IndexSchema]
  /// The indexes of words.
  package let searches: [IndexSchema]
  /// The `identityHash` of the first field of each index, in one array.
  let leadingFields: [Int]
  /// Whether any index needs the decoded record.
  let hasDecodedIndexes: Bool
  /// Makes the keys of a decoded record from stored bytes: only this closure knows the type.
  let decodedKeys: DecodedKeys
  /// The same for the texts of searches.
  let decodedTexts: DecodedTexts
  /// The same for references, whose keys in an index may be cut.
  let referencedIDs: ReferencedIDs
  /// Gives a coder the values for fields that are missing in older records; nil if there are none.
  let declareDefaults: (@Sendable (RecordCoder) throws -> Void)?
  /// Whether code of the type runs when its records are saved or deleted.
  let hasHooks: Bool
  /// Whether code that may write runs when its records are saved: hooks, or rules with custom code.
  let savesRunCode: Bool
  /// `TypedDeclarations` of the record type.
  let typed: any AnyObject & Sendable
  /// The fields that have a default.
  let defaults: Set<String>
  /// The fields whose default also replaces a stored nil, because they are not optional.
  let standInDefaults: Set<String>
  /// Older names of the type and of its fields.
  let renames: Renames

  /// The form of the records of the type, as far as its coding shows it. The first access runs that
  /// coding.
  var form: FieldForm { TypeProbe.facts(of: type).form }

  init(
    name: String, typeName: String, type: any Record.Type, idKind: RecordIDKind,
    indexes: [IndexSchema], searches: [IndexSchema] = [],
    declareDefaults: (@Sendable (RecordCoder) throws -> Void)?,
    typed: any AnyObject & Sendable, hasHooks: Bool, rulesRunCode: Bool, defaults: Set<String> = [],
    standInDefaults: Set<String> = [], renames: Renames = Renames(),
    decodedKeys: @escaping DecodedKeys,
    decodedTexts: @escaping DecodedTexts,
    referencedIDs: @escaping ReferencedIDs
  ) {
    self.name = name
    self.typeName = typeName
    self.type = type
    typeID = ObjectIdentifier(type)
    self.hasHooks = hasHooks
    self.savesRunCode = hasHooks || rulesRunCode
    self.idKind = idKind
    self.indexes = indexes
    self.searches = searches
    leadingFields = indexes.map { $0.fields.first?.identityHash ?? 0 }
    self.decodedKeys = decodedKeys
    self.decodedTexts = decodedTexts
    self.referencedIDs = referencedIDs
    self.declareDefaults = declareDefaults
    self.typed = typed
    self.defaults = defaults
    self.standInDefaults = standInDefaults
    self.renames = renames
    hasDecodedIndexes = indexes.contains { $0.isDecoded }
  }
}
