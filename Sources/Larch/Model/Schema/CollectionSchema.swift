/// What one component of an index is taken from.
package final class IndexFieldSchema: Sendable {
  /// The coding names that lead to the stored field; nil when only the decoded record tells.
  package let storedPath: [String]?
  /// For each name of the path whether a record without such a field has nil there; empty where
  /// only decoding tells.
  let optionalNames: [Bool]
  /// Whether nil may be one that only decoding puts another value in place of. Where a type is
  /// known its `FieldReading` tells.
  let mayHaveDefault: Bool
  /// The type of the key bytes.
  package let form: KeyForm
  /// Whether the field is an array or a set, with an entry for each element.
  package let isMultiple: Bool
  /// Whether upper and lower case are the same.
  let isFolded: Bool
  /// Which field it is: how a filter finds the index.
  let identity: FieldIdentity
  /// Of the identity, so that most of those that differ need not be compared.
  let identityHash: Int
  /// Nil can be written in several ways, and so stands in several places of an index.
  let hasNestedOptionals: Bool

  init(
    storedPath: [String]?, optionalNames: [Bool] = [], mayHaveDefault: Bool = false,
    identity: FieldIdentity, form: KeyForm, isMultiple: Bool, isFolded: Bool
  ) {
    self.storedPath = storedPath
    self.optionalNames = optionalNames
    self.mayHaveDefault = mayHaveDefault
    self.identity = identity
    identityHash = identity.hashValue
    hasNestedOptionals = form.hasNestedOptionals
    self.form = form
    self.isMultiple = isMultiple
    self.isFolded = isFolded
  }
}

/// An index as the program declares it, without the record type.
package final class IndexSchema: Sendable {
  package let name: String
  let isUnique: Bool
  package let fields: [IndexFieldSchema]
  /// Entries are taken from the decoded record: a computed property, a key type of the user's,
  /// or an index over a part of the records.
  package let isDecoded: Bool
  /// Only the records that a closure picks have entries, so no query can be answered from it.
  package let isPartial: Bool
  /// What the entries are made of. Kept in the catalog: another text means other keys.
  package let definition: String
  /// Whether any field has several entries.
  let hasMultiple: Bool
  /// The form of the keys: that of all fields one after the other.
  let form: KeyForm

  init(
    name: String, isUnique: Bool, fields: [IndexFieldSchema], isDecoded: Bool, isPartial: Bool,
    definition: String
  ) {
    self.name = name
    self.isUnique = isUnique
    self.fields = fields
    self.isDecoded = isDecoded
    self.isPartial = isPartial
    self.definition = definition
    form = .composite(fields.map(\.form))
    hasMultiple = fields.contains { $0.isMultiple }
  }
}

/// Decodes a record and emits the keys of the indexes that `isWanted` asks for.
typealias DecodedKeys =
  @Sendable (
    _ record: UnsafeRawBufferPointer, _ coder: RecordCoder, _ writer: inout KeyWriter,
    _ isWanted: (Int) -> Bool, _ emit: (_ index: Int, _ writer: inout KeyWriter) throws -> Void
  ) throws -> Void

/// Decodes a record and emits the bytes of each id that a reference of its type holds.
typealias ReferencedIDs =
  @Sendable (
    _ record: UnsafeRawBufferPointer, _ coder: RecordCoder, _ reference: ReferenceDeclaration,
    _ writer: inout KeyWriter, _ emit: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Void

/// All declarations of one record type, without the type: what the layers below the generic
/// surface work with.
package final class CollectionSchema: Sendable {
  let name: String
  let typeName: String
  let typeID: ObjectIdentifier
  let type: any Record.Type
  let idKind: RecordIDKind
  package let indexes: [IndexSchema]
  /// The `identityHash` of the first field of each index, side by side.
  let leadingFields: [Int]
  /// Whether any index needs the decoded record.
  let hasDecodedIndexes: Bool
  /// The way from stored bytes to the keys of a decoded record: the type is known only here.
  let decodedKeys: DecodedKeys
  /// The same for references, whose keys in an index may be cut.
  let referencedIDs: ReferencedIDs
  /// Tells a coder which values stand for fields missing in older records; nil if there are none.
  let declareDefaults: (@Sendable (RecordCoder) throws -> Void)?
  /// Whether code of the type runs with saves and deletions of its records.
  let hasHooks: Bool
  /// Whether code that may write runs with its saves: hooks, or rules with code of their own.
  let savesRunCode: Bool
  /// `TypedDeclarations` of the record type.
  let typed: any AnyObject & Sendable
  /// The fields that have a default.
  let defaults: Set<String>
  /// Those of them that are not optional, so that the default stands in for a stored nil too.
  let standInDefaults: Set<String>
  /// Older names of the type and of its fields.
  let renames: Renames

  /// What records of the type hold, as far as its coding tells. Running that coding is the first
  /// thing that is done for it.
  var form: FieldForm { TypeProbe.facts(of: type).form }

  init(
    name: String, typeName: String, type: any Record.Type, idKind: RecordIDKind,
    indexes: [IndexSchema], declareDefaults: (@Sendable (RecordCoder) throws -> Void)?,
    typed: any AnyObject & Sendable, hasHooks: Bool, rulesRunCode: Bool, defaults: Set<String> = [],
    standInDefaults: Set<String> = [], renames: Renames = Renames(),
    decodedKeys: @escaping DecodedKeys,
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
    leadingFields = indexes.map { $0.fields.first?.identityHash ?? 0 }
    self.decodedKeys = decodedKeys
    self.referencedIDs = referencedIDs
    self.declareDefaults = declareDefaults
    self.typed = typed
    self.defaults = defaults
    self.standInDefaults = standInDefaults
    self.renames = renames
    hasDecodedIndexes = indexes.contains { $0.isDecoded }
  }
}
