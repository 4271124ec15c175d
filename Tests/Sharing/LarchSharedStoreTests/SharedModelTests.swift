import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Four servers on one store")
struct SharedModelTests {
  static let steps =
    ProcessInfo.processInfo.environment["LARCH_SHARED_STEPS"].flatMap(Int.init) ?? 20_000

  /// What went wrong, and how much happened.
  private final class Findings: @unchecked Sendable {
    private let lock = NSLock()
    private var wrong: [String] = []
    private var tokens: Set<String> = []
    private var never: Set<String> = []
    private(set) var unknown = 0
    private(set) var refused = 0
    private var isStopped = false

    func note(_ text: String) {
      lock.withLock {
        wrong.append(text)
        isStopped = true
      }
    }

    var mustStop: Bool { lock.withLock { isStopped } }
    func kept(_ token: String) { _ = lock.withLock { tokens.insert(token) } }
    func undone(_ token: String) { _ = lock.withLock { never.insert(token) } }
    func countUnknown() { lock.withLock { unknown += 1 } }
    func countRefused() { lock.withLock { refused += 1 } }
    var all: (wrong: [String], tokens: Set<String>, never: Set<String>) {
      lock.withLock { (wrong, tokens, never) }
    }
  }

  private static let total = 1000

  /// Runs random work on four copies at once, and compares what they have with a model.
  ///
  /// - Returns: what is wrong, and how many commits and commits of unknown outcome there were.
  private func run(
    seed: UInt64, steps: Int, faults: MemoryServer.Faults
  ) throws -> (wrong: [String], commits: Int, unknown: Int, refused: Int) {
    let server = MemoryServer(seed: seed)
    let findings = Findings()
    var commits = 0
    let paths = (0..<4).map { _ in ScratchFile.freshPath() }
    defer { paths.forEach(ScratchFile.remove) }
    var options = Store.Options.quick
    // So that some errors reach the caller.
    options.commitTimeout = .milliseconds(12)
    let stores = try paths.map {
      try Store(
        sharing: server.serverLog, copy: $0, types: BankWork.types, options: options,
        isTemporary: false)
    }
    defer { stores.forEach { $0.close() } }
    try stores[0].write { tx in
      for number in 0..<10 {
        var account = Account(owner: "first \(number)", balance: Self.total / 10)
        try tx.save(&account)
        var deed = Deed(
          token: "first \(number)", base: 0, kind: .open, ids: [account.id.rawValue], read: [],
          amount: account.balance, name: account.owner)
        try tx.save(&deed)
      }
    }
    for store in stores { try store.environment.catchUpWithLog() }
    server.set(faults)
    try onThreads(4) { place in
      var work = BankWork("\(place)", seed: seed &* 4 &+ UInt64(place))
      for number in 0..<steps / 4 where !findings.mustStop {
        do {
          try Self.step(stores[place], &work, "\(place)-\(number)", findings)
        } catch {
          findings.note("copy \(place): \(error)")
        }
      }
    }
    server.set(MemoryServer.Faults())
    var (wrong, tokens, never) = findings.all
    if wrong.isEmpty {
      do {
        let (more, count) = try compare(stores, tokens, never)
        wrong += more
        commits = count
        try expectEqual(stores, server, "seed \(seed)")
      } catch {
        wrong.append("\(error)")
      }
    }
    return (wrong, commits, findings.unknown, findings.refused)
  }

  private static func step(
    _ store: Store, _ work: inout BankWork, _ token: String, _ findings: Findings
  ) throws {
    // What the last run has done; a run without a deed may commit too, if it has claimed ids.
    var attempted: String?
    do {
      var local = work
      let kept = try store.write { tx in
        attempted = nil
        attempted = try local.step(in: tx, token: token)
        return attempted
      }
      work = local
      if let kept { findings.kept(kept) }
    } catch let error as LarchError where error.code == .unavailable {
      findings.countRefused()
      findings.undone(token)
    } catch let error as LarchError where error.code == .commitUnknown {
      findings.countUnknown()
      while true {
        do {
          switch try store.outcome(of: error) {
          case .committed: if let attempted { findings.kept(attempted) }
          case .notCommitted: findings.undone(token)
          }
          break
        } catch let error as LarchError
          where error.code == .unavailable
          || error.code == .commitUnknown
        {
          continue
        }
      }
    }
    // Any state of any copy has all of the money.
    if token.hasSuffix("3") {
      let sum = try store.read { tx in
        try tx.fetch(Account.all).reduce(0) { $0 + $1.balance }
      }
      if sum != total { findings.note("\(token): the sum is \(sum)") }
    }
  }

  /// Does all deeds in the order of the log to a model, which must then have what the copies have.
  private func compare(
    _ stores: [Store], _ tokens: Set<String>, _ never: Set<String>
  ) throws -> (wrong: [String], commits: Int) {
    for store in stores { try store.environment.catchUpWithLog() }
    let deeds = try stores[0].everything(Deed.self).sorted {
      ($0.base, $0.id.rawValue) < ($1.base, $1.id.rawValue)
    }
    var wrong: [String] = []
    let done = Set(deeds.map(\.token)).filter { !$0.hasPrefix("first") }
    if !tokens.isSubset(of: done) { wrong.append("lost: \(tokens.subtracting(done))") }
    if !done.isSubset(of: tokens) { wrong.append("not told: \(done.subtracting(tokens))") }
    if !done.isDisjoint(with: never) { wrong.append("happened nevertheless") }
    var model = BankModel()
    for (before, deed) in zip([nil] + deeds.map { $0 as Deed? }, deeds) {
      if let before, before.base == deed.base, deed.base > 0 { wrong.append("a place twice") }
      do { try model.apply(deed) } catch let error as BankModel.Wrong {
        wrong.append(error.text)
        break
      }
    }
    for (number, store) in stores.enumerated() {
      let accounts = try store.everything(Account.self)
      if accounts.map({ "\($0.id) \($0.owner) \($0.balance) \($0.note != nil)" })
        != model.accounts.sorted(by: { $0.key < $1.key }).map({
          "\($0.key) \($0.value.owner) \($0.value.balance) \($0.value.isOn)"
        })
      {
        wrong.append("the accounts of copy \(number) differ from the model")
      }
      let players = try store.everything(Player.self).map { [$0.id.rawValue, $0.teamID.rawValue] }
      if players != model.players.sorted(by: { $0.key < $1.key }).map({ [$0.key, $0.value] }) {
        wrong.append("the players of copy \(number) differ from the model")
      }
      if try store.everything(Team.self).map(\.id.rawValue) != model.teams.keys.sorted() {
        wrong.append("the teams of copy \(number) differ from the model")
      }
    }
    return (wrong, deeds.count)
  }

  @Test("Random work with failures of the server is that of one program after the other")
  func random() throws {
    let rounds = 5
    var (unknown, refused) = (0, 0)
    for seed in 0..<UInt64(rounds) {
      let faults = seed == 0 ? MemoryServer.Faults() : MemoryServer.Faults.each(10 * Int(seed))
      let found = try run(seed: seed, steps: Self.steps / rounds, faults: faults)
      #expect(found.wrong.isEmpty, "seed \(seed): \(found.wrong.prefix(5))")
      #expect(found.commits > Self.steps / rounds / 2, "seed \(seed): few commits")
      unknown += found.unknown
      refused += found.refused
    }
    #expect(unknown > 0 && refused > 0, "no failure reached a caller")
  }

  @Test("A server that ignores the place of appends is found out")
  func ignoredPlaces() throws {
    var faults = MemoryServer.Faults()
    faults.ignoresPlace = true
    #expect(try !run(seed: 1, steps: 2000, faults: faults).wrong.isEmpty)
  }
}
