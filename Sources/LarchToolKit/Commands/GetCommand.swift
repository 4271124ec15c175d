internal import Larch
internal import LarchInspection

/// `larch get`: one record by its id.
struct GetCommand: Command {
  static let name = "get"
  static let summary = "prints one record by its id"
  static let discussion = "Prints nothing and ends with 1 if the collection has no such record."
  private static let id = Operand("ID", "the id, as `larch query --ids` prints it")
  static let operands = [Operand.store, .collection, id]
  static let options: [any OptionDeclaration] = [Flag.json]
  static let examples = [
    Example("larch get people.larch Person 7", "A record, a field on each line"),
    Example("larch get people.larch Person 7 --json", "The same as JSON on one line"),
  ]

  private let path: String
  private let collection: String
  private let id: String
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    collection = arguments[.collection]
    id = arguments[Self.id]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    return try store.inspect { inspector in
      let collection = try CollectionName.find(collection, in: inspector)
      let isThere = try inspector.withRecord(id: id, in: collection) { row in
        if isJSON {
          try console.print(jsonLine: .text(try row.json()))
        } else {
          try RecordTable.print(id: row.id, try row.fields(), on: console)
        }
      }
      return isThere ? .well : .no
    }
  }
}
