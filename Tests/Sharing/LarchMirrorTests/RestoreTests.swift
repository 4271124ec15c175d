import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Restoring a store from its log")
struct RestoreTests {
  /// A mirrored store, and what it had at each of its commits that the log keeps.
  private struct Mirrored {
    let server: MemoryServer
    let store: Store
    let path: String
    var states: [UInt64: Trees] = [:]

    init(seed: UInt64, rounds: Int) async throws {
      server = MemoryServer(seed: seed)
      path = ScratchFile.freshPath()
      store = try Store(
        at: path, mirror: server.serverLog, for: Shop.self, Order.self, Label.self,
        options: .quick)
      // The log begins with the first copy, so before the first commit that is restored.
      try await store.mirror?.settled()
      var shopping = RandomShopping(seed: seed)
      for _ in 0..<rounds {
        try shopping.write(to: store)
        states[try #require(try store.mirror?.status.committed)] = try store.everyPair()
      }
      try await store.mirror?.settled()
    }

    func end() {
      store.close()
      ScratchFile.remove(path)
    }
  }

  private func restored(
    _ server: MemoryServer, _ point: Store.RestorePoint
  ) throws -> Trees {
    try withScratchPath { path in
      try Store.restore(from: server.serverLog, to: path, at: point)
      #expect(!FileManager.default.fileExists(atPath: path + "-restore"))
      return try Store.using(path, Shop.self, Order.self, Label.self) { store in
        #expect(try store.verify().isClean)
        #expect(try store.environment.outboxHeader() == nil)
        return try store.everyPair().withoutFormat
      }
    }
  }

  @Test("Every commit since the log's state can be restored, and no earlier one")
  func points() async throws {
    let mirrored = try await Mirrored(seed: 11, rounds: 40)
    defer { mirrored.end() }
    let positions = mirrored.states.keys.sorted()
    let middle = positions[positions.count / 2]
    _ = try MemoryLog(mirrored.server).fold(through: middle, olderThan: 0)
    let points = try await Store.restorablePoints(in: mirrored.server.serverLog)
    #expect(points.positions == middle...positions[positions.count - 1])
    for position in positions {
      if position < middle {
        #expect(
          caught { _ = try restored(mirrored.server, .position(position)) }?.code == .notInLog)
      } else {
        let trees = try restored(mirrored.server, .position(position))
        #expect(trees == mirrored.states[position]?.withoutFormat, "\(position)")
      }
    }
    #expect(
      try restored(mirrored.server, .newest) == mirrored.store.everyPair().withoutFormat)
    let beyond = Store.RestorePoint.position(positions[positions.count - 1] + 1)
    #expect(caught { _ = try restored(mirrored.server, beyond) }?.code == .notInLog)
  }

  @Test("A time restores the last commit that the server had then")
  func times() async throws {
    let mirrored = try await Mirrored(seed: 12, rounds: 10)
    defer { mirrored.end() }
    let before = try mirrored.store.everyPair().withoutFormat
    let time = Date()
    try await Task.sleep(for: .milliseconds(20))
    var shopping = RandomShopping(seed: 99)
    for _ in 0..<10 { try shopping.write(to: mirrored.store) }
    try await mirrored.store.mirror?.settled()
    #expect(try restored(mirrored.server, .time(time)) == before)
    #expect(
      try restored(mirrored.server, .time(Date()))
        == mirrored.store.everyPair().withoutFormat)
    let early = Store.RestorePoint.time(Date(timeIntervalSince1970: 0))
    #expect(caught { _ = try restored(mirrored.server, early) }?.code == .notInLog)
  }

  @Test("A store that takes over continues the log, and the old one notices and refuses writes")
  func takeOver() async throws {
    let mirrored = try await Mirrored(seed: 13, rounds: 20)
    defer { mirrored.end() }
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    try await Store.takeOver(mirrored.server.serverLog, to: path)
    let successor = try Store(
      at: path, mirror: mirrored.server.serverLog, for: Shop.self, Order.self, Label.self,
      options: .quick)
    defer { successor.close() }
    try successor.saveAll([Shop(name: "of the successor")])
    try await successor.mirror?.settled()
    // Not shipped any more, and kept in the file.
    try mirrored.store.saveAll([Shop(name: "too late")])
    await #expect(throws: LarchError.self) { try await mirrored.store.mirror?.settled() }
    #expect(
      caught { try mirrored.store.saveAll([Shop(name: "refused")]) }?.code == .diverged)
    let names = try mirrored.store.everything(Shop.self).map(\.name)
    #expect(names.contains("too late") && !names.contains("refused"))
    #expect(try MemoryLog(mirrored.server).everything() == successor.everyPair())
  }

  @Test("A store that takes over is the writer before it has written anything")
  func takeOverDecides() async throws {
    let mirrored = try await Mirrored(seed: 18, rounds: 5)
    defer { mirrored.end() }
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    try await Store.takeOver(mirrored.server.serverLog, to: path)
    try mirrored.store.saveAll([Shop(name: "too late")])
    await #expect(throws: LarchError.self) { try await mirrored.store.mirror?.settled() }
    #expect(
      caught { try mirrored.store.saveAll([Shop(name: "refused")]) }?.code == .diverged)
    let successor = try Store(
      at: path, mirror: mirrored.server.serverLog, for: Shop.self, Order.self, Label.self,
      options: .quick)
    defer { successor.close() }
    try successor.saveAll([Shop(name: "of the successor")])
    try await successor.mirror?.settled()
    #expect(try MemoryLog(mirrored.server).everything() == successor.everyPair())
  }

  @Test("A store with commits that no server has is not replaced", arguments: [false, true])
  func unshipped(takesOver: Bool) async throws {
    let mirrored = try await Mirrored(seed: 15, rounds: 5)
    defer { mirrored.end() }
    let log = mirrored.server.serverLog
    let backup = ScratchFile.freshPath()
    defer { ScratchFile.remove(backup) }
    try await mirrored.store.backup(to: backup)
    mirrored.store.close()
    try Store.using(mirrored.path, Shop.self, Order.self, Label.self) { store in
      try store.saveAll([Shop(name: "only here")])
      let pairs = try store.everyPair()
      var errors = [
        caught { try Store.restore(from: backup, to: mirrored.path, replacing: true) }
      ]
      let restore = {
        _ =
          try takesOver
          ? Store.takeOver(log, to: mirrored.path, replacing: true)
          : Store.restore(from: log, to: mirrored.path, replacing: true)
      }
      errors.append(caught(restore))
      for error in errors {
        #expect(error?.code == .notShipped && error?.context.detail == "1 commit")
      }
      #expect(try store.everyPair() == pairs)
      // Who ends the mirror has said that nobody needs them.
      try store.endMirror()
      try restore()
      #expect(try store.everything(Shop.self).contains { $0.name == "only here" } == false)
    }
  }

  @Test("Restoring a store in place leaves its log alone until startOver")
  func restoredInPlace() async throws {
    let mirrored = try await Mirrored(seed: 16, rounds: 20)
    defer { mirrored.end() }
    let log = mirrored.server.serverLog
    let points = try await Store.restorablePoints(in: log)
    let early = points.positions.lowerBound + UInt64(points.positions.count) / 2
    #expect(early < points.positions.upperBound)
    let commit = try await Store.restore(
      from: log, to: mirrored.path, at: .position(early), replacing: true)
    #expect(commit.position == early && commit.time <= points.newest)
    #expect(commit.time >= points.oldest)
    for _ in 0..<2 {
      try mirrored.store.saveAll([Shop(name: "after it \(UInt64.random(in: 0 ... .max))")])
      let error = await #expect(throws: LarchError.self) {
        try await mirrored.store.mirror?.settled()
      }
      #expect(error?.code == .diverged && error?.message.contains("was restored") == true)
      #expect(try await Store.restorablePoints(in: log).positions == points.positions)
    }
    let newest = points.positions.upperBound
    #expect(
      try restored(mirrored.server, .position(newest)) == mirrored.states[newest]?.withoutFormat)
    // It was the wrong commit, and what came after that is not wanted.
    #expect(
      caught { try Store.restore(from: log, to: mirrored.path, replacing: true) }?.code
        == .notShipped)
    try mirrored.store.mirror?.startOver()
    try await mirrored.store.mirror?.settled()
    #expect(try MemoryLog(mirrored.server).everything() == mirrored.store.everyPair())
    try mirrored.store.saveAll([Shop(name: "shipped again")])
    try await mirrored.store.mirror?.settled()
    #expect(try MemoryLog(mirrored.server).everything() == mirrored.store.everyPair())
  }

  @Test("A store that was restored in place can be restored again, and taken over")
  func restoredAgain() async throws {
    let mirrored = try await Mirrored(seed: 17, rounds: 10)
    defer { mirrored.end() }
    let log = mirrored.server.serverLog
    let first = try await Store.restorablePoints(in: log).positions.lowerBound
    try await Store.restore(
      from: log, to: mirrored.path, at: .position(first), replacing: true)
    let newest = try await Store.restore(from: log, to: mirrored.path, replacing: true)
    #expect(
      try mirrored.store.everyPair().withoutFormat
        == mirrored.states[newest.position]?.withoutFormat)
    // Then the log goes on where it is.
    try await Store.takeOver(log, to: mirrored.path, replacing: true)
    mirrored.store.close()
    let store = try Store(
      at: mirrored.path, mirror: log, for: Shop.self, Order.self, Label.self, options: .quick)
    defer { store.close() }
    try store.saveAll([Shop(name: "the next")])
    try await store.mirror?.settled()
    #expect(try await Store.restorablePoints(in: log).positions.lowerBound == first)
    #expect(try MemoryLog(mirrored.server).everything() == store.everyPair())
  }

  @Test("An empty log, a path that is taken, and a path of an open store")
  func refusals() async throws {
    let empty = MemoryServer()
    #expect(caught { _ = try restored(empty, .newest) }?.code == .logNotFound)
    #expect(
      caught { _ = try Store.restorablePoints(in: empty.serverLog) }?.code == .logNotFound)
    let mirrored = try await Mirrored(seed: 14, rounds: 5)
    defer { mirrored.end() }
    let error = caught {
      try Store.restore(from: mirrored.server.serverLog, to: mirrored.path)
    }
    #expect(error?.code == .fileExists)
    // As with a backup, whoever has the store open sees the restored one.
    let before = try mirrored.store.everyPair().withoutFormat
    try await Store.restore(
      from: mirrored.server.serverLog, to: mirrored.path, replacing: true)
    #expect(try mirrored.store.everyPair().withoutFormat == before)
  }
}

extension Trees {
  /// Without what says whether commits are recorded, and how often the catalog has changed.
  var withoutFormat: Trees {
    mapValues { pairs in
      pairs.filter { ![Array("format".utf8), Array("generation".utf8)].contains($0[0]) }
    }
  }
}
