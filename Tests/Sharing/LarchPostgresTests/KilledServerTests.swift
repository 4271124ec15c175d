import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

/// `LARCH_POSTGRES_KILLS` is how often the server is killed, 5.
@Suite("A server that fails", .serialized, needsServer)
struct KilledServerTests {
  static let kills = Int(ProcessInfo.processInfo.environment["LARCH_POSTGRES_KILLS"] ?? "5")!

  /// What the threads of a test know.
  private struct Told {
    var isOver = false
    /// The appends that were told to have happened, and of how many nobody was told at first.
    var places: [LogPlace] = []
    var unknown = 0
    var unknownThatHappened = 0
  }

  @Test(
    "kill -9 under four appending threads: nothing is lost, nothing is there twice, all is decided")
  func killed() throws {
    let server = try PostgresServer()
    let logs = try (0..<4).map { _ in
      try server.log("main") {
        $0.connectTimeout = 5
        $0.answerTimeout = 20
      }
    }
    defer { for log in logs { log.close() } }
    try #require(try logs[0].beginSome())
    let told = Locked(Told())
    let group = DispatchGroup()
    for log in logs {
      group.enter()
      Thread {
        while !told.withLock({ $0.isOver }) { Self.appendOne(log, told) }
        group.leave()
      }.start()
    }
    var counted = 0
    for _ in 0..<Self.kills {
      // Some appends between two kills, then at any moment.
      while told.withLock({ $0.places.count }) < counted + 20 { usleep(2000) }
      usleep(.random(in: 0...30_000))
      try server.order("kill")
      try server.order("start")
      counted = told.withLock { $0.places.count }
    }
    while told.withLock({ $0.places.count }) < counted + 20 { usleep(2000) }
    told.withLock { $0.isOver = true }
    group.wait()

    let found = try logs[0].allEntries().map(\.place)
    let all = told.withLock { $0 }
    // Each of the log was told to its thread, and each that was told is in the log, once.
    #expect(Set(all.places) == Set(found))
    #expect(all.places.count == found.count)
    #expect(found.map(\.position) == (1...UInt64(found.count)).map { $0 })
    if Self.kills > 5 {
      print(
        "\(found.count) appended, \(all.unknown) unknown, \(all.unknownThatHappened) of them happened"
      )
    }
  }

  /// Appends one entry at the newest place, again and again until it is known whether it is there.
  private static func appendOne(_ log: PostgresLog, _ told: Locked<Told>) {
    guard let newest = try? log.head()?.newest else { return usleep(1000).discarded }
    let batch = entries(Int.random(in: 1...3), after: newest)
    var isUnknown = false
    while true {
      do {
        let isDone = try log.append(batch)
        told.withLock {
          if isDone { $0.places += batch.map(\.place) }
          if isUnknown, isDone { $0.unknownThatHappened += 1 }
        }
        return
      } catch {
        if !isUnknown { told.withLock { $0.unknown += 1 } }
        isUnknown = true
        if (error as? LarchError)?.code != .unavailable { Issue.record(error) }
        usleep(1000)
      }
    }
  }

  @Test("A server that hangs is given up after the time for an answer, and for a connection")
  func hanging() throws {
    let server = try PostgresServer()
    let log = try server.log("main") {
      $0.answerTimeout = 0.5
      $0.connectTimeout = 0.5
    }
    defer { log.close() }
    // On a busy machine a server that does not hang may need longer.
    let patient = try server.log("main")
    defer { patient.close() }
    try #require(try patient.beginSome())
    func soon<T>(_ call: () throws -> T) throws -> T {
      for _ in 0..<200 {
        do { return try call() } catch let error as LarchError where error.code == .unavailable {}
      }
      return try call()
    }
    // The connection is open then.
    _ = try soon { try log.head() }
    let batch = entries(1, after: .start)
    try server.order("pause")
    // Over the connection that is open, then over a new one. Both would last until the server goes on.
    for _ in 0..<2 {
      let error = caught { _ = try log.append(batch) }
      #expect(error?.code == .unavailable)
      #expect(error?.context.detail?.contains("within 0.5 s") == true)
    }
    #expect(caught { _ = try log.beginSome(expecting: .start) }?.code == .unavailable)
    try server.order("resume")
    #expect(try soon { try log.append(batch) })
    #expect(try patient.allEntries().map(\.place) == batch.map(\.place))
  }

  @Test("close ends what waits: for entries, for an answer and for a connection")
  func closing() throws {
    let server = try PostgresServer()
    func log() throws -> PostgresLog {
      try server.log("main") {
        $0.answerTimeout = 600
        $0.connectTimeout = 600
      }
    }
    let logs = try [log(), log(), log()]
    try #require(try logs[0].beginSome())
    for log in logs.prefix(2) { _ = try log.head() }
    let errors = Locked<[Int: LarchError.Code]>([:])
    let started = DispatchSemaphore(value: 0)
    let group = DispatchGroup()
    func run(_ number: Int, _ body: @Sendable @escaping (PostgresLog) throws -> Void) {
      group.enter()
      let log = logs[number]
      Thread {
        started.signal()
        let error = caught { try body(log) }
        errors.withLock { $0[number] = error?.code }
        group.leave()
      }.start()
      started.wait()
    }
    run(0) { try $0.wait(after: 0, seconds: 600) }
    usleep(100_000)
    try server.order("pause")
    run(1) { _ = try $0.append(entries(1, after: .start)) }
    run(2) { _ = try $0.head() }
    usleep(100_000)
    for log in logs { log.close() }
    group.wait()
    try server.order("resume")
    #expect(errors.withLock { $0 } == [0: .closed, 1: .closed, 2: .closed])
    #expect(caught { _ = try logs[0].head() }?.code == .closed)
  }

  @Test("A server that was started again is used without an error, by a connection that was idle")
  func restarted() throws {
    let server = try PostgresServer()
    let log = try server.log("main")
    defer { log.close() }
    try #require(try log.beginSome())
    let first = entries(2, after: .start)
    #expect(try log.append(first))
    try server.order("kill")
    try server.order("start")
    #expect(try log.head()?.newest == first[1].place)
    try server.order("kill")
    try server.order("start")
    #expect(try log.beginSome(at: first[1].place, expecting: first[1].place))
    try server.order("kill")
    #expect(caught { _ = try log.head() }?.code == .unavailable)
  }
}

extension Int32 {
  fileprivate var discarded: Void { () }
}
