import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

/// Prints rates of shared stores and mirrors beside the same transactions in SQL tables, for docs/servers.md;
/// it asserts none of them. On a server that flushes.
@Suite(
  "Rates",
  .enabled(if: ProcessInfo.processInfo.environment["LARCH_POSTGRES_MEASURE"] != nil), needsServer,
  .serialized)
struct RateTests {
  private struct Account: Record, Equatable {
    var id = RecordID<Account>()
    var owner: String
    var balance: Int
    static let schema = Schema<Account> {
      Unique(\.owner)
      Index(\.balance)
    }
  }

  /// Seconds of each measurement.
  private static let time =
    ProcessInfo.processInfo.environment["LARCH_POSTGRES_MEASURE"].flatMap(Double.init) ?? 5

  /// Times of calls from several threads or tasks.
  private final class Calls: Sendable {
    private let times = Locked<[Double]>([])
    private let start = ContinuousClock.now

    var isOver: Bool { (ContinuousClock.now - start).inSeconds > RateTests.time }

    func add(_ begin: ContinuousClock.Instant) {
      let time = (ContinuousClock.now - begin).inSeconds
      times.withLock { $0.append(time) }
    }

    var count: Int { times.withLock { $0.count } }

    func report(_ what: String) {
      let sorted = times.withLock { $0.sorted() }
      let total = (ContinuousClock.now - start).inSeconds
      func part(_ share: Double) -> String {
        String(format: "%.2f ms", sorted[Int(Double(sorted.count - 1) * share)] * 1000)
      }
      print(
        "\(what): \(Int(Double(sorted.count) / total))/s, p50 \(part(0.5)), p99 \(part(0.99))")
    }
  }

  private func withStores(
    _ count: Int, _ server: PostgresServer, _ body: ([Store]) async throws -> Void
  ) async throws {
    let log = ServerLog.postgres(server.url, store: freshName())
    let paths = (0..<count).map { _ in ScratchFile.freshPath() }
    var stores: [Store] = []
    defer {
      stores.forEach { $0.close() }
      paths.forEach(ScratchFile.remove)
    }
    for path in paths {
      stores.append(try Store(sharing: log, copy: path, for: Account.self, options: .quick))
    }
    try await body(stores)
  }

  private func saves(_ stores: [Store], tasks: Int, _ what: String) async throws {
    let before = try await stores[0].read(.fresh, within: .seconds(60)) {
      try $0.count(Account.all)
    }
    let calls = Calls()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (place, store) in stores.enumerated() {
        for task in 0..<tasks {
          group.addTask {
            var number = 0
            while !calls.isOver {
              number += 1
              let begin = ContinuousClock.now
              let owner = "\(what) \(place) \(task) \(number)"
              try await store.write { [number] tx in
                var account = Account(owner: owner, balance: number)
                try tx.save(&account)
              }
              calls.add(begin)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    calls.report(what)
    let lost = stores.reduce(0) { $0 + ($1.environment.sharedOrder?.lostPlaces ?? 0) }
    print("  \(lost) places lost")
    let saved = try await stores[0].read(.fresh, within: .seconds(60)) { try $0.count(Account.all) }
    #expect(saved - before == calls.count)
  }

  /// The same inserts as statements of one round trip each, in a table with the same indexes.
  private func inserts(_ server: PostgresServer, connections: Int, _ what: String) throws {
    let table = freshName("t")
    try server.run(
      """
      CREATE TABLE \(table) (id bigserial PRIMARY KEY, owner text UNIQUE NOT NULL, balance bigint NOT NULL);
      CREATE INDEX ON \(table) (balance)
      """)
    let logs = try (0..<connections).map { _ in try server.log("none") }
    defer { for log in logs { log.close() } }
    for log in logs { _ = try log.call { try $0.run("SELECT 1") } }
    let calls = Calls()
    onThreads(connections) { place in
      do {
        var number = 0
        while !calls.isOver {
          number += 1
          let begin = ContinuousClock.now
          _ = try logs[place].call {
            try $0.run(
              "INSERT INTO \(table) (owner, balance) VALUES ($1, $2) RETURNING id",
              [.text("\(place) \(number)"), .int(Int64(number))])
          }
          calls.add(begin)
        }
      } catch { Issue.record(error) }
    }
    calls.report(what)
    #expect(try Int(server.text("SELECT count(*) FROM \(table)")) == calls.count)
  }

  @Test("Of saves by one server and by sixteen, beside inserts by SQL")
  func saves() async throws {
    let server = try PostgresServer(isQuick: false)
    for round in 1...2 {
      print("round \(round)")
      try await withStores(1, server) { stores in
        try await saves(stores, tasks: 1, "one server, one task")
      }
      try inserts(server, connections: 1, "SQL, one connection")
      try await withStores(1, server) { stores in
        try await saves(stores, tasks: 64, "one server, 64 tasks")
      }
      try inserts(server, connections: 64, "SQL, 64 connections")
      try await withStores(16, server) { stores in
        try await saves(stores, tasks: 4, "16 servers, 4 tasks each")
        try await saves(stores, tasks: 64, "16 servers, 64 tasks each")
      }
    }
  }

  @Test("Of commits until a mirror has them, at 1,000 a second")
  func lag() async throws {
    let server = try PostgresServer(isQuick: false)
    let name = freshName()
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(
      at: path, mirror: .postgres(server.url, store: name), for: Account.self, options: .quick)
    defer { store.close() }
    try await store.mirror?.settled()
    let watcher = try server.log(name)
    defer { watcher.close() }
    let first = try #require(try watcher.head()).newest.position
    let count = Int(1000 * Self.time)
    // When each commit was acknowledged, and when another client saw it.
    let committed = Locked<[ContinuousClock.Instant]>([])
    let lags = Locked<[Double]>([])
    let start = ContinuousClock.now
    onThreads(2) { number in
      do {
        if number == 0 {
          for number in 0..<count {
            let due = start + .milliseconds(number)
            while ContinuousClock.now < due { usleep(200) }
            try store.saveAll([Account(owner: "\(number)", balance: number)])
            committed.withLock { $0.append(.now) }
          }
          return
        }
        var seen = 0
        while seen < count {
          let newest = Int(try #require(try watcher.head()).newest.position - first)
          let now = ContinuousClock.now
          // It may be there before the writer says so.
          let known = committed.withLock { Array($0.dropFirst(seen).prefix(newest - seen)) }
          lags.withLock { $0 += known.map { max(0, (now - $0).inSeconds) } }
          seen += known.count
          usleep(1000)
        }
      } catch { Issue.record(error) }
    }
    let time = (ContinuousClock.now - start).inSeconds
    let sorted = lags.withLock { $0.sorted() }
    try #require(sorted.count == count)
    print(
      "lag at \(Int(Double(count) / time)) saves/s: "
        + [0.5, 0.99, 1].map {
          String(format: "%.1f ms", sorted[Int(Double(count - 1) * $0)] * 1000)
        }.joined(separator: ", ") + " (median, p99, longest)")
  }

  /// Seconds of processor that this process and the server's have used.
  private func processorTime(_ server: PostgresServer) throws -> (here: Double, server: Double) {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c",
      "cat $(ps -A -o pid=,ppid= | awk '$2 == \(server.pid) { print \"/proc/\" $1 \"/stat\" }')",
    ]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = Pipe()
    try process.run()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let ticks = text.split(separator: "\n").map { line in
      let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
      return fields.count > 12 ? (Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0) : 0
    }
    return (
      Double(time.tv_sec) + Double(time.tv_nsec) / 1e9,
      ticks.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
    )
  }

  /// `LARCH_POSTGRES_STORES` is the number of stores.
  @Test("Of many stores, each with its own log on one server")
  func many() async throws {
    let count =
      ProcessInfo.processInfo.environment["LARCH_POSTGRES_STORES"].flatMap(Int.init) ?? 200
    let server = try PostgresServer(isQuick: false)
    let name = freshName()
    func log(_ number: Int) -> ServerLog { .postgres(server.url, store: "\(name) \(number)") }
    func memory() -> Int {
      let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
      return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
    let directory = ScratchFile.freshPath()
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func seconds(_ body: () throws -> Void) rethrows -> Double {
      let start = ContinuousClock.now
      try body()
      return (ContinuousClock.now - start).inSeconds
    }
    // With 64 GB of address space for each, some 2,000 fit into a process.
    var options = Store.Options.quick
    options.initialMapSize = 16 << 20
    func open() throws -> [Store] {
      try (0..<count).map { number in
        try Store(
          sharing: log(number), copy: "\(directory)/\(number)", for: Account.self,
          options: options)
      }
    }
    let before = memory()
    let descriptors = openDescriptors().count
    var stores: [Store] = []
    print(
      "\(count) stores: begun in \(try seconds { stores = try open() } / Double(count) * 1000) ms each"
    )
    for (number, store) in stores.enumerated() {
      try store.saveAll((0..<20).map { Account(owner: "\($0)", balance: number) })
    }
    print("  memory: \((memory() - before) / count / 1024) kB each")
    print("  descriptors: \(Double(openDescriptors().count - descriptors) / Double(count)) each")
    let connections = try server.text(
      "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
    print("  connections: \(connections)")
    let (here, there) = try processorTime(server)
    try await Task.sleep(for: .seconds(Self.time))
    let (hereLater, thereLater) = try processorTime(server)
    print(
      String(
        format: "  idle, in processors: %.3f here, %.3f of the server",
        (hereLater - here) / Self.time, (thereLater - there) / Self.time))
    // One of another process, so to say: each commit is awaited in another copy of one store.
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let other = try Store(sharing: log(0), copy: path, for: Account.self, options: .quick)
    var lags: [Double] = []
    for number in 0..<100 {
      try other.saveAll([Account(owner: "more \(number)", balance: 0)])
      let version = try other.version
      let begin = ContinuousClock.now
      try await stores[0].read(.atLeast(version), within: .seconds(60)) { _ in }
      lags.append((ContinuousClock.now - begin).inSeconds)
    }
    lags.sort()
    print(
      String(format: "  others' commits: after %.1f ms, p99 %.1f", lags[50] * 1000, lags[98] * 1000)
    )
    other.close()
    print("  closed in \(seconds { stores.forEach { $0.close() } } / Double(count) * 1000) ms each")
    print("  opened in \(try seconds { stores = try open() } / Double(count) * 1000) ms each")
    for store in stores { #expect(try store.count(Account.all) >= 20) }
    stores.forEach { $0.close() }
    let size = try server.text(
      "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'larch'::regnamespace AND relkind = 'r'"
    )
    print("  on the server: \((Int(size) ?? 0) / count) bytes each")
  }
}
