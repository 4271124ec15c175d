import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private struct Plain: Record {
  static let collectionName = "Thing"
  var id = RecordID<Plain>()
  var name: String
}

private struct Wider: Record {
  static let collectionName = "Thing"
  var id = RecordID<Wider>()
  var name: String
  var size: Int?

  static let schema = Schema<Wider> { Index(\.name) }
}

/// Whose fields come and go, so that records have several shapes.
private struct Loose: Record, Equatable {
  var id = RecordID<Loose>()
  var values: [String: Int] = [:]
  var a: Int?
  var b: String?
  var c: Double?
}

private struct Counted: Record, Timestamped, Equatable {
  var id = RecordID<Counted>()
  var version = 0
  var createdAt: Date?
  var updatedAt: Date?
  var count = 0

  static let schema = Schema<Counted> { Versioned(\.version) }
}

@Suite("The schema of a shared store")
struct SharedSchemaTests {
  private func open<R: Record>(_ type: R.Type, _ server: MemoryServer, _ path: String) throws
    -> Store
  {
    try Store(sharing: server.serverLog, copy: path, for: R.self, options: .quick)
  }

  @Test("New declarations reach every copy, and an older program is told to open again")
  func changed() throws {
    let server = MemoryServer()
    let paths = [ScratchFile.freshPath(), ScratchFile.freshPath()]
    defer { paths.forEach(ScratchFile.remove) }
    let old = try open(Plain.self, server, paths[0])
    defer { old.close() }
    try old.saveAll((0..<500).map { Plain(name: "thing \($0)") })
    let new = try open(Wider.self, server, paths[1])
    defer { new.close() }
    #expect(try new.count(Wider.where { $0.name == "thing 7" }) == 1)
    try new.saveAll([Wider(name: "wide", size: 3)])
    try old.environment.catchUpWithLog()
    // It has no index of this name, and would not keep it.
    #expect(caught { try old.saveAll([Plain(name: "more")]) }?.code == .schemaChanged)
    try expectEqual([new], server)
    old.close()
    let again = try open(Wider.self, server, paths[0])
    defer { again.close() }
    #expect(try again.count(Wider.all) == 501)
    try expectEqual([new, again], server)
  }

  @Test("Several servers that open with new declarations at once build the index once, and right")
  func indexBuilds() throws {
    let server = MemoryServer(seed: 2)
    let paths = (0..<4).map { _ in ScratchFile.freshPath() }
    defer { paths.forEach(ScratchFile.remove) }
    let first = try open(Plain.self, server, paths[0])
    try first.saveAll((0..<3000).map { Plain(name: "thing \($0 % 100)") })
    first.close()
    let stores = Locked<[Store]>([])
    defer { stores.withLock { $0 }.forEach { $0.close() } }
    try onThreads(4) { place in
      let store = try Store(
        sharing: server.serverLog, copy: paths[place], for: Wider.self,
        options: .quick.with { $0.indexBatchSize = 100 })
      stores.withLock { $0.append(store) }
    }
    try expectEqual(stores.withLock { $0 }, server)
    for store in stores.withLock({ $0 }) {
      #expect(try store.count(Wider.where { $0.name == "thing 5" }) == 30)
    }
  }

  @Test("A migration runs once, whichever servers open at the same time")
  func migrations() throws {
    let server = MemoryServer(seed: 5)
    let paths = (0..<3).map { _ in ScratchFile.freshPath() }
    defer { paths.forEach(ScratchFile.remove) }
    let first = try open(Plain.self, server, paths[0])
    try first.saveAll((0..<50).map { Plain(name: "\($0)") })
    first.close()
    let stores = Locked<[Store]>([])
    defer { stores.withLock { $0 }.forEach { $0.close() } }
    try onThreads(3) { place in
      let store = try Store(
        sharing: server.serverLog, copy: paths[place], for: Plain.self,
        migrations: [
          Migration("mark") { tx in
            try tx.rewrite(Plain.self, from: Plain.self) { old in
              var new = old
              new.name += "!"
              return new
            }
          }
        ], options: .quick)
      stores.withLock { $0.append(store) }
    }
    try expectEqual(stores.withLock { $0 }, server)
    let names = try stores.withLock { $0 }[0].everything(Plain.self).map(\.name)
    #expect(names == (0..<50).map { "\($0)!" })
  }

  @Test("Shapes that two servers make at once do not take each other's numbers")
  func shapes() throws {
    let server = MemoryServer(seed: 6)
    try withCopies(4, of: server, Loose.self) { stores in
      try onThreads(4) { place in
        var random = SeededGenerator(seed: UInt64(place))
        for number in 0..<60 {
          var item = Loose()
          if Bool.random(using: &random) { item.a = number }
          if Bool.random(using: &random) { item.b = "\(number)" }
          if Bool.random(using: &random) { item.c = Double(number) }
          item.values = ["\(place)": number]
          let saved = try stores[place].write { tx in
            try tx.save(&item)
            return item
          }
          #expect(try stores[place].find(Loose.self, saved.id) == saved)
        }
      }
      try expectEqual(stores, server)
      #expect(try stores[3].everything(Loose.self).count == 240)
    }
  }

  @Test("Versioned records lose no save, and a stale one is a conflict on every server")
  func versioned() throws {
    let server = MemoryServer(seed: 7)
    try withCopies(3, of: server, Counted.self) { stores in
      var item = Counted()
      try stores[0].write { tx in try tx.save(&item) }
      let id = item.id
      // A write that finds nothing changes nothing, and so is a read of an older state.
      for store in stores { try store.environment.catchUpWithLog() }
      try onThreads(3) { place in
        for _ in 0..<50 {
          while true {
            do {
              try stores[place].write { tx in
                guard var current = try tx.find(Counted.self, id) else { return }
                current.count += 1
                try tx.save(&current)
              }
              break
            } catch let error as LarchError where error.code == .conflict {
              // An undone run had the number that another server has saved: refused once.
            }
          }
        }
      }
      try expectEqual(stores, server)
      let last = try #require(try stores[0].find(Counted.self, id))
      #expect(last.count == 150)
      #expect(last.version >= item.version + 150)
      // A stale record is a conflict on every server.
      #expect(caught { try stores[1].write { tx in try tx.save(&item) } }?.code == .conflict)
    }
  }
}
