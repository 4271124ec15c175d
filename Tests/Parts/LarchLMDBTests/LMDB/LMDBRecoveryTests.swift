#if os(Linux)
  import Foundation
  import LarchTestSupport
  import Synchronization
  import Testing

  @testable import Larch

  /// Failures of the disk through LMDB's own descriptors: its real code runs, with a real error.
  struct LMDBRecoveryTests {
    @Test("A failed header write loses only that commit, and Larch reopens the store")
    func failedHeaderWrite() throws {
      let scratch = try ScratchDirectory()
      let environment = try LMDBEnvironment.open(path: scratch.store, options: .init())
      defer { environment.close() }
      var database = try environment.database("a")
      try environment.write { try database.put(1, 1, in: $0) }
      let reader = try environment.beginRead()
      reader.attachment = environment
      environment.endRead(reader)
      let generation = environment.generation

      try breakHeaderWrites(of: environment)
      #expect(code { try environment.write { try database.put(2, 2, in: $0) } } == .ioFailure)

      #expect(environment.generation == generation + 1)
      let again = try environment.beginRead()
      #expect(again !== reader)
      #expect(again.attachment == nil)
      #expect(again.generation == environment.generation)
      environment.endRead(again)
      database = try environment.database("a")
      #expect(try environment.read { try database.number(1, in: $0) } == 1)
      #expect(try environment.read { try database.number(2, in: $0) } == nil)
      try environment.write { try database.put(2, 3, in: $0) }
      #expect(try environment.read { try database.number(2, in: $0) } == 3)
    }

    @Test("An open read delays the reopening, and the next operation after it does it")
    func failureUnderRead() throws {
      let scratch = try ScratchDirectory()
      let environment = try LMDBEnvironment.open(path: scratch.store, options: .init())
      defer { environment.close() }
      var database = try environment.database("a")
      try environment.write { try database.put(1, 1, in: $0) }
      let reader = try environment.beginRead()
      try breakHeaderWrites(of: environment)
      #expect(code { try environment.write { try database.put(2, 2, in: $0) } } == .ioFailure)
      // The snapshot is still complete, but nothing new can begin on this thread.
      #expect(try database.number(1, in: reader.transaction) == 1)
      #expect(code { _ = try environment.beginRead() } == .ioFailure)
      #expect(code { try environment.write { _ in } } == .ioFailure)
      #expect(environment.generation == 0)
      environment.endRead(reader)
      database = try environment.database("a")
      #expect(environment.generation == 1)
      #expect(try environment.read { try database.number(1, in: $0) } == 1)
    }

    @Test("A broken environment is reopened by the next operation, a read or a write")
    func poisonedUnderThreads() async throws {
      let scratch = try ScratchDirectory()
      let environment = try LMDBEnvironment.open(path: scratch.store, options: .init())
      defer { environment.close() }
      let database = try environment.database("a")
      try environment.write { try database.put(1, 1, in: $0) }
      let failures = Failures()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            try? await onThread {
              while !failures.isDone.load(ordering: .relaxed) {
                if code(of: { try environment.read { _ in } }) != nil { failures.add() }
              }
            }
          }
        }
        group.addTask {
          try? await onThread {
            defer { failures.isDone.store(true, ordering: .relaxed) }
            for round in 1...20 {
              let database = try environment.database("a")
              try breakHeaderWrites(of: environment)
              let answer = code { try environment.write { try database.put(2, 2, in: $0) } }
              if answer != .ioFailure || environment.generation != round { failures.add() }
            }
          }
        }
      }
      #expect(failures.count.load(ordering: .relaxed) == 0)
      #expect(environment.generation == 20)
    }

    @Test("A failed data write loses only that commit")
    func failedDataWrite() throws {
      let scratch = try ScratchDirectory()
      let environment = try LMDBEnvironment.open(path: scratch.store, options: .init())
      defer { environment.close() }
      let database = try environment.database("a")
      try environment.write { try database.put(1, 1, in: $0) }
      let replaced = try replaceDescriptor(of: environment, with: "/dev/full", O_RDWR) {
        $0 & O_DSYNC == 0 && $0 & O_ACCMODE == O_RDWR
      }
      let failed = code { try environment.write { try database.put(2, 2, in: $0) } }
      let readable = try environment.read { try database.number(1, in: $0) }
      dup2(replaced.copy, replaced.descriptor)
      close(replaced.copy)
      #expect(failed == .diskFull)
      #expect(readable == 1)
      #expect(environment.generation == 0)
      try environment.write { try database.put(2, 3, in: $0) }
      #expect(try environment.read { try database.number(2, in: $0) } == 3)
    }

    @Test("A disk that fills up gives a typed error at any point; reads and deletes continue")
    func diskFull() async throws {
      let scratch = try ScratchDirectory()
      await #expect(processExitsWith: .success) { [path = scratch.store as String] in
        signal(SIGXFSZ, SIG_IGN)
        let environment = try LMDBEnvironment.open(path: path, options: .init())
        let database = try environment.database("a")
        try environment.write { transaction in
          for key in UInt64(0)..<2_000 { try database.put(key, key, in: transaction) }
        }
        let size = try environment.info().fileSize
        var failures = 0
        // Every limit of a range of sizes, so that the cut falls into each kind of page.
        for room in stride(from: 0, to: 64 << 10, by: 1_500) {
          var limit = rlimit(rlim_cur: rlim_t(size + room), rlim_max: .max)
          try #require(getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
          limit.rlim_cur = rlim_t(size + room)
          try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
          let answer = code {
            try environment.write { transaction in
              for key in UInt64(2_000)..<30_000 { try database.put(key, key, in: transaction) }
            }
          }
          try #require(answer == .diskFull)
          failures += 1
          let entries = try environment.read { try database.statistics(in: $0).entries }
          try #require(entries == 2_000)
          limit.rlim_cur = limit.rlim_max
          try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
          try environment.write { transaction in
            try #require(try database.delete(1, in: transaction))
          }
          try environment.write { try database.put(1, 1, in: $0) }
        }
        try #require(failures == 44)
        try environment.write { transaction in
          for key in UInt64(2_000)..<30_000 { try database.put(key, key, in: transaction) }
        }
        let entries = try environment.read { try database.statistics(in: $0).entries }
        try #require(entries == 30_000)
        environment.close()
      }
    }

    private final class Failures: Sendable {
      let isDone = Atomic<Bool>(false)
      let count = Atomic<Int>(0)

      func add() { count.add(1, ordering: .relaxed) }
    }
  }

  /// Replaces the descriptor with which LMDB writes headers by a read-only one.
  private func breakHeaderWrites(of environment: LMDBEnvironment) throws {
    let replaced = try replaceDescriptor(of: environment, with: "/dev/null", O_RDONLY) {
      $0 & O_DSYNC != 0
    }
    close(replaced.copy)
  }

  /// Replaces the descriptor of the store file whose flags match, and keeps a copy of it.
  private func replaceDescriptor(
    of environment: LMDBEnvironment, with path: String, _ mode: Int32,
    where matches: (Int32) -> Bool
  ) throws -> (descriptor: Int32, copy: Int32) {
    let found = openDescriptors().filter { descriptor in
      var status = stat()
      return fstat(descriptor, &status) == 0 && FileIdentity(status) == environment.file
        && matches(fcntl(descriptor, F_GETFL))
    }
    try #require(found.count == 1, "LMDB has not the descriptor that the test is about")
    let replacement = open(path, mode | O_CLOEXEC)
    try #require(replacement >= 0)
    let copy = dup(found[0])
    try #require(dup2(replacement, found[0]) == found[0])
    close(replacement)
    return (found[0], copy)
  }
#endif
