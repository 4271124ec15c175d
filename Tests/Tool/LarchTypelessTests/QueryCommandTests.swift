import Foundation
import Larch
import LarchCrashSupport
import LarchTestSupport
import LarchToolKit
import Testing

/// `larch query`, `count` and `get`: what they print, and their exit codes.
@Suite struct QueryCommandTests {
  private struct Outcome: Equatable {
    var code: Int32
    var output: String
    var errors: String
  }

  /// Runs a command in this process.
  private func run(_ arguments: String..., width: Int? = nil) -> Outcome {
    let output = TextOutput()
    let errors = TextOutput()
    let console = Console(
      output: output, errors: errors, width: width, isTerminal: false, errorsAreTerminal: false,
      environment: [:])
    let code = Tool.run(arguments, on: console)
    return Outcome(code: code.rawValue, output: output.text, errors: errors.text)
  }

  private func makeStore(_ folder: TemporaryFolder) throws -> String {
    let path = folder.path("people.larch")
    let store = try Store(at: path, for: Resident.self)
    defer { store.close() }
    try store.write { tx in
      for (name, age, city) in [("Ada", 36, "London"), ("Bo", 17, "Oslo"), ("Cy", 52, "London")] {
        var resident = Resident(name: name, age: age, city: city)
        if name == "Cy" { resident.email = "cy@example.com" }
        try tx.save(&resident)
      }
    }
    return path
  }

  @Test func recordsArePrintedAsATable() throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    #expect(
      run("query", path, "Resident", "age >= 30 and city = 'London' order by name desc")
        == Outcome(
          code: 0,
          output: """
            id  name  age  city    email
             3  Cy     52  London  cy@example.com
             1  Ada    36  London  nil

            """, errors: ""))
    #expect(run("query", path, "Resident", "age > 99") == Outcome(code: 0, output: "", errors: ""))
    #expect(run("query", path, "Resident").output.split(separator: "\n").count == 4)
  }

  @Test func aTableFitsTheTerminal() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.larch")
    let store = try Store(at: path, for: Resident.self)
    try store.write { tx in
      for place in 0..<3 {
        var resident = Resident(
          name: String(repeating: "name ", count: 30), age: place,
          city: "\u{1B}[31m\n" + String(repeating: "\u{6771}", count: 60))
        try tx.save(&resident)
      }
    }
    store.close()
    for width in [20, 40, 80, 200] {
      let outcome = run("query", path, "Resident", width: width)
      #expect(outcome.code == 0)
      #expect(!outcome.output.contains("\u{1B}"))
      for line in outcome.output.split(separator: "\n") {
        #expect(Printable.width(line) <= width, "\(width): \(line)")
      }
    }
  }

  @Test func aLongAnswerIsPrintedInTables() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.larch")
    let store = try Store(at: path, for: Resident.self)
    try store.write { tx in
      for number in 0..<1_200 {
        var resident = Resident(name: "n", age: number, city: "c")
        try tx.save(&resident)
      }
    }
    store.close()
    let lines = run("query", path, "Resident").output
      .split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count { $0.hasSuffix("age  city") } == 3)
    #expect(lines.count { $0.hasSuffix("  c") } == 1_200)
  }

  @Test func recordsArePrintedAsJSONAndAsIDs() throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    #expect(
      run("query", path, "Resident", "age < 30", "--json").output
        == "{\"age\":17,\"city\":\"Oslo\",\"id\":2,\"name\":\"Bo\"}\n")
    #expect(run("query", path, "Resident", "order by age", "--ids").output == "2\n1\n3\n")
  }

  /// A record that is stored as a list.
  struct Pair: Record {
    var id: String
    var text: String

    init(id: String, text: String) { (self.id, self.text) = (id, text) }

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      id = try list.decode(String.self)
      text = try list.decode(String.self)
    }

    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      try list.encode(id)
      try list.encode(text)
    }
  }

  @Test func recordsWithoutFieldsAreShownAsOneValue() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("pairs.larch")
    try Store.using(path, Pair.self) { store throws in
      // A mark for the direction of writing is a part of the id, for whoever reads it with `get`.
      for id in ["a", "b\u{200E}c"] {
        var pair = Pair(id: id, text: "x")
        try store.save(&pair)
      }
    }
    #expect(run("query", path, "Pair", "limit 1").output.contains("[\"a\",\"x\"]"))
    #expect(run("get", path, "Pair", "a").output.contains("[\"a\",\"x\"]"))
    #expect(run("query", path, "Pair", "--ids").output == "a\nb\u{200E}c\n")
    #expect(run("get", path, "Pair", "b\u{200E}c").code == 0)
  }

  @Test(arguments: [
    "2026-11-26T08:30:00Zgarbage", "2026-11-26T08:30:00Z+02:00", "2026-02-31T08:30:00Z",
    "2026-11-26T28:99:00Z", "2026-11-26",
  ])
  func aTimeThatIsNoneIsRefused(time: String) {
    let outcome = run("restore", "x.larch", "postgres://nowhere/x", "--time", time)
    #expect(outcome.code == 2 && outcome.errors.contains("2026-11-26T08:30:00Z"))
  }

  @Test func thePlanIsThatOfATypedQuery() throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    let outcome = run("query", path, "Resident", "city = \"London\" and age > 40", "--explain")
    let counted = run("count", path, "Resident", "city = 'London'", "--explain")
    let store = try Store(at: path, for: Resident.self)
    defer { store.close() }
    let typed = Resident.where { $0.city == "London" && $0.age > 40 }
    #expect(outcome.output == (try store.explain(typed, running: true)) + "\n")
    #expect(outcome.output.contains("index city_age"))
    let typedCount = try store.explain(
      Resident.where { $0.city == "London" }, counting: true, running: true)
    #expect(counted.output == typedCount + "\n")
  }

  @Test func recordsAreCounted() throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    #expect(run("count", path, "Resident") == Outcome(code: 0, output: "3\n", errors: ""))
    #expect(run("count", path, "Resident", "city = 'London'").output == "2\n")
    #expect(run("count", path, "Resident", "age > 99").output == "0\n")
    #expect(run("count", path, "Resident", "limit 1 offset 1").output == "1\n")
    #expect(run("count", path, "Resident", "--json").output == "{\"count\":3}\n")
  }

  @Test func oneRecordIsGotByItsID() throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    #expect(
      run("get", path, "Resident", "3").output == """
        id     3
        name   Cy
        age    52
        city   London
        email  cy@example.com

        """)
    #expect(
      run("get", path, "Resident", "2", "--json").output
        == "{\"age\":17,\"city\":\"Oslo\",\"id\":2,\"name\":\"Bo\"}\n")
    #expect(run("get", path, "Resident", "9") == Outcome(code: 1, output: "", errors: ""))
    let wrong = run("get", path, "Resident", "x")
    #expect(wrong.code == 2)
    #expect(wrong.errors.contains("expected a whole number"))
  }

  @Test(arguments: [
    (["query"], "STORE is missing"),
    (["query", "PATH"], "COLLECTION is missing"),
    (["query", "PATH", "Residents"], "no collection “Residents”; did you mean Resident?"),
    (["query", "PATH", "Resident", "age >"], "column 6"),
    (["query", "PATH", "Resident", "aeg = 3"], "did you mean \"age\"?"),
    (["query", "PATH", "Resident", "age =", "3"], "one argument too many"),
    (["query", "PATH", "Resident", "--json", "--ids"], "cannot be used together"),
    (["count", "PATH", "Resident", "--json", "--explain"], "cannot be used together"),
    (["count", "PATH", "Resident", "age = 'x'"], "expected a number"),
    (["get", "PATH", "Resident"], "ID is missing"),
    (["get", "PATH", "Nobody", "1"], "no collection"),
  ])
  func aMistakeIsOneLineAndCodeTwo(arguments: [String], message: String) throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    let before = try Data(contentsOf: URL(filePath: path))
    let output = TextOutput()
    let errors = TextOutput()
    let console = Console(
      output: output, errors: errors, width: 80, isTerminal: false, errorsAreTerminal: false,
      environment: [:])
    let code = Tool.run(arguments.map { $0 == "PATH" ? path : $0 }, on: console)
    #expect(code == .failed)
    #expect(output.text == "")
    #expect(errors.text.contains(message), "\(errors.text)")
    #expect(errors.text.split(separator: "\n").count == 1)
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }

  @Test func aHugeQueryIsRefusedInOneLine() throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    for text in [
      String(repeating: "x", count: 10 << 20), String(repeating: "(", count: 100_000),
      "name = '" + String(repeating: "\u{1F468}\u{200D}", count: 1 << 20),
    ] {
      let outcome = run("query", path, "Resident", text)
      #expect(outcome.code == 2)
      #expect(outcome.errors.utf8.count < 500)
    }
  }

  // MARK: The program

  /// Runs the program itself, as a shell does.
  private func shell(_ arguments: [String]) throws -> (code: Int32, output: String, errors: String)
  {
    let folder = try TemporaryFolder()
    let process = Process()
    process.executableURL = try Child.builtFile("larch")
    process.arguments = arguments
    // Files, since a pipe that nobody empties would stop the program.
    var texts: [String] = []
    for name in ["output", "errors"] {
      _ = FileManager.default.createFile(atPath: folder.path(name), contents: nil)
      let handle = try #require(FileHandle(forWritingAtPath: folder.path(name)))
      if name == "output" {
        process.standardOutput = handle
      } else {
        process.standardError = handle
      }
    }
    process.standardInput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    for name in ["output", "errors"] {
      texts.append(try String(contentsOf: URL(filePath: folder.path(name)), encoding: .utf8))
    }
    return (process.terminationStatus, texts[0], texts[1])
  }

  @Test func theProgramEndsWithTheCodeThatShellsTest() throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    var outcome = try shell(["query", path, "Resident", "age >= 30", "--ids"])
    #expect(outcome == (0, "1\n3\n", ""))
    outcome = try shell(["get", path, "Resident", "9"])
    #expect(outcome == (1, "", ""))
    outcome = try shell(["count", path, "Resident", "age >"])
    #expect(outcome.code == 2 && outcome.output == "" && outcome.errors.contains("column 6"))
  }

  @Test(arguments: ["query", "count", "get"])
  func aFileThatIsNoStoreIsOneLineAndCodeTwo(command: String) throws {
    let folder = try TemporaryFolder()
    let store = try makeStore(folder)
    let text = folder.path("text.larch")
    try Data("This is no store.\n".utf8).write(to: URL(filePath: text))
    let truncated = folder.path("truncated.larch")
    try Data(contentsOf: URL(filePath: store)).prefix(10_000).write(to: URL(filePath: truncated))
    let empty = folder.path("empty.larch")
    try Data().write(to: URL(filePath: empty))
    for path in [folder.path("missing.larch"), folder.path("."), text, truncated, empty] {
      let outcome = try shell([command, path, "Resident"] + (command == "get" ? ["1"] : []))
      #expect(outcome.code == 2, "\(path)")
      #expect(outcome.output == "", "\(path)")
      #expect(outcome.errors.hasPrefix("larch:"), "\(path)")
      #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path("missing.larch")))
  }

  @Test func aStoreThatIsBeingWrittenIsAsked() throws {
    let folder = try TemporaryFolder()
    let path = try makeStore(folder)
    let store = try Store(at: path, for: Resident.self)
    defer { store.close() }
    try store.write { tx in
      var resident = Resident(name: "Di", age: 1, city: "Rome")
      try tx.save(&resident)
      // Not committed yet: the other process sees what was there before.
      let outcome = try shell(["count", path, "Resident"])
      #expect(outcome == (0, "3\n", ""))
    }
    let outcome = try shell(["count", path, "Resident"])
    #expect(outcome == (0, "4\n", ""))
  }
}

private struct Resident: Record {
  var id = RecordID<Self>()
  var name: String
  var age: Int
  var city: String
  var email: String?

  static let schema = Schema<Self> {
    Index(\.city, \.age)
    Unique(\.email)
  }
}
