import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

/// Nothing that a program does in its log function may stop the store.
@Suite("Use of the store inside its log function")
struct LogSafetyTests {
  /// Uses a store from its log in every way, also on another thread that it waits for.
  private final class Meddler: Sendable {
    private struct State {
      var store: Store?
      var events: [LogMessage.Event] = []
      var results: [String] = []
      /// Messages that the other thread causes are only recorded.
      var isBusy = false
    }

    private let state = Mutex(State())

    func set(_ store: Store?) { state.withLock { $0.store = store } }
    var events: [LogMessage.Event] { state.withLock { $0.events } }
    /// The result of each use: `ok`, or the code of its error.
    var results: [String] { state.withLock { $0.results } }

    func meddle(_ message: LogMessage) {
      let store = state.withLock { state -> Store? in
        state.events.append(message.event)
        if state.isBusy || state.store == nil { return nil }
        state.isBusy = true
        return state.store
      }
      guard let store else { return }
      defer { state.withLock { $0.isBusy = false } }
      use(store)
      let done = DispatchSemaphore(value: 0)
      Thread {
        self.use(store)
        done.signal()
      }.start()
      done.wait()
    }

    private func use(_ store: Store) {
      note { _ = try store.count(Club.all) }
      note {
        try store.write { tx throws in
          var club = Club(name: "from the log")
          try tx.save(&club)
        }
      }
      note { _ = try store.statistics() }
      note { _ = try store.openReads() }
    }

    private func note(_ body: () throws -> Void) {
      let result: String
      do {
        try body()
        result = "ok"
      } catch {
        result = (error as? LarchError)?.code.rawValue ?? "\(error)"
      }
      state.withLock { $0.results.append(result) }
    }
  }

  /// Ends the process with a message if a test hangs, since nothing else would report it.
  private func watched<T>(_ body: () throws -> T) rethrows -> T {
    let watch = DispatchWorkItem { fatalError("the store waits for its own log") }
    DispatchQueue.global().asyncAfter(deadline: .now() + 600, execute: watch)
    defer { watch.cancel() }
    return try body()
  }

  private func options(_ meddler: Meddler) -> Store.Options {
    var options = Store.Options.quick
    options.log = { meddler.meddle($0) }
    options.slowWrite = .zero
    options.slowRead = .zero
    return options
  }

  @Test("Slow reads and writes may use the store in the log, and end")
  func slow() throws {
    try watched {
      let meddler = Meddler()
      let store = try Store.temporary(for: Person.self, Club.self, options: options(meddler))
      meddler.set(store)
      for number in 0..<5 {
        try store.write { tx throws in
          var club = Club(name: "\(number)")
          try tx.save(&club)
        }
        _ = try store.fetch(Club.all)
      }
      meddler.set(nil)
      // Ten operations, and the uses of the other thread, whose messages may be here too. Messages
      // of the log's own thread are excluded, or this would never end.
      #expect(meddler.events.filter { $0 == .slowWrite || $0 == .slowRead }.count >= 10)
      #expect(meddler.results.allSatisfy { $0 == "ok" }, "\(meddler.results)")
    }
  }

  @Test("If the map grows inside a write, the log waits for the end of the write")
  func growth() throws {
    try watched {
      let meddler = Meddler()
      var options = options(meddler)
      options.initialMapSize = 128 << 10
      options.slowWrite = nil
      options.slowRead = nil
      let store = try Store.temporary(for: Person.self, Club.self, options: options)
      meddler.set(store)
      try store.write { tx throws in
        for _ in 0..<30 {
          var club = Club(name: String(repeating: "x", count: 50_000))
          try tx.save(&club)
        }
        // Not here, where it would keep the write lock.
        #expect(!meddler.events.contains(.mapGrown))
      }
      meddler.set(nil)
      #expect(meddler.events.contains(.mapGrown))
      #expect(meddler.results.allSatisfy { $0 == "ok" }, "\(meddler.results)")
    }
  }

  @Test("A slow operation inside a write is logged after the write")
  func insideWrite() throws {
    try watched {
      let meddler = Meddler()
      let store = try Store.temporary(for: Person.self, Club.self, options: options(meddler))
      try store.write { tx throws in
        // A slow read on another snapshot, inside the write.
        meddler.set(store)
        let other = store
        _ = try other.read { tx throws in try tx.count(Club.all) }
        #expect(!meddler.events.contains(.slowRead))
      }
      meddler.set(nil)
      #expect(meddler.events.contains(.slowRead) && !meddler.results.isEmpty)
      #expect(meddler.results.allSatisfy { $0 == "ok" }, "\(meddler.results)")
      #expect(try store.verify().isClean)
    }
  }

  @Test("Asynchronous writes continue while the log uses the store")
  func asynchronous() async throws {
    let meddler = Meddler()
    let store = try Store.temporary(for: Person.self, Club.self, options: options(meddler))
    meddler.set(store)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          try await store.write { tx throws in
            var club = Club(name: "\(number)")
            try tx.save(&club)
          }
        }
      }
      try await group.waitForAll()
    }
    meddler.set(nil)
    #expect(meddler.results.allSatisfy { $0 == "ok" }, "\(meddler.results)")
  }

  @Test("Opening logs only when the file may be opened again")
  func opening() throws {
    try watched {
      try withScratchPath { path in
        let opened = Mutex(0)
        var options = Store.Options.quick
        options.log = { message in
          guard message.event == .schemaChanged || message.event == .opened else { return }
          // The same file, from the log function: it must not wait for the opening that called it.
          let store = try? Store(at: path, for: Person.self, Club.self, options: .quick)
          store?.close()
          opened.withLock { $0 += store == nil ? 0 : 1 }
        }
        try Store(at: path, for: Person.self, Club.self, options: options).close()
        #expect(opened.withLock { $0 } == 2)
      }
    }
  }
}
