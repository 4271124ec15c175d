/// An association with both its ends, for the layers below the declarations.
final class AssociationSchema: Sendable {
  enum Kind: Sendable {
    /// A property of the first type holds ids of the second.
    case reference(ReferenceSchema)
    /// Lists of ids in both directions.
    case links
  }

  /// Its key in the catalog: `Person.companyID`, or `Person/Project/members`.
  let key: String
  let kind: Kind
  let first: AssociatedType
  let second: AssociatedType
  /// What happens to the second end when a record of the first is deleted; never `.automatic`.
  let firstRule: DeleteRule
  /// What happens to the first end when a record of the second is deleted; never `.automatic`.
  let secondRule: DeleteRule

  init(
    key: String, kind: Kind, first: AssociatedType, second: AssociatedType,
    firstRule: DeleteRule, secondRule: DeleteRule
  ) {
    self.key = key
    self.kind = kind
    self.first = first
    self.second = second
    self.firstRule = firstRule
    self.secondRule = secondRule
  }

  /// Whether a reference must lead to a record.
  var isEnforced: Bool { secondRule != .none }
}

/// The reference of an association.
package final class ReferenceSchema: Sendable {
  let declaration: ReferenceDeclaration
  /// The coding names that lead to the property.
  let path: [String]
  let form: ReferenceForm
  /// The place of its index in the schema of the holder.
  package let index: Int
  /// Whether at most one other record refers to each record.
  let isOne: Bool

  init(
    _ declaration: ReferenceDeclaration, path: [String], form: ReferenceForm, index: Int,
    isOne: Bool
  ) {
    self.declaration = declaration
    self.path = path
    self.form = form
    self.index = index
    self.isOne = isOne
  }
}

/// An index that an association needs.
struct AssociationIndex: Sendable {
  let reference: ReferenceDeclaration
  let isUnique: Bool
}

/// All declarations of the types of a store.
package struct StoreSchema: Sendable {
  var collections: [CollectionSchema] = []
  var associations: [AssociationSchema] = []
  /// The older names of fields of all types.
  var aliases = FieldAliases()

  package init() {}

  /// - Parameter evolution: `.off` compiles without running the `init(from:)` of a type on sample
  ///   values.
  /// - Throws: `.invalidSchema` for declarations that are unusable or contradictory.
  init(_ types: [any Record.Type], evolution: SchemaEvolution = .automatic) throws {
    let compiler = try AssociationCompiler(types)
    let renames = try types.map { try Renames(of: $0) }
    for one in renames { aliases.add(one.aliases) }
    for (type, renames) in zip(types, renames) {
      let schema = try SchemaCompiler.compile(
        type, needs: compiler.needs(of: type), renames: renames, aliases: aliases,
        usesSamples: evolution != .off)
      if let other = collections.first(where: { $0.name == schema.name }) {
        if other.typeID == schema.typeID { continue }
        throw LarchError(
          .invalidSchema,
          "Two record types have the same collection name; declare another `collectionName` in one of them."
        ) { $0.collection = schema.name }
      }
      collections.append(schema)
    }
    associations = try compiler.schemas(collections)
    for collection in collections {
      try checkFormerNames(of: collection)
    }
  }

  /// An older name must not be the present name of another open type.
  private func checkFormerNames(of collection: CollectionSchema) throws {
    for name in collection.renames.collectionNames
    where collections.contains(where: {
      $0.name == name || ($0 !== collection && $0.renames.collectionNames.contains(name))
    }) {
      throw LarchError(
        .invalidSchema,
        "The older name of a type is the name of another type of the store; declare another `collectionName` in that type."
      ) {
        $0.collection = collection.name
        $0.detail = name
      }
    }
  }
}
