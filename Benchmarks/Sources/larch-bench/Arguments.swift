import Foundation
import Workload

/// The command line.
struct Arguments {
  static let usage = """
    larch-bench [options]: the Person workload on Larch and its peers, as ratios to raw LMDB
      --shapes         eight other shapes of records instead, beside SQLite; all options below work with
                       it, and LARCH_BENCH_GRDB=/path/to/GRDB.swift at building time adds the peer grdb
      --size N         base size (100000)
      --rounds N       rounds; the table shows medians (3)
      --only R1,R8     operations to run (all but the extra ones); with --shapes also a whole shape,
                       as in events,orders.find
      --peers a,b      peers to run (all; ratios need lmdb, of shapes sqlite)
      --json FILE      write JSON lines too: every figure of every round, and a summary
      --charts DIR     write charts too, as SVG
      --table FILE     fill the blocks between <!-- bench:begin --> and <!-- bench:end --> of a page
      --from FILE      make charts and tables of an earlier run's JSON; both may be given several times
      --dir DIR        where the stores are made; must be on a real disk (temporary directory)
      --seed N         order of peers in each round
      --cpu            processor time instead of time, for a busy machine; commits then wait for free
      --growth         run at several sizes and show how each operation grows
      --sizes A,B,C    those sizes (10000,100000,1000000)
      --coding         measure coding alone, per field, against a hand-written coder
      --live           measure observers: what they cost a write, and a change them; --only O3,memory
      --commits        durable commits of one record for a while, by 1, 8 and 64 writers, with the
                       longest and with all that they cause later
      --seconds N      how long each peer commits (10)
      --recovery       what a kill leaves after 1,000, 10,000 and 100,000 logged commits of one record,
                       and how long the next opening takes
      --ambient        measure calls that name no store, rules, times and hooks
      --text           measure the index of words beside FTS5 of SQLite, on texts of 32 words and on
                       a tenth as many (at most 10000) of 2000; --only F3,F7, --size, --rounds, --cpu
      --profile OP     run one operation (or encode, decode) in a loop, for a profiler
      --peer NAME      the peer or coder to profile (larch)
      --repeat N       how often to run it (1)
      --list           operations and peers
    """

  var size = 100_000
  var rounds = 3
  var only: Set<String>?
  var shapes = false
  var peers: [String] = []
  var json: String?
  var charts: String?
  var tables: [String] = []
  var from: [String] = []
  var sizes = [10_000, 100_000, 1_000_000]
  var directory = FileManager.default.temporaryDirectory.path
  var seed: UInt64 = 1
  var countsProcessorTime = false
  var growth = false
  var coding = false
  var ambient = false
  var commits = false
  var recovery = false
  /// What `--recovery` starts: the number of commits after which this process kills itself.
  var killedAfter: Int?
  var seconds = 10
  var live = false
  var text = false
  var profile: String?
  var profilePeer = "larch"
  var repetitions = 1
  var list = false
  var help = false

  init(_ words: [String]) throws {
    var words = words[...]
    var given: Set<String> = []
    while let word = words.popFirst() {
      given.insert(word)
      switch word {
      case "--cpu": countsProcessorTime = true
      case "--growth": growth = true
      case "--coding": coding = true
      case "--ambient": ambient = true
      case "--commits": commits = true
      case "--recovery": recovery = true
      case "--live": live = true
      case "--text": text = true
      case "--list": list = true
      case "--shapes": shapes = true
      case "--help", "-h": help = true
      default:
        guard Arguments.withValue.contains(word) else {
          throw BenchmarkError("\(word) is not understood\n\(Arguments.usage)")
        }
        guard let value = words.popFirst() else { throw BenchmarkError("\(word) needs a value") }
        try take(word, value)
      }
    }
    try checkNames()
    if growth, given.contains("--size") { throw BenchmarkError("--growth has --sizes, not --size") }
    if !growth, given.contains("--sizes") { throw BenchmarkError("--sizes is for --growth") }
    if !from.isEmpty, charts == nil, tables.isEmpty {
      throw BenchmarkError("--from needs --charts or --table")
    }
  }

  private static let withValue: Set<String> = [
    "--size", "--sizes", "--rounds", "--repeat", "--seed", "--json", "--charts", "--table",
    "--from", "--dir", "--seconds", "--killed-after", "--profile", "--peer", "--only", "--peers",
  ]

  private mutating func take(_ option: String, _ value: String) throws {
    switch option {
    case "--size": size = try Arguments.size(option, value)
    case "--sizes":
      sizes = try Arguments.list(option, value).map { try Arguments.size(option, $0) }
      guard sizes.count > 1, zip(sizes, sizes.dropFirst()).allSatisfy({ $0 < $1 }) else {
        throw BenchmarkError("--sizes needs several sizes that ascend, not \(value)")
      }
    case "--seconds": seconds = try Arguments.positive(option, value)
    case "--rounds": rounds = try Arguments.positive(option, value)
    case "--repeat": repetitions = try Arguments.positive(option, value)
    case "--seed": seed = UInt64(try Arguments.positive(option, value))
    case "--json": json = value
    case "--charts": charts = value
    case "--table": tables.append(value)
    case "--from": from.append(value)
    case "--dir": directory = value
    case "--killed-after": killedAfter = try Arguments.positive(option, value)
    case "--profile": profile = value
    case "--peer": profilePeer = value
    case "--only": only = Set(try Arguments.list(option, value))
    default:
      peers = try Arguments.list(option, value)
      guard Set(peers).count == peers.count else {
        throw BenchmarkError("--peers names a peer twice: \(value)")
      }
    }
  }

  /// Whether what is to be run is there, once it is known which benchmark is meant.
  private mutating func checkNames() throws {
    let benchmark = benchmark
    if live || text, let only {
      let names = live ? LiveBenchmark.names : TextBenchmark.names
      let unknown = only.subtracting(names).sorted().joined(separator: ", ")
      if !unknown.isEmpty {
        throw BenchmarkError("no row \(unknown); there are \(names.joined(separator: ", "))")
      }
    } else if let only {
      let shapes = benchmark.parts.map(\.name).filter { !$0.isEmpty }
      let names = benchmark.operations.flatMap {
        [$0.name] + ($0.memberwise.map { [$0.name] } ?? [])
      }
      guard only.isSubset(of: shapes + names) else {
        let unknown = only.subtracting(shapes + names).sorted().joined(separator: ", ")
        let known = shapes.isEmpty ? names : shapes
        let hint = shapes.isEmpty ? "" : ", whose operations --list names"
        throw BenchmarkError(
          "no operation \(unknown); there are \(known.joined(separator: ", "))\(hint)")
      }
    }
    if peers.isEmpty { peers = benchmark.peers }
    for name in peers where !benchmark.peers.contains(name) {
      let names = benchmark.peers.joined(separator: ", ")
      throw BenchmarkError(
        benchmark.optionalPeers[name].map { "this program was built without \(name): \($0)" }
          ?? "no peer \(name); there are \(names)")
    }
  }

  /// What is run.
  var benchmark: Benchmark { shapes ? .shapes : .people }

  private static func list(_ option: String, _ value: String) throws -> [String] {
    let words = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    guard !words.isEmpty else { throw BenchmarkError("\(option) needs a list, as in a,b") }
    return words
  }

  /// The workload's streams draw numbers below a size in 32 bits.
  private static func size(_ option: String, _ value: String) throws -> Int {
    let size = try positive(option, value)
    guard (100...1_000_000_000).contains(size) else {
      throw BenchmarkError("\(option) takes 100 to 1000000000 records, not \(value)")
    }
    return size
  }

  func wants(_ operation: Operation) -> Bool {
    guard let only else { return !operation.isExtra }
    // What others are ratios to is run with them.
    return only.contains(operation.name)
      || operation.memberwise.map { only.contains($0.name) } ?? false
      || operation.name.split(separator: ".").first.map { only.contains(String($0)) } ?? false
      || benchmark.operations.contains { $0.base == operation.name && only.contains($0.name) }
  }

  func isMemberwise(_ peer: String) -> Bool {
    ["larch-m", "larch-log"].contains(peer)
  }

  private static func positive(_ option: String, _ value: String) throws -> Int {
    guard let number = Int(value), number > 0 else {
      throw BenchmarkError("\(option) needs a positive number, not \(value)")
    }
    return number
  }
}
