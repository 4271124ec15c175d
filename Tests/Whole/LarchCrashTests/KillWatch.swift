import Foundation
import LarchCrashSupport
import LarchTestSupport

@testable import Larch

/// The state of one writer, which follows from a seed and the number of its transactions.
protocol KilledModel {
  /// The subcommands of the children.
  static var writerCommand: String { get }
  static var readerCommand: String { get }
  static var roundsPerVerification: Int { get }

  static func open(at path: String, isVerified: Bool) throws -> Store
  static func read(_ writer: Int, seed: UInt64, in transaction: ReadTransaction) throws -> Self
  /// Throws if a search differs from what the records say. Other processes may write meanwhile.
  ///
  /// - Returns: how many records were found.
  static func search(_ store: Store, _ random: inout SeededGenerator) throws -> Int

  init(seed: UInt64, writer: Int)
  /// The number of transactions.
  var done: Int { get }
  mutating func advance()
  /// All that the state has.
  var lines: [String] { get }
}

extension WriterModel: KilledModel {
  static var writerCommand: String { "crash-writer" }
  static var readerCommand: String { "crash-reader" }
  static var roundsPerVerification: Int { 10 }

  static func open(at path: String, isVerified: Bool) throws -> Store {
    try Store.forCrashes(at: path) { $0.isVerified = isVerified }
  }

  static func search(_ store: Store, _ random: inout SeededGenerator) -> Int { 0 }

  var done: Int { progress.transactions }
  mutating func advance() { _ = next() }
  var lines: [String] { ["\(progress)"] + contents }
}

extension TextState: KilledModel {
  static var writerCommand: String { "text-writer" }
  static var readerCommand: String { "text-reader" }
  static var roundsPerVerification: Int { 1 }

  static func open(at path: String, isVerified: Bool) throws -> Store {
    var options = Store.Options()
    options.isVerified = isVerified
    return try Texts.open(at: path, options: options)
  }

  static func search(_ store: Store, _ random: inout SeededGenerator) throws -> Int {
    var tally = TextTally()
    try store.read { tx throws in try Texts.check(tx, queries: 3, &tally, &random) }
    return tally.found
  }

  init(seed: UInt64, writer: Int) { self.init(seed: seed, owner: writer) }
  var done: Int { writes }
  mutating func advance() { _ = next() }
  var lines: [String] { ["\(writes)"] + contents }
}

/// The state of one kill loop.
final class KillWatch<Model: KilledModel> {
  private let directory: CrashDirectory
  private let writers: Int
  private var random: SeededGenerator
  private var children: [Child?]
  /// The model of each writer, as far as the store was compared with it.
  private(set) var models: [Model]
  private(set) var kills = 0
  private var rounds = 0
  private(set) var killedEarly = 0
  private(set) var unacknowledged = 0
  private(set) var verified = 0
  /// How many records the searches have found.
  private(set) var hits = 0

  init(writers: Int, directory: CrashDirectory) {
    self.writers = writers
    self.directory = directory
    random = SeededGenerator(seed: runSeed &+ UInt64(writers))
    children = []
    models = (0..<writers).map { Model(seed: runSeed, writer: $0) }
  }

  func run(kills count: Int, readers: Int) throws {
    let beacon = try Beacon(path: directory.beacon)
    children = Array(repeating: nil, count: writers + readers)
    for number in children.indices { try start(number) }
    while kills < count {
      var victims = Set([random.below(children.count)])
      // Sometimes several at once, so that no process is left that knows the state.
      while victims.count < children.count, random.below(3) > 0 {
        victims.insert(random.below(children.count))
      }
      // One in eight rounds kills early, before the victims have begun to write.
      let isEarly = random.below(8) == 0
      for victim in victims where !isEarly {
        try children[victim]?.waitUntilStarted(beacon, victim)
      }
      usleep(UInt32(random.below(isEarly ? 15_000 : 10_000)))
      for victim in victims {
        guard let child = children[victim] else { continue }
        if beacon[.started(victim)] != Int(child.id) { killedEarly += 1 }
        child.signal(SIGKILL)
      }
      for victim in victims { try children[victim]?.killHard() }
      kills += victims.count
      rounds += 1
      try compare(beacon, dead: victims)
      for victim in victims { try start(victim) }
    }
    for child in children { try child?.killHard() }
    try compare(beacon, dead: Set(children.indices))
    children = []
    try verify()
  }

  private func start(_ number: Int) throws {
    let kind = number < writers ? Model.writerCommand : Model.readerCommand
    var arguments = [kind, directory.store, directory.beacon, "\(number)", "\(runSeed)"]
    if number >= writers { arguments.append("\(writers)") }
    children[number] = try Child(arguments, in: directory.path)
  }

  /// Opens the store as the next program would, and compares it with the models.
  private func compare(_ beacon: Beacon, dead: Set<Int>) throws {
    // A new opening each time: it is what recovers from a death.
    let store = try Model.open(at: directory.store, isVerified: false)
    defer { store.close() }
    let before = (0..<writers).map { beacon[.acknowledged($0)] }
    let found = try store.read { tx throws in
      try (0..<writers).map { try Model.read($0, seed: runSeed, in: tx) }
    }
    for writer in 0..<writers {
      let done = found[writer].done
      // A living writer may have continued since then.
      let isDead = dead.contains(writer)
      let after = isDead ? before[writer] : beacon[.acknowledged(writer)]
      guard done >= before[writer], done <= after + 1 else {
        throw Mismatch(
          "writer \(writer): \(before[writer]) to \(after) acknowledged, \(done) in the store")
      }
      if isDead, done > after {
        unacknowledged += 1
        // The check has seen it, so the next kill must not lose it.
        beacon[.acknowledged(writer)] = done
      }
      while models[writer].done < done { models[writer].advance() }
      let (expected, actual) = (models[writer].lines, found[writer].lines)
      guard expected == actual else {
        throw Mismatch(
          "writer \(writer) at \(done): "
            + (TextDifference.between(
              expected: expected.joined(separator: "\n"), actual: actual.joined(separator: "\n"))
              ?? "lines"))
      }
    }
    hits += try Model.search(store, &random)
    if rounds % Model.roundsPerVerification == 0 { try verify(store) }
  }

  private func verify() throws {
    let store = try Model.open(at: directory.store, isVerified: true)
    defer { store.close() }
    try verify(store)
  }

  private func verify(_ store: Store) throws {
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
    verified += 1
  }
}
