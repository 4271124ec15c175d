import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import LarchPostgres

/// `LARCH_PROCESS_TRANSACTIONS` is the number of attempts of all processes, 1,200; `LARCH_CRASH_SEED` repeats
/// the random choices, though not the timing.
@Suite("Four processes on one PostgreSQL server", .serialized, needsServer)
struct FourProcessesTests {
  private static let attempts = amount("LARCH_PROCESS_TRANSACTIONS", 1200)

  @Test(
    "Money, watches, names and delete rules hold, and all copies are equal, while the server dies")
  func invariants() throws {
    let server = try PostgresServer()
    // Three give up soon, so that some of their commits have an unknown outcome.
    let processes = try VillageProcesses(
      server.url,
      .init(
        attempts: Self.attempts / VillageProcesses.count, timeouts: [30_000, 20, 50, 100]))
    for kill in 1...3 {
      let part = Self.attempts / VillageProcesses.count / 8 * kill
      for (number, child) in processes.children.enumerated() {
        while child.isRunning, processes.beacon[.acknowledged(number)] < part / 2 { usleep(500) }
      }
      usleep(.random(in: 0...20_000))
      // What is sent to a server that stands still has no answer when it dies.
      if kill > 1 {
        try server.order("pause")
        usleep(50_000)
      }
      try server.order("kill")
      usleep(100_000)
      try server.order("start")
    }
    try processes.expectEnd()
    let outcome = try processes.outcome()
    #expect(outcome.wrong.isEmpty, "\(outcome.wrong.prefix(5)), seed \(runSeed)")
    #expect(processes.readErrors == 0)
    #expect(processes.copiedAnew.allSatisfy { $0 == 0 })
    // Everything has happened, and some of it was refused, since another process was faster.
    #expect(outcome.deeds.count >= 8 && outcome.ledger[.not].count > 0, "\(outcome.summary)")
    if Self.attempts > 1200 { print("four processes: \(outcome.summary)") }
  }

  @Test("With a log that ignores the place of an append, the same checks find what is wrong")
  func ignoredPlaces() throws {
    let server = try PostgresServer.shared.get()
    let processes = try VillageProcesses(
      server.url, .init(attempts: 60, ignoresPlaces: true))
    let endings = try processes.endings()
    let outcome = try processes.outcome()
    #expect(!outcome.wrong.isEmpty, "nothing was found: \(outcome.summary)\n\(endings)")
  }

  @Test("If the table has lost its key, each process gets an error that the log is damaged")
  func missingKey() throws {
    let server = try PostgresServer()
    let processes = try VillageProcesses(server.url, .init(attempts: 300)) { _ in
      try server.run("ALTER TABLE larch.log DROP CONSTRAINT log_pkey")
    }
    for (ending, output) in try processes.endings() {
      #expect(ending == .exit(1) && output.contains("damaged_log"), "\(ending): \(output)")
    }
  }
}
