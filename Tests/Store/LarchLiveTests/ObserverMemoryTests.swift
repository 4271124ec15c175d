#if os(Linux)
  import Foundation
  import Glibc
  import LarchTestSupport
  import Testing

  @testable import Larch

  /// In a process of its own, since what other tests allocate would be counted too. A sanitizer has an
  /// allocator of its own.
  @Suite(
    "The memory of observers that wait",
    .disabled(if: ProcessInfo.processInfo.environment["LARCH_SANITIZER"] != nil))
  struct ObserverMemoryTests {
    struct Person: Record, Equatable {
      var id = RecordID<Person>()
      var name: String
      var city: String
      var age: Int
      var score = 0.0

      static let schema = Schema<Person> { Index(\.city, \.age) }
    }

    private static let count = 2_000

    private static func withStore(_ body: (Store) async throws -> Void) async throws {
      let store = try Store.temporary(for: Person.self)
      defer { store.close() }
      try await store.write { tx throws in
        for number in 0..<count {
          var person = Person(name: "name \(number)", city: "city \(number / 10)", age: number % 90)
          try tx.insert(&person)
        }
      }
      // What the first observer of a store brings, such as the watch for other processes.
      let other = store.observe(Person.self, 1) { _ in }
      await other.settled()
      try await body(store)
      withExtendedLifetime(other) {}
    }

    /// The bytes that the allocator has handed out. Its own report is the only one that Swift can call
    /// on each processor: the header of `mallinfo2` is in no module.
    private static var allocated: Int {
      typealias Report = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
      guard let symbol = dlsym(nil, "malloc_info"), let file = tmpfile() else { return 0 }
      defer { fclose(file) }
      _ = unsafeBitCast(symbol, to: Report.self)(0, file)
      rewind(file)
      var text = [UInt8](repeating: 0, count: 1 << 16)
      let count = fread(&text, 1, text.count, file)
      let report = String(decoding: text[..<count], as: UTF8.self)
      // The sums of all arenas come last.
      func size(_ name: String) -> Int {
        guard let start = report.range(of: "type=\"\(name)\"", options: .backwards) else {
          return 0
        }
        let parts = report[start.upperBound...].prefix { $0 != ">" }.split(separator: "\"")
        return parts.last { Int($0) != nil }.flatMap { Int($0) } ?? 0
      }
      return size("current") - size("fast") - size("rest") + size("mmap")
    }

    /// Requires that each of many observers takes fewer bytes than a bound once it has delivered its first
    /// value, hardly more once a commit has woken it, and nearly nothing at the end.
    private static func bytes(
      _ name: String, _ store: Store, below bound: Int, _ make: (Int) -> ObservationToken
    ) async throws {
      var tokens = ContiguousArray<ObservationToken>()
      tokens.reserveCapacity(count)
      func start() async {
        for number in 0..<count { tokens.append(make(number)) }
        for token in tokens { await token.settled() }
      }
      // Those that end before the measurement leave the tables of Larch and of the system's queues grown,
      // which would be counted to some and not to others.
      await start()
      tokens.removeAll(keepingCapacity: true)
      let before = await settledBytes()
      await start()
      #expect(await lowest(below: bound, since: before) < bound, "\(name)")
      try await store.write { tx throws in try tx.update(Person.all) { $0.score += 1 } }
      for token in tokens { await token.settled() }
      #expect(await lowest(below: bound + 300, since: before) < bound + 300, "\(name), woken")
      tokens.removeAll()
      #expect(await lowest(below: 200, since: before) < 200, "\(name), ended")
    }

    /// The bytes that are allocated once those of ended observers are free again: two looks, a moment
    /// apart, that find the same.
    private static func settledBytes() async -> Int {
      var last = allocated
      for _ in 0..<500 {
        try? await Task.sleep(for: .milliseconds(20))
        let now = allocated
        if now >= last { break }
        last = now
      }
      return last
    }

    /// The bytes of each observer once they are below a bound, else the fewest that were seen. The tasks
    /// that delivered a value end a moment later, on a busy machine much later.
    private static func lowest(below bound: Int, since before: Int) async -> Int {
      var lowest = Int.max
      for _ in 0..<3000 where lowest >= bound {
        if lowest != .max { try? await Task.sleep(for: .milliseconds(20)) }
        lowest = min(lowest, (allocated - before) / count)
      }
      return lowest
    }

    @Test("an observer of one record, of a count or of a query has no task, and little memory")
    func idle() async {
      await #expect(processExitsWith: .success) {
        try await ObserverMemoryTests.withStore { store throws in
          // A task alone would take more than a kilobyte.
          try await ObserverMemoryTests.bytes("one record", store, below: 1_025) { number in
            store.observe(Person.self, RecordID(Int64(number + 1))) { _ in }
          }
          try await ObserverMemoryTests.bytes("a count", store, below: 1_900) { number in
            store.observe({ tx in try tx.count(Person.where { $0.city == "x \(number)" }) }) { _ in
            }
          }
          try await ObserverMemoryTests.bytes("a query without rows", store, below: 2_300) {
            number in
            store.observe(Person.where { $0.city == "x \(number)" }) { _ in }
          }
          try await ObserverMemoryTests.bytes("a query that all have", store, below: 1_500) { _ in
            store.observe(Person.where { $0.city == "city 7" }) { _ in }
          }
        }
      }
    }
  }
#endif
