import Foundation
import LarchCrashSupport
import LarchToolKit

@testable import Larch

/// The real program, run as a process.
enum Program {
  struct Result {
    var code: Int32
    var output: String
    var errors: String

    var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false) }
    var json: Any { get throws { try JSONSerialization.jsonObject(with: Data(output.utf8)) } }
    /// Of the output that is one JSON object.
    var object: [String: Any] { get throws { try json as? [String: Any] ?? [:] } }
  }

  static let url = Swift.Result { try Child.builtFile("larch") }

  /// Starts the program; what it says goes to files.
  static func start(
    _ arguments: [String], environment: [String: String] = [:], output: String, errors: String,
    in directory: String? = nil
  ) throws -> Process {
    let process = Process()
    process.executableURL = try url.get()
    process.arguments = arguments
    var all = ProcessInfo.processInfo.environment
    for name in ["COLUMNS", "NO_COLOR"] { all[name] = nil }
    process.environment = all.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try sink(output)
    process.standardError = try sink(errors)
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    try process.run()
    return process
  }

  private static func sink(_ path: String) throws -> FileHandle {
    // Never created again under another name: the path may be that of a device.
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    guard descriptor >= 0 else { throw Mismatch("no \(path)") }
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  /// Runs the program to its end.
  static func run(
    _ arguments: [String], environment: [String: String] = [:], in directory: String? = nil
  ) throws -> Result {
    let files = try CrashDirectory()
    let (output, errors) = (files.path + "/output", files.path + "/errors")
    let process = try start(
      arguments, environment: environment, output: output, errors: errors, in: directory)
    process.waitUntilExit()
    // A signal is no exit code.
    let code = process.terminationReason == .exit ? process.terminationStatus : -1
    return Result(
      code: code, output: try String(contentsOfFile: output, encoding: .utf8),
      errors: try String(contentsOfFile: errors, encoding: .utf8))
  }
}

/// The program in this process, with a console in memory.
struct MemoryConsole {
  let output = TextOutput()
  let errors = TextOutput()
  let console: Console

  init(
    width: Int? = nil, isTerminal: Bool = false, environment: [String: String] = [:]
  ) {
    console = Console(
      output: output, errors: errors, width: width, isTerminal: isTerminal,
      errorsAreTerminal: isTerminal, environment: environment)
  }

  func run(_ arguments: String...) -> ExitCode { Tool.run(arguments, on: console) }
}

/// Records of all kinds of fields and associations.
struct Tower: Record {
  struct Place: Codable, Sendable {
    var city: String
    var height: Double?
  }
  enum Material: String, Codable, Sendable { case wood, stone }

  var id = RecordID<Tower>()
  var name: String
  var note: String?
  var isOpen = true
  var floors: Int16 = 3
  var steps: UInt32 = 120
  var weight: Float = 1.5
  var built: Date
  var serial: UUID
  var plan = Data([1, 2, 250])
  var page: URL?
  var price: Decimal = 12.5
  var tags: [String] = []
  var counts: [String: Int] = [:]
  var place: Place
  var material = Material.stone
  var ownerID: Owner.ID?

  static let schema = Schema<Tower> {
    Unique(\.name)
    Index(\.place.city, \.floors)
    Index(\.tags)
    Index(\.note, options: .caseInsensitive)
    Index(\.nameLength, name: "nameLength")
  }

  var nameLength: Int { name.count }

  static func sample(_ number: Int) -> Tower {
    Tower(
      name: "tower \(number)", note: number.isMultiple(of: 3) ? nil : "Note \(number % 5)",
      floors: Int16(number % 7), built: Date(timeIntervalSinceReferenceDate: Double(number) * 1e6),
      serial: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(number % 256))),
      page: URL(string: "https://larch.example/\(number)"),
      tags: number.isMultiple(of: 2) ? ["even", "t\(number % 4)"] : [],
      counts: ["doors": number],
      place: Place(city: ["Oslo", "Graz", "Łódź"][number % 3], height: nil)
    )
  }
}

struct Owner: Record {
  var id: String
  var age: Int

  static let schema = Schema<Owner> {
    HasMany(\Tower.ownerID, onDelete: .nullify)
    ManyToMany(Club.self, named: "members")
  }
}

struct Club: Record {
  var id = RecordID<Club>()
  var name: String

  static let schema = Schema<Club> { ManyToMany(Owner.self, named: "members") }
}

/// A store on disk with some of each.
final class Fixture {
  let directory: CrashDirectory
  var path: String { directory.store }

  init(towers: Int = 30) throws {
    directory = try CrashDirectory()
    let store = try Fixture.open(directory.store)
    defer { store.close() }
    try store.write { tx throws in
      for name in ["ada", "bo"] {
        var owner = Owner(id: name, age: name.count)
        try tx.save(&owner)
      }
      for number in 0..<towers {
        var tower = Tower.sample(number)
        tower.ownerID = number == 0 ? "ada" : nil
        try tx.save(&tower)
      }
    }
  }

  static func open(_ path: String) throws -> Store {
    try Store(at: path, for: Tower.self, Owner.self, Club.self)
  }

  var bytes: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: path)) } }
}
