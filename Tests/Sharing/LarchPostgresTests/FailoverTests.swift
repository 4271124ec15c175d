import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

/// Three servers, of which `Scripts/postgres-cluster.sh` kills the leader and promotes a standby.
/// By hand: `LARCH_FAILOVERS=20`. With `LARCH_CLUSTER=patroni-cluster.sh` Patroni promotes.
@Suite("Failover between three servers", .serialized, needsServer)
struct FailoverTests {
  private static let failovers = amount("LARCH_FAILOVERS", 1)
  private static let quorumScript =
    ProcessInfo.processInfo.environment["LARCH_CLUSTER"] ?? "postgres-cluster.sh"

  @Test("With a quorum of standbys nothing acknowledged is lost, and reads are never interrupted")
  func quorum() throws {
    let cluster = try ServerScript(Self.quorumScript, [])
    // Two wait for the new leader; two give up soon, so that some of their commits have an unknown outcome.
    let processes = try VillageProcesses(
      cluster.value("url"), .init(timeouts: [600_000, 600_000, 20, 200]))
    try processes.waitForProgress(10)
    for _ in 0..<Self.failovers {
      usleep(.random(in: 0...50_000))
      try cluster.order("kill")
      // Without a leader the copies are read on.
      let reads = processes.reads
      try processes.waitForReads(20, after: reads)
      try cluster.order("promote")
      // The other standby is the new leader's quorum, so nobody waits for the killed server.
      try processes.waitForProgress(5, reads: 5)
      try cluster.order("rejoin")
      try processes.waitForProgress(5, reads: 5)
    }
    try processes.stop()
    let outcome = try processes.outcome()
    #expect(outcome.wrong.isEmpty, "\(outcome.wrong.prefix(5))")
    #expect(processes.readErrors == 0)
    #expect(processes.copiedAnew.allSatisfy { $0 == 0 })
    if Self.failovers > 1 { print("\(Self.failovers) failovers: \(outcome.summary)") }
  }

  @Test("Copies that know more than an asynchronous standby notice it, and keep their file aside")
  func asynchronous() throws {
    let cluster = try ServerScript("postgres-cluster.sh", ["--asynchronous"])
    let processes = try VillageProcesses(
      cluster.value("url"), .init(timeouts: [600_000, 600_000, 200, 200]))
    try processes.waitForProgress(10)
    for round in 1...Self.failovers {
      try cluster.order("hold")
      try processes.waitForProgress(5)
      try cluster.order("kill")
      let kept = try processes.keptAside()
      try cluster.order("promote")
      // Each copy knew more than the new leader: it was made again, and the program went on.
      try processes.wait("makes its copy again") { processes.copiedAnew[$0] >= round }
      try processes.waitForProgress(5, reads: 5)
      for number in VillageProcesses.numbers {
        let new = try processes.keptAside()[number].subtracting(kept[number])
        #expect(new.count == 1, "copy \(number), failover \(round): \(new)")
        for path in new { try processes.expectSound(path) }
      }
      try cluster.order("rejoin")
    }
    try processes.stop()
    let outcome = try processes.outcome(mayLose: true)
    #expect(outcome.wrong.isEmpty, "\(outcome.wrong.prefix(5))")
    #expect(!outcome.ledger[.did].isSubset(of: outcome.stored), "the standby had everything")
    #expect(processes.readErrors == 0)
    #expect(processes.copiedAnew == processes.copiedAnew.map { _ in Self.failovers })
    if Self.failovers > 1 {
      let lost = outcome.ledger[.did].subtracting(outcome.stored).count
      print("\(Self.failovers) failovers: \(lost) lost by the servers, \(outcome.summary)")
    }
  }
}
