internal import Larch
internal import LarchInspection

/// `larch count`: the number of records of a filter.
struct CountCommand: Command {
  static let name = "count"
  static let summary = "prints how many records a query finds"
  static let discussion = """
    The filter is that of `larch query`. If an index is enough for the count, no record is read.
    """
  private static let filter = Operand(
    "FILTER", "which records to count, as one argument; all by default", isOptional: true)
  private static let explain = Flag(
    "--explain", "print the plan and what was read, instead of the number")
  static let operands = [Operand.store, .collection, filter]
  static let options: [any OptionDeclaration] = [explain, Flag.json]
  static let examples = [
    Example("larch count people.larch Person", "All people"),
    Example("larch count people.larch Person 'age >= 30'", "People of a certain age"),
  ]

  private let path: String
  private let collection: String
  private let filter: String
  private let explains: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    collection = arguments[.collection]
    filter = arguments[Self.filter]
    explains = arguments[Self.explain]
    isJSON = arguments[.json]
    if explains, isJSON { throw UsageError("--json and --explain cannot be used together") }
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    try store.inspect { inspector in
      let collection = try CollectionName.find(collection, in: inspector)
      let query = try inspector.query(filter, in: collection)
      if explains {
        try console.print(plan: try query.explain(.count, running: true))
      } else {
        let count = try query.count()
        try isJSON ? console.print(jsonLine: ["count": .int(count)]) : console.print("\(count)")
      }
    }
    return .well
  }
}
