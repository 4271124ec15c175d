import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

@Suite("Killed programs with copies of one store on PostgreSQL", needsServer)
struct KilledCopiesTests {
  /// By hand: LARCH_COPY_KILLS=300.
  private static let kills =
    ProcessInfo.processInfo.environment["LARCH_COPY_KILLS"].flatMap(Int.init) ?? 16

  @Test("Each copy is a state of the store after any kill, and goes on to the newest")
  func kills() async throws {
    let server = try PostgresServer.shared.get()
    let name = freshName()
    let log = ServerLog.postgres(server.url, store: name)
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "larch-copies-\(UUID())").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let seed: UInt64 = 23
    let bank = SharedBank(seed: seed)
    let (first, second, followed) = (
      directory + "/first.larch", directory + "/second.larch", directory + "/followed.larch"
    )
    try bank.make(at: first)
    try share(log, first).close()
    // Two processes write one of the copies, and two follow on another.
    let roles = [
      ("copy-teller", first), ("copy-teller", second), ("copy-teller", second),
      ("copy-follower", followed), ("copy-follower", followed),
    ]
    let beacon = try Beacon(path: directory + "/beacon")
    func start(_ number: Int) throws -> Child {
      try Child(
        [
          roles[number].0, roles[number].1, directory + "/beacon", "\(number)", "\(seed)",
          server.url, name,
        ], in: directory)
    }
    var children = try roles.indices.map(start)
    var random = SeededGenerator(seed: seed)
    for round in 0..<Self.kills {
      let victim = round % roles.count
      // Every third one is killed while it opens its copy.
      if round % 3 != 0 { try children[victim].waitUntilStarted(beacon, victim) }
      #expect(!children[victim].ends(within: random.below(60_000)), "\(children[victim].output)")
      try children[victim].killHard()
      if round % 4 == 3 { try check(roles[victim].1, bank) }
      children[victim] = try start(victim)
    }
    for (number, child) in children.enumerated() { try child.waitUntilStarted(beacon, number) }
    for child in children { try child.killHard() }
    let stores = try [share(log, first), share(log, second), follow(log, followed)]
    defer { stores.forEach { $0.close() } }
    let place = try #require(try log.open().head()).newest
    for store in stores {
      try await store.read(.atLeast(StoreVersion(place)), within: .seconds(60)) { _ in }
      #expect(try await store.verify().isClean)
      #expect(store.movedAside == nil && store.follower?.status.keptAside == nil)
      try bank.checkEverything(try store.readContents(bank))
    }
    let states = try stores.map { try pairs(of: $0) }
    #expect(states[0] == states[1] && states[0] == states[2])
    let done = try stores[0].readContents(bank).done
    for number in 0..<3 {
      #expect(done[number] > 0)
      #expect(done[number] >= beacon[.acknowledged(number)])
      #expect(done[number] <= beacon[.attempted(number)])
    }
  }

  /// A copy can be read without its log, and is a state of the bank.
  private func check(_ path: String, _ bank: SharedBank) throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    let store = try Store(
      path: path, types: [LarchCrashSupport.Account.self, Transfer.self, Teller.self],
      options: Store.Options().with { $0.isReadOnly = true }, isTemporary: false)
    defer { store.close() }
    try bank.checkEverything(try store.readContents(bank))
  }

  private func share(_ log: ServerLog, _ path: String) throws -> Store {
    try Store(
      sharing: log, copy: path, for: LarchCrashSupport.Account.self, Transfer.self, Teller.self)
  }

  private func follow(_ log: ServerLog, _ path: String) throws -> Store {
    try Store(
      following: log, copy: path, for: LarchCrashSupport.Account.self, Transfer.self, Teller.self)
  }

  /// All pairs, with the names of their trees.
  private func pairs(of store: Store) throws -> [String: [[UInt8]]] {
    var pairs: [String: [[UInt8]]] = [:]
    let collector = PairCaller { tree, key, value in
      pairs[tree.name, default: []] += [[UInt8](key), [UInt8](value)]
    }
    try store.environment.withPairs { _, copy in try copy(collector) }
    return pairs
  }
}

extension Store {
  fileprivate func readContents(_ bank: SharedBank) throws -> SharedBank.Contents {
    try read { try bank.contents($0) }
  }
}
