internal import Larch
internal import LarchInspection

/// `larch query`: the records of a filter, in an order.
struct QueryCommand: Command {
  static let name = "query"
  static let summary = "prints the records that a query finds"
  static let discussion = """
    The query uses the indexes of the store, as the query of a program does. It is a filter, an \
    order, a limit and an offset, each of which is optional:

    city = "London" and age >= 30 order by name desc limit 20 offset 40

    Fields have their coding names, nested ones with a dot. A filter has = != < <= > >=, in (…), \
    between … and …, like "a%", matches "tree*", begins with, ends with, contains, has, is nil, \
    and, or, not and brackets; text is in single or double quotes. docs/query-language.md \
    describes all of it.
    """
  private static let query = Operand(
    "QUERY", "what to find, as one argument; all records by default", isOptional: true)
  private static let explain = Flag(
    "--explain", "print the plan and what was read, instead of the records")
  private static let ids = Flag("--ids", "print only the ids")
  static let operands = [Operand.store, .collection, query]
  static let options: [any OptionDeclaration] = [explain, ids, Flag.json]
  static let examples = [
    Example(
      "larch query people.larch Person 'age >= 30 order by name limit 20'",
      "Twenty people in a table"),
    Example("larch query people.larch Person 'email is nil' --json", "JSON, a record on each line"),
    Example("larch query people.larch Person 'city = \"London\"' --explain", "Which index is used"),
  ]

  private enum Form { case table, json, ids, plan }

  private let path: String
  private let collection: String
  private let query: String
  private let form: Form

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    collection = arguments[.collection]
    query = arguments[Self.query]
    var forms: [Form] = []
    if arguments[.json] { forms.append(.json) }
    if arguments[Self.ids] { forms.append(.ids) }
    if arguments[Self.explain] { forms.append(.plan) }
    guard forms.count <= 1 else {
      throw UsageError("--json, --ids and --explain cannot be used together")
    }
    form = forms.first ?? .table
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    try store.inspect { inspector in
      let collection = try CollectionName.find(collection, in: inspector)
      let query = try inspector.query(query, in: collection)
      switch form {
      case .table: try RecordTable.print(query, on: console)
      case .json:
        try query.forEach { row in
          try console.print(jsonLine: .text(try row.json()))
          return true
        }
      case .ids:
        try query.forEachID { id in
          try console.print(data: id)
          return true
        }
      case .plan: try console.print(plan: try query.explain(running: true))
      }
    }
    return .well
  }
}

extension Operand {
  /// The collection of a command.
  static let collection = Operand("COLLECTION", "the collection, by its name in the store")
}

extension CollectionName {
  /// The collection with this name.
  ///
  /// - Throws: `UsageError` for a name that the store does not have.
  static func find(
    _ name: String, in inspector: StoreInspector
  ) throws -> StoreInspector.Collection {
    guard let found = try chosen(name, in: inspector).first else { throw missing(name, among: []) }
    return found
  }
}

extension Console {
  /// Prints the lines of a plan.
  func print(plan: String) throws {
    for line in plan.split(separator: "\n") { try print(Line(String(line))) }
  }
}
