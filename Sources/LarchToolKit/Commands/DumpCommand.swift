internal import Larch
internal import LarchInspection

/// `larch dump`: everything as text.
struct DumpCommand: Command {
  static let name = "dump"
  static let summary = "prints the records as JSON, with index entries and links on request"
  static let discussion = """
    The order is stable: collections by name, records by id, index entries by key. Equal stores give
    equal text. The whole dump is of one snapshot, and nothing is held in memory.

    With --json each line is a JSON object of its own.
    """
  private static let collection = Operand(
    "COLLECTION", "print only this one", isOptional: true)
  private static let entries = Flag("--entries", "print index entries too")
  private static let links = Flag("--links", "print links too")
  static let operands = [Operand.store, collection]
  static let options: [any OptionDeclaration] = [entries, links, Flag.json]
  static let examples = [
    Example("larch dump people.larch | less", "Page through a store"),
    Example("larch dump people.larch Person --entries", "One collection with its indexes"),
    Example("diff <(larch dump old.larch) <(larch dump new.larch)", "Compare two stores"),
    Example(
      "larch dump people.larch Person --json | jq .record.name", "Print one field of all records"),
  ]

  private let path: String
  private let collection: String?
  private let parts: DumpParts
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    collection = arguments.optional(Self.collection)
    parts = DumpParts(
      hasRecords: true, hasEntries: arguments[Self.entries], hasLinks: arguments[Self.links])
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    try store.inspect { inspector in
      let chosen = try CollectionName.chosen(collection, in: inspector)
      if isJSON {
        for collection in chosen { try printLines(of: collection, inspector, console) }
        if parts.hasLinks { try printLinks(inspector, console) }
      } else {
        try inspector.forEachDumpLine(parts, of: collection) { try console.print(data: $0) }
      }
    }
    return .well
  }

  private func printLines(
    of collection: StoreInspector.Collection, _ inspector: StoreInspector, _ console: Console
  ) throws {
    let name = JSON.string(collection.name)
    try inspector.forEachRecord(in: collection) { id, record in
      try console.print(
        jsonLine: ["collection": name, "id": .string(id), "record": .text(record)])
    }
    guard parts.hasEntries else { return }
    for index in collection.indexes.sorted(by: { $0.name < $1.name }) {
      try inspector.forEachEntry(of: index, in: collection) { key, id in
        try console.print(
          jsonLine: [
            "collection": name, "index": .string(index.name), "key": .string(key),
            "id": .string(id),
          ])
      }
    }
  }

  private func printLinks(_ inspector: StoreInspector, _ console: Console) throws {
    for association in inspector.associations
    where association.isLists
      && (collection == nil || association.first == collection || association.second == collection)
    {
      try inspector.forEachLink(of: association) { id, other in
        try console.print(
          jsonLine: [
            "association": .string(association.key), "id": .string(id), "other": .string(other),
          ])
      }
    }
  }
}
