internal import Larch
internal import LarchInspection

/// `larch schema`: the collections and their declarations, from the catalog.
struct SchemaCommand: Command {
  static let name = "schema"
  static let summary = "shows collections with their fields and indexes, associations, migrations"
  static let discussion = """
    The fields are those of the type that wrote last; a field that only older records have is marked
    as older. A ? follows the kind of a field that may be nil. An index with [] has an entry for each
    element. An index with ~ ignores case. An index with () or = has keys that only the program can
    make.
    """
  private static let collection = Operand(
    "COLLECTION", "show only this one", isOptional: true)
  static let operands = [Operand.store, collection]
  static let options: [any OptionDeclaration] = [Flag.json]
  static let examples = [
    Example("larch schema people.larch", "What the store holds"),
    Example("larch schema people.larch Person --json", "One collection, for a program"),
  ]

  private let path: String
  private let collection: String?
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    collection = arguments.optional(Self.collection)
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    let sizes = try store.statistics()
    try store.inspect { inspector in
      let found = try Schema(inspector, sizes, only: collection)
      if isJSON {
        try console.print(json: found.json)
      } else {
        try found.print(on: console)
      }
    }
    return .well
  }
}

/// The declarations in a file.
private struct Schema {
  struct Collection {
    let found: StoreInspector.Collection
    let fields: [StoreInspector.Field]
    let bytes: [String: Int]
  }

  let collections: [Collection]
  let associations: [StoreInspector.Association]
  let migrations: [StoreInspector.AppliedMigration]

  init(_ inspector: StoreInspector, _ sizes: StoreStatistics, only name: String?) throws {
    collections = try CollectionName.chosen(name, in: inspector).map { found in
      let indexes = sizes.collections.first { $0.name == found.name }?.indexes ?? []
      return Collection(
        found: found, fields: try inspector.fields(of: found),
        bytes: Dictionary(indexes.map { ($0.name, $0.tree.bytes) }, uniquingKeysWith: { $1 }))
    }
    associations = inspector.associations.filter {
      name == nil || $0.first == name || $0.second == name
    }
    migrations = name == nil ? inspector.migrations : []
  }

  func print(on console: Console) throws {
    for (place, collection) in collections.enumerated() {
      if place > 0 { try console.printEmptyLine() }
      try print(collection, on: console)
    }
    if !associations.isEmpty {
      if !collections.isEmpty { try console.printEmptyLine() }
      try console.print(Line("associations", .strong))
      for association in associations { try console.print("\(association.summary)", indent: 2) }
    }
    if !migrations.isEmpty {
      try console.printEmptyLine()
      try console.print(Line("migrations", .strong))
      var table = Table([.init("", .wrap), .init("")])
      for migration in migrations {
        table.add(["\(migration.name)", "\(Amount.time(migration.date))"])
      }
      try console.print(table, indent: 2)
    }
  }

  private func print(_ collection: Collection, on console: Console) throws {
    let found = collection.found
    let type = found.typeName == found.name ? "" : " of type \(found.typeName)"
    try console.print(
      "\(found.name, .strong)\(type): \(Amount.counted(found.recordCount, "record")), ids \(found.idKind)"
    )
    var fields = Table([.init("field", .wrap), .init("kind", .wrap), .init("")])
    for field in collection.fields {
      fields.add([
        "\(field.path.joined(separator: "."))", "\(field.kind)\(field.isOptional ? "?" : "")",
        field.isCurrent ? "" : Line("older", .faint),
      ])
    }
    if !fields.isEmpty { try console.print(fields, indent: 2) }
    guard !found.indexes.isEmpty else { return }
    var indexes = Table([
      .init("index", .wrap), .init("over", .wrap), .init("entries", isNumber: true),
      .init("size", isNumber: true), .init("state"),
    ])
    for index in found.indexes.sorted(by: { $0.name < $1.name }) {
      let state = [index.isUnique ? "unique" : nil, index.isReady ? nil : "being built"]
      indexes.add([
        "\(index.name)", "\(index.fieldsText)", "\(Amount.count(index.entryCount))",
        "\(collection.bytes[index.name].map(Amount.bytes) ?? "")",
        Line(state.compactMap { $0 }.joined(separator: ", "), index.isReady ? .plain : .warning),
      ])
    }
    try console.print(indexes, indent: 2)
  }

  var json: JSON {
    [
      "collections": .array(collections.map(\.json)),
      "associations": .array(
        associations.map {
          [
            "name": .string($0.key), "kind": $0.isLists ? "lists" : "reference",
            "first": .string($0.first), "second": .string($0.second),
            "onDeleteOfFirst": .string($0.firstRule.description),
            "onDeleteOfSecond": .string($0.secondRule.description),
            "traits": .array($0.traits.map { .string($0) }),
            "links": $0.isLists ? .int($0.linkCount) : .null,
          ]
        }),
      "migrations": .array(
        migrations.map { ["name": .string($0.name), "date": .string($0.date.formatted(.iso8601))] }),
    ]
  }
}

extension Schema.Collection {
  fileprivate var json: JSON {
    [
      "name": .string(found.name), "type": .string(found.typeName),
      "ids": .string(found.idKind), "records": .int(found.recordCount),
      "fields": .array(
        fields.map {
          [
            "path": .array($0.path.map { .string($0) }), "kind": .string($0.kind),
            "isOptional": .bool($0.isOptional), "isCurrent": .bool($0.isCurrent),
          ]
        }),
      "indexes": .array(
        found.indexes.sorted { $0.name < $1.name }.map { index in
          [
            "name": .string(index.name), "definition": .string(index.definition),
            "isUnique": .bool(index.isUnique), "isReady": .bool(index.isReady),
            "entries": .int(index.entryCount), "bytes": .int(optional: bytes[index.name]),
            "words": index.searchDefinition.map { .string($0.rulesText) } ?? .null,
            "fields": .array(index.parsedDefinition.fields.map(\.json)),
          ]
        }),
    ]
  }
}

extension StoreInspector.Index {
  /// The fields in readable form, with the rules of an index of words: `title, body (words-1)`.
  fileprivate var fieldsText: String {
    parsedDefinition.text + (searchDefinition.map { " (\($0.rulesText))" } ?? "")
  }
}

extension IndexDefinition {
  /// The fields in readable form: `address.city, []tags`.
  fileprivate var text: String {
    fields.map(\.text).joined(separator: ", ") + (origin == "where" ? ", some records" : "")
  }
}

extension IndexDefinition.Field {
  fileprivate var text: String {
    let isLower = textForm == .caseInsensitive
    let marks = (isMultiple ? "[]" : "") + (isLower ? "~" : "") + (isCustom ? "=" : "")
    let form = isLower ? "" : isFormKnown ? textForm.words : " in an unknown form"
    return marks + (path?.joined(separator: ".") ?? "()") + form
  }

  fileprivate var json: JSON {
    [
      "path": path.map { .array($0.map { .string($0) }) } ?? .null,
      "kind": .string(optional: kind), "isMultiple": .bool(isMultiple),
      "isCaseInsensitive": .bool(
        textForm == .caseInsensitive || textForm == .caseAndDiacriticInsensitive),
      "isDiacriticInsensitive": .bool(textForm == .caseAndDiacriticInsensitive),
      "collation": .string(optional: textForm.collation?.name),
    ]
  }
}
