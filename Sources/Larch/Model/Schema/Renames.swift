/// The older names that a record type declares, checked to be unambiguous and of stored fields.
struct Renames: Sendable {
  /// The older names of its fields, and of the fields of nested values.
  private(set) var aliases = FieldAliases()
  /// The older names of the collection, the newest first.
  private(set) var collectionNames: [String] = []

  init() {}

  /// - Throws: `.invalidSchema` for a field that is not stored, and for a name that is in use.
  init<R: Record>(of type: R.Type) throws {
    for declaration in R.schema.renames {
      let older = declaration.formerName
      if let strategy = declaration.formerKeys {
        try addKeys(named: strategy, of: type)
        continue
      }
      guard let resolve = declaration.resolve else {
        try addCollection(older, of: type)
        continue
      }
      guard case .stored(let names, let properties) = resolve(), let name = names.last,
        let owner = Renames.owner(of: properties, in: type)
      else {
        throw LarchError(
          .invalidSchema, "Only a stored property can have an older name; name one."
        ) {
          $0.collection = R.collectionName
          $0.detail = older
        }
      }
      try add(older, to: name, of: owner, in: R.collectionName, path: names)
    }
  }

  /// The names of all fields under another strategy.
  private mutating func addKeys<R: Record>(named strategy: KeyStrategy, of type: R.Type) throws {
    var found = false
    for owner in FieldTypes.naming(in: type) {
      for key in TypeProbe.keys(of: owner)?.cases ?? [] {
        let older = strategy.fieldName(for: key.key)
        guard older != key.codingName else { continue }
        found = true
        try add(
          older, to: key.codingName, of: owner, in: R.collectionName, path: [key.codingName])
      }
    }
    guard found else {
      throw LarchError(
        .invalidSchema,
        "The strategy gives all fields the names that they have, so nothing was renamed; name the strategy of older records, or remove the line."
      ) { $0.collection = R.collectionName }
    }
  }

  private mutating func addCollection<R: Record>(_ older: String, of type: R.Type) throws {
    guard SchemaCompiler.isPlain(older), older != R.collectionName,
      !collectionNames.contains(older)
    else {
      throw LarchError(
        .invalidSchema,
        "The older name of a type must differ from its `collectionName` and have 1 to 64 of the characters A-Z a-z 0-9 _ . -; use the name that the file has."
      ) {
        $0.collection = R.collectionName
        $0.detail = older
      }
    }
    collectionNames.append(older)
  }

  private mutating func add(
    _ older: String, to name: String, of owner: any Decodable.Type, in collection: String,
    path: [String]
  ) throws {
    let inUse = TypeProbe.keys(of: owner)?.cases.contains { $0.codingName == older }
    // Otherwise older records have the name for the renamed field, and newer ones for another
    // field: nothing could distinguish them.
    guard inUse == false, !aliases.isOlder(older, of: ObjectIdentifier(owner)) else {
      throw LarchError(
        .invalidSchema,
        "An older name of a field is declared twice, or is the name of another field; give that field another coding key."
      ) {
        $0.collection = collection
        $0.field = path.joined(separator: ".")
        $0.detail = older
      }
    }
    aliases.add(older, to: name, of: ObjectIdentifier(owner))
  }

  /// The type of the last property of a path.
  private static func owner(
    of properties: [String], in root: any Decodable.Type
  ) -> (any Decodable.Type)? {
    var owner = root
    for property in properties.dropLast() {
      guard let field = TypeLayout(of: owner)?.field(named: property),
        let next = Reflection.unwrapped(field.type) as? any Decodable.Type
      else { return nil }
      owner = next
    }
    return owner
  }
}
