import Foundation

/// The command line.
struct Arguments {
  static let usage = """
    larch-bench [options]: the Person workload on Larch and its peers, as ratios to raw LMDB
      --size N         base size (100000)
      --rounds N       rounds; the table shows medians (3)
      --only R1,R8     operations to run (all but the extra ones)
      --peers a,b      peers to run (all; ratios need lmdb)
      --json FILE      write JSON lines too
      --dir DIR        where the stores are made; must be on a real disk (temporary directory)
      --seed N         order of peers in each round
      --cpu            processor time instead of time, for a busy machine; commits then wait for free
      --growth         run at 10000, 100000 and 1000000 and show how each operation grows
      --coding         measure coding alone, per field, against a hand-written coder
      --ambient        measure calls that name no store, rules, times and hooks
      --profile OP     run one operation (or encode, decode) in a loop, for a profiler
      --peer NAME      the peer or coder to profile (larch)
      --repeat N       how often to run it (1)
      --list           operations and peers
    """

  static var allPeers: [any Engine.Type] {
    [RawLMDBEngine.self] + larchPeers + [SQLiteEngine.self]
  }

  var size = 100_000
  var rounds = 3
  var only: Set<String>?
  var peers = Arguments.allPeers
  var json: String?
  var directory = FileManager.default.temporaryDirectory.path
  var seed: UInt64 = 1
  var countsProcessorTime = false
  var growth = false
  var coding = false
  var ambient = false
  var profile: String?
  var profilePeer = "larch"
  var repetitions = 1
  var list = false
  var help = false

  init(_ words: [String]) throws {
    var words = words[...]
    while let word = words.popFirst() {
      switch word {
      case "--cpu": countsProcessorTime = true
      case "--growth": growth = true
      case "--coding": coding = true
      case "--ambient": ambient = true
      case "--list": list = true
      case "--help", "-h": help = true
      default:
        guard let value = words.popFirst() else { throw Arguments.wrong(word) }
        try take(word, value)
      }
    }
  }

  private mutating func take(_ option: String, _ value: String) throws {
    switch option {
    case "--size": size = try Arguments.positive(option, value)
    case "--rounds": rounds = try Arguments.positive(option, value)
    case "--repeat": repetitions = try Arguments.positive(option, value)
    case "--seed": seed = UInt64(try Arguments.positive(option, value))
    case "--json": json = value
    case "--dir": directory = value
    case "--profile": profile = value
    case "--peer": profilePeer = value
    case "--only":
      let names = Set(value.split(separator: ",").map(String.init))
      let known = Set(Operation.all.flatMap { [$0.name] + ($0.memberwise.map { [$0.name] } ?? []) })
      guard names.isSubset(of: known) else {
        let unknown = names.subtracting(known).sorted().joined(separator: ", ")
        throw BenchmarkError("no operation \(unknown); there are \(known.sorted())")
      }
      only = names
    case "--peers":
      peers = try value.split(separator: ",").map { try Arguments.peer(String($0)) }
    default: throw Arguments.wrong(option)
    }
  }

  static func peer(_ name: String) throws -> any Engine.Type {
    guard let peer = allPeers.first(where: { $0.peer == name }) else {
      let names = allPeers.map { $0.peer }.joined(separator: ", ")
      throw BenchmarkError("no peer \(name); there are \(names)")
    }
    return peer
  }

  func wants(_ operation: Operation) -> Bool {
    guard let only else { return !operation.isExtra }
    // What others are ratios to is run with them.
    return only.contains(operation.name)
      || operation.memberwise.map { only.contains($0.name) } ?? false
      || Operation.all.contains { $0.base == operation.name && only.contains($0.name) }
  }

  func isMemberwise(_ peer: String) -> Bool {
    peer == "larch-m"
  }

  private static func positive(_ option: String, _ value: String) throws -> Int {
    guard let number = Int(value), number > 0 else {
      throw BenchmarkError("\(option) needs a positive number, not \(value)")
    }
    return number
  }

  private static func wrong(_ word: String) -> BenchmarkError {
    BenchmarkError("\(word) is not understood\n\(usage)")
  }
}
