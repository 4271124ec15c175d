/// A field of a search, without the record type.
package final class SearchFieldSchema: Sendable {
  /// The coding names that lead to the stored field.
  package let path: [String]
  /// For each name of the path, whether a record without the field has nil there; empty if only decoding can
  /// answer that.
  let optionalNames: [Bool]
  /// Whether decoding may replace a nil by another value.
  let mayHaveDefault: Bool
  /// Identifies the field: a filter finds the search by it.
  let identity: FieldIdentity

  init(path: [String], optionalNames: [Bool] = [], mayHaveDefault: Bool = false) {
    self.path = path
    self.optionalNames = optionalNames
    self.mayHaveDefault = mayHaveDefault
    identity = .stored(path)
  }
}

/// What the index of a search has, without the record type.
package final class SearchSchema: Sendable {
  /// A posting tells by bits in which fields a word stands.
  static let fieldLimit = 32

  package let rules: WordRules
  package let fields: [SearchFieldSchema]
  /// The bits of all fields.
  let wholeMask: UInt32

  init(rules: WordRules, fields: [SearchFieldSchema]) {
    self.rules = rules
    self.fields = fields
    wholeMask = UInt32(truncatingIfNeeded: UInt64(1) << UInt64(fields.count) - 1)
  }

  /// The bits of these fields; nil if the search does not have one of them.
  func mask(of wanted: [FieldIdentity]) -> UInt32? {
    var mask: UInt32 = 0
    for identity in wanted {
      guard let place = fields.firstIndex(where: { $0.identity == identity }) else { return nil }
      mask |= 1 << UInt32(place)
    }
    return mask
  }
}

/// How the entries of a search are made, from the text in the catalog, such as `search;words-1;title;body`.
package struct SearchDefinition: Sendable {
  /// What the text begins with. Another layout of the index would have another beginning.
  static let beginning = "search"

  /// Nil for rules that this version does not know.
  package let rules: WordRules?
  /// The name and the version of the rules.
  package let rulesText: String
  /// The coding names that lead to each field.
  package let paths: [[String]]
  /// Whether a default of the program may replace a missing field, or its nil.
  let hasDefault: Bool
  /// Whether records may have a field under an older name, which the program declares.
  let hasRename: Bool
  /// Whether the program may read another value than the stored one.
  package var isMarked: Bool { hasDefault || hasRename }

  /// Nil if the text is not that of a search.
  package init?(_ text: String) {
    var parts = text.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
    guard parts.count > 2, parts.removeFirst() == SearchDefinition.beginning else { return nil }
    let rulesText = parts.removeFirst()
    self.rulesText = rulesText
    rules = [WordRules.standard, .keepingDiacritics].first { $0.description == rulesText }
    let isDefault = { (part: String) in part.hasPrefix("default:") }
    let isRename = { (part: String) in part.hasPrefix("renamed:") }
    hasDefault = parts.contains(where: isDefault)
    hasRename = parts.contains(where: isRename)
    paths = parts.filter { !isDefault($0) && !isRename($0) }.map {
      $0.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }
  }

  /// The text for fields, and marks of their defaults and older names.
  static func text(_ rules: WordRules, _ paths: [[String]], marks: [String]) -> String {
    ([beginning, rules.description] + paths.map { $0.joined(separator: ".") } + marks)
      .joined(separator: ";")
  }
}

extension CollectionSchema {
  /// The declared indexes, and the searches after them.
  package var allIndexes: [IndexSchema] { searches.isEmpty ? indexes : indexes + searches }
}

// MARK: - Compiling

extension SchemaCompiler {
  /// The searches of a record type.
  ///
  /// - Parameter others: the indexes, whose names are taken.
  static func searches<R: Record>(
    of declared: [SearchDeclaration<R>], besides others: [IndexSchema], in collection: String,
    _ defaults: Defaults, _ reading: FieldReading?
  ) throws -> [IndexSchema] {
    var found: [IndexSchema] = []
    for declaration in declared {
      let search = try compile(declaration, in: collection, defaults, reading)
      if (others + found).contains(where: { $0.name == search.name }) {
        throw LarchError(
          .invalidSchema, "Two indexes have the same name; give one of them another `name:`."
        ) {
          $0.collection = collection
          $0.index = search.name
        }
      }
      found.append(search)
    }
    guard others.count + found.count <= indexLimit else {
      throw LarchError(
        .invalidSchema, "A type can declare at most 64 indexes; remove those that no query uses."
      ) { $0.collection = collection }
    }
    return found
  }

  private static func compile<R: Record>(
    _ declaration: SearchDeclaration<R>, in collection: String, _ defaults: Defaults,
    _ reading: FieldReading?
  ) throws -> IndexSchema {
    var fields: [SearchFieldSchema] = []
    var names: [String] = []
    for (place, field) in declaration.fields.enumerated() {
      let resolution = field.resolve()
      guard case .stored(let path, let properties) = resolution,
        FieldIdentity(field.keyPath, resolution) != .id
      else {
        throw LarchError(
          .invalidSchema,
          "A search needs stored texts, but a field is the id or a computed property; name the stored properties that have the texts."
        ) {
          $0.collection = collection
          $0.detail = "field \(place + 1) of the search"
        }
      }
      guard !fields.contains(where: { $0.path == path }) else {
        throw LarchError(.invalidSchema, "A search names a field twice; name it once.") {
          $0.collection = collection
          $0.field = properties.joined(separator: ".")
        }
      }
      fields.append(SearchFieldSchema(path: path))
      names.append(properties.joined(separator: "."))
    }
    let name = declaration.name ?? names.joined(separator: "_") + "_words"
    guard isPlain(name) else {
      throw LarchError(
        .invalidSchema,
        "The name of an index must have 1 to 64 of the characters A-Z a-z 0-9 _ . -; change `name:`."
      ) {
        $0.collection = collection
        $0.index = name
      }
    }
    guard (1...SearchSchema.fieldLimit).contains(fields.count) else {
      throw LarchError(
        .invalidSchema, "A search has 1 to 32 fields; declare two searches, or fewer fields."
      ) {
        $0.collection = collection
        $0.index = name
      }
    }
    let paths = fields.map(\.path)
    // Records without the field have the words of the default, so another default makes other entries; the same
    // for a field that older records have under another name.
    let marks = [defaults.mark(for: paths.compactMap(\.first)), reading?.mark(for: paths)]
    return IndexSchema(
      name: name, isUnique: false, fields: [], isDecoded: false, isPartial: false,
      definition: SearchDefinition.text(
        declaration.rules, paths, marks: marks.compactMap(\.self)),
      search: SearchSchema(rules: declaration.rules, fields: fields))
  }
}
