/// Compiles the declarations of a record type for the layers below, and refuses unusable ones
/// before a file is opened.
package enum SchemaCompiler {
  /// The maximum number of indexes of a type; each index costs time at every save.
  package static let indexLimit = 64

  /// - Parameters:
  ///   - needs: the indexes that associations need in addition to the declared ones.
  ///   - renames: the older names that the type declares.
  ///   - aliases: the older names of fields that all types declare.
  ///   - usesSamples: whether `init(from:)` may run on sample values, to find out where the keys of
  ///     an index have whole records.
  static func compile<R: Record>(
    _ type: R.Type, needs: [AssociationIndex] = [], renames: Renames = Renames(),
    aliases: FieldAliases = FieldAliases(), usesSamples: Bool = true
  ) throws -> CollectionSchema {
    let name = R.collectionName
    let typeName = String(describing: type)
    try check(name: name, of: typeName)
    try KeyStrategy.check(type, in: name)
    let declared = R.schema
    let rules = try ValidationCompiler(declared.validations)
    let (declarations, places) = all(declared.indexes, and: needs, and: rules.needs)
    guard declarations.count <= indexLimit else {
      throw LarchError(
        .invalidSchema, "A type can declare at most 64 indexes; remove those that no query uses."
      ) { $0.collection = name }
    }
    let defaults = try Defaults(of: type)
    var indexes: [IndexSchema] = []
    let reading = FieldReading(type, aliases: aliases, defaults: [])
    for declaration in declarations {
      let index = try compile(
        declaration, of: name, defaults, reading, besides: indexes, usesSamples: usesSamples)
      if indexes.contains(where: { $0.name == index.name }) {
        throw LarchError(
          .invalidSchema, "Two indexes have the same name; give one of them another `name:`."
        ) {
          $0.collection = name
          $0.index = index.name
        }
      }
      indexes.append(index)
    }
    let searches = try searches(
      of: declared.searches, besides: indexes, in: name, defaults, reading)
    let program = rules.program(places: places)
    let keys = declarations.map(\.keys)
    let version = try version(declared.versions, of: name)
    return CollectionSchema(
      name: name, typeName: typeName, type: type, idKind: R.ID.idKind,
      indexes: indexes, searches: searches, declareDefaults: defaults.declaration(for: type),
      typed: TypedDeclarations<R>(declarations, program, version, HookProgram(declared.hooks)),
      hasHooks: !declared.hooks.isEmpty, rulesRunCode: program.runsCode,
      defaults: defaults.names, standInDefaults: defaults.standInNames,
      renames: renames,
      decodedKeys: { bytes, coder, writer, isWanted, emit in
        let record = try coder.decode(R.self, from: bytes)
        try withUnsafePointer(to: record) { record in
          // An iterator over a generic type would ask for its metadata for each record.
          for number in keys.indices where isWanted(number) {
            try keys[number].forEachKey(at: UnsafeRawPointer(record), in: &writer) {
              try emit(number, &$0)
            }
          }
        }
      },
      decodedTexts: { bytes, coder, search, emit in
        let record = try coder.decode(R.self, from: bytes)
        for (field, declaration) in declared.searches[search].fields.enumerated() {
          declaration.forEachText(record) { emit(field, $0) }
        }
      },
      referencedIDs: { bytes, coder, reference, writer, emit in
        let record: R
        do {
          record = try coder.decode(R.self, from: bytes)
        } catch let error as LarchError where error.code == .decodingFailed {
          // A record that the type cannot decode any more still has its references.
          guard let stored = reference.stored(reading),
            try stored.forEachID(in: bytes, coder.shapes, &writer, emit)
          else { throw error }
          return
        }
        // Called only for references of this type.
        try unsafeDowncast(reference, to: TypedReference<R>.self)
          .forEachID(record, &writer, emit)
      })
  }

  /// The one property that counts the saves of a record.
  private static func version<R: Record>(
    _ declared: [VersionDeclaration<R>], of collection: String
  ) throws -> VersionDeclaration<R>? {
    guard let version = declared.first else { return nil }
    guard declared.count == 1 else {
      throw LarchError(
        .invalidSchema, "A type can have only one version; remove the other `Versioned`."
      ) { $0.collection = collection }
    }
    guard case .stored(_, let properties) = version.resolve() else {
      throw LarchError(
        .invalidSchema,
        "The version of a record must be stored; declare `Versioned` for a stored property."
      ) { $0.collection = collection }
    }
    guard properties != ["id"] else {
      throw LarchError(
        .invalidSchema,
        "The version changes at each save, so it cannot be the id; declare another property."
      ) {
        $0.collection = collection
        $0.field = "id"
      }
    }
    return version
  }

  /// The declared indexes, and those of associations that are not among them.
  private static func all<R: Record>(
    _ declared: [IndexDeclaration<R>], and needs: [AssociationIndex]
  ) -> [IndexDeclaration<R>] {
    var all = declared
    for need in needs {
      // The association compiler asks each type only for its own fields.
      let reference = unsafeDowncast(need.reference, to: TypedReference<R>.self)
      let same = all.firstIndex { declaration in
        guard declaration.name == nil, declaration.condition == nil,
          declaration.fields.count == 1, !declaration.fields[0].textForm.isFolded
        else { return false }
        let field = declaration.fields[0]
        return FieldIdentity(field.keyPath, field.resolve()) == reference.identity
      }
      if let same {
        if need.isUnique, !all[same].isUnique { all[same] = reference.index(true) }
      } else {
        all.append(reference.index(need.isUnique))
      }
    }
    return all
  }

  /// All of these, and the indexes of rules that are not among them, with the place of each rule's
  /// index.
  private static func all<R: Record>(
    _ declared: [IndexDeclaration<R>], and needs: [AssociationIndex],
    and rules: [ValidationCompiler<R>.Need]
  ) -> (indexes: [IndexDeclaration<R>], places: [Int]) {
    var indexes = all(declared, and: needs)
    let places = rules.map { place(of: $0.declaration, in: &indexes) }
    return (indexes, places)
  }

  /// The place of the unique index for a rule: a declared one over the same fields, or a new one.
  private static func place<R: Record>(
    of need: IndexDeclaration<R>, in all: inout [IndexDeclaration<R>]
  ) -> Int {
    typealias Part = (identity: FieldIdentity, textForm: TextForm)
    func parts(_ declaration: IndexDeclaration<R>) -> [Part] {
      declaration.fields.map { (FieldIdentity($0.keyPath, $0.resolve()), $0.textForm) }
    }
    let wanted = parts(need)
    let unique = all.firstIndex { declaration in
      // The order of fields does not matter to uniqueness.
      let parts = parts(declaration)
      return declaration.isUnique && declaration.condition == nil && parts.count == wanted.count
        && wanted.allSatisfy { part in parts.contains { $0 == part } }
        && parts.allSatisfy { part in wanted.contains { $0 == part } }
    }
    if let unique { return unique }
    let same = all.firstIndex { declaration in
      let parts = parts(declaration)
      return declaration.name == nil && declaration.condition == nil && need.name == nil
        && need.condition == nil && parts.count == wanted.count
        && zip(parts, wanted).allSatisfy { $0 == $1 }
    }
    if let same {
      all[same] = need
      return same
    }
    all.append(need)
    return all.count - 1
  }

  /// Names are used in errors, dumps and on the command line, so they must be plain.
  package static func isPlain(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        switch $0 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  private static func check(name: String, of typeName: String) throws {
    guard isPlain(name) else {
      throw LarchError(
        .invalidSchema,
        "A collection name must have 1 to 64 of the characters A-Z a-z 0-9 _ . -; declare `collectionName` in the type."
      ) {
        $0.collection = name
        $0.detail = typeName
      }
    }
  }

  private static func compile<R: Record>(
    _ declaration: IndexDeclaration<R>, of collection: String, _ defaults: Defaults,
    _ reading: FieldReading?, besides others: [IndexSchema], usesSamples: Bool
  ) throws -> IndexSchema {
    if let name = declaration.name, !isPlain(name) {
      throw LarchError(
        .invalidSchema,
        "The name of an index must have 1 to 64 of the characters A-Z a-z 0-9 _ . -; change `name:`."
      ) {
        $0.collection = collection
        $0.index = name
      }
    }
    guard !declaration.fields.isEmpty else {
      throw LarchError(.invalidSchema, "An index needs a field; name one, as in `Index(\\.city)`.")
      { $0.collection = collection }
    }
    let resolutions = declaration.fields.map { $0.resolve() }
    var name =
      try declaration.name
      ?? self.name(of: resolutions, collection)
      + declaration.fields.map(\.textForm.nameSuffix).joined()
    if declaration.isOfRule, declaration.name == nil {
      if declaration.condition != nil { name += "_when" }
      if others.contains(where: { $0.name == name }) { name += "_unique" }
    }
    var isDecoded = declaration.name != nil || declaration.condition != nil
    var fields: [IndexFieldSchema] = []
    var paths: [String] = []
    for (field, resolution) in zip(declaration.fields, resolutions) {
      if let error = field.textError {
        throw LarchError(
          .invalidSchema,
          "The index is in the order of a language that Larch does not have; `Collation` says which ones there are."
        ) {
          $0.collection = collection
          $0.index = name
          $0.detail = error.context.detail
        }
      }
      if field.textForm.isFolded, !field.form.isText {
        throw LarchError(
          .invalidSchema,
          "Only text can ignore case, or have the order of a language; remove the option."
        ) {
          $0.collection = collection
          $0.index = name
        }
      }
      var path: [String]?
      var text = (field.isMultiple ? "[]" : "") + field.textForm.mark
      if !field.isStandard { text += "=" }
      switch resolution {
      case .stored(let names, _):
        if field.isStandard { path = names }
        text += names.joined(separator: ".")
      case .computed: text += "()"
      }
      if path == nil { isDecoded = true }
      paths.append(text)
      fields.append(
        IndexFieldSchema(
          storedPath: path, identity: FieldIdentity(field.keyPath, resolution), form: field.form,
          isMultiple: field.isMultiple,
          textForm: field.textForm))
    }
    let form = KeyForm.composite(declaration.fields.map(\.form))
    let kind = declaration.condition != nil ? "where" : isDecoded ? "decoded" : "stored"
    // Old records have the default in the index, so another default makes other entries.
    if let mark = defaults.mark(for: isDecoded ? nil : fields.compactMap(\.storedPath?.first)) {
      paths.append(mark)
    }
    // The same for a field that older records have under another name.
    if let mark = reading?.mark(for: isDecoded ? nil : fields.compactMap(\.storedPath)) {
      paths.append(mark)
    }
    return IndexSchema(
      name: name, isUnique: declaration.isUnique, fields: fields, isDecoded: isDecoded,
      isPartial: declaration.condition != nil,
      definition: ([form.description, kind] + paths).joined(separator: ";"),
      record: usesSamples && declaration.condition == nil ? RecordInKeys(R.self, fields) : nil)
  }

  /// An index name such as `city_age`, from the names of the properties.
  private static func name(
    of resolutions: [FieldNaming.Resolution], _ collection: String
  ) throws -> String {
    let names = resolutions.map { resolution -> String? in
      switch resolution {
      case .stored(_, let properties): properties.joined(separator: ".")
      case .computed(let name): name
      }
    }
    let known = names.compactMap { $0 }
    guard known.count == names.count else {
      throw LarchError(
        .invalidSchema,
        "An index over a property that is not stored needs a name, as in `Index(\\.fullName, name: \"fullName\")`."
      ) {
        $0.collection = collection
        $0.detail = "field \((names.firstIndex { $0 == nil } ?? 0) + 1) of the index"
      }
    }
    return known.joined(separator: "_")
  }
}

/// The declarations of a record type with its type, for the checks of a save on the record in
/// memory.
final class TypedDeclarations<R: Record>: Sendable {
  let indexes: [IndexDeclaration<R>]
  /// How ids are written in indexes, and read from them.
  let idKey = R.ID.keyCoding
  /// The keys of each index.
  let keys: [RecordKeys]
  let validations: ValidationProgram
  /// Whether the type is `MemberwiseCoded`.
  let isMemberwise: Bool
  /// The hooks of its saves and deletions; nil if there are none.
  let hooks: HookProgram<R>?
  /// The type, if it is `Timestamped`.
  let timestamped: (any Timestamped.Type)?
  /// The property that counts the saves, if there is one.
  let version: VersionDeclaration<R>?
  /// Whether a save checks rules.
  let hasRules: Bool
  /// Whether hooks, times or a version have a part in a save.
  let isGuarded: Bool

  init(
    _ indexes: [IndexDeclaration<R>], _ validations: ValidationProgram,
    _ version: VersionDeclaration<R>?, _ hooks: HookProgram<R>?
  ) {
    self.indexes = indexes
    keys = indexes.map(\.keys)
    self.validations = validations
    isMemberwise = R.self is any MemberwiseCoded.Type
    self.hooks = hooks
    timestamped = R.self as? any Timestamped.Type
    self.version = version
    hasRules = !validations.isEmpty
    isGuarded = hooks != nil || timestamped != nil || version != nil
  }
}

extension KeyForm {
  fileprivate var isText: Bool { unwrapped == .primitive(.string) }
}
