import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The events of a store from its first opening to its last closing.
@Suite("The log of a day")
struct DayTests {
  struct Place: Record {
    static let collectionName = "Place"
    var id = RecordID<Place>()
    var name: String
  }

  struct IndexedPlace: Record {
    static let collectionName = "Place"
    var id = RecordID<IndexedPlace>()
    var name: String
    static let schema = Schema<IndexedPlace> { Index(\.name) }
  }

  @Test("The log has exactly the events, in their order")
  func day() throws {
    try withScratchPath { path in
      let messages = Messages()
      var options = Store.Options.quick
      options.log = { messages.add($0) }
      options.slowWrite = nil
      options.slowRead = nil
      options.initialMapSize = 256 << 10
      func expect(_ events: [LogMessage.Event], sourceLocation: SourceLocation = #_sourceLocation) {
        let found = messages.take()
        #expect(found.map(\.event) == events, "\(found)", sourceLocation: sourceLocation)
        #expect(
          found.allSatisfy { $0.context.path == path.realPath }, "\(found)",
          sourceLocation: sourceLocation)
      }
      // Morning: a new file.
      var store = try Store(at: path, for: Place.self, options: options)
      expect([.schemaChanged, .opened])
      // Work that tells of nothing.
      try store.write { tx throws in
        for number in 0..<50 {
          var place = Place(name: "\(number)")
          try tx.save(&place)
        }
      }
      _ = try store.fetch(Place.where { $0.name == "7" })
      _ = try store.statistics()
      #expect(try store.verify().isClean)
      #expect(throws: CancellationError.self) {
        try store.write { _ throws in throw CancellationError() }
      }
      expect([])
      // More than fits into the map, so the map doubles once.
      try store.write { tx throws in
        var place = Place(name: String(repeating: "x", count: 300_000))
        try tx.save(&place)
      }
      expect([.mapGrown])
      store.close()
      store.close()
      expect([.closed])
      // Noon: a new version of the program, with an index, and with enough space.
      options.initialMapSize = nil
      let indexed = try Store(at: path, for: IndexedPlace.self, options: options)
      expect([.schemaChanged, .indexBuilt, .opened])
      // Afternoon: a slow operation of each kind.
      indexed.close()
      expect([.closed])
      options.slowWrite = .zero
      options.slowRead = .zero
      let watched = try Store(at: path, for: IndexedPlace.self, options: options)
      expect([.opened])
      _ = try watched.fetch(IndexedPlace.where { $0.name == "7" })
      expect([.slowRead])
      try watched.write { tx throws in _ = try tx.delete(IndexedPlace.where { $0.name == "7" }) }
      // The wait for the write lock is also longer than zero.
      expect([.writerWait, .slowWrite])
      // Night: the disk fails once, and LMDB stops the environment; the next operation opens the
      // file again.
      watched.environment.readers.poison()
      _ = try watched.count(IndexedPlace.all)
      expect([.recovered, .slowRead])
      // Another process makes the file larger than the map.
      watched.environment.map.bytes = 0
      try watched.environment.adoptMapSize()
      expect([.followed])
      watched.close()
      expect([.closed])
      store = try Store(at: path, for: IndexedPlace.self, options: options.with { $0.log = nil })
      store.close()
      expect([])
    }
  }

  @Test("A storage message is delivered on its thread, after that released the write lock")
  func threads() throws {
    let messages = Messages()
    let threads = Messages()
    var options = Store.Options.quick
    options.initialMapSize = 128 << 10
    let main = ThreadIdentity.current
    options.log = { message in
      messages.add(message)
      if ThreadIdentity.current == main { threads.add(message) }
    }
    let store = try Store.temporary(for: Place.self, options: options)
    _ = messages.take()
    _ = threads.take()
    let done = DispatchSemaphore(value: 0)
    Thread {
      try? store.write { tx throws in
        var place = Place(name: String(repeating: "x", count: 400_000))
        try tx.save(&place)
      }
      done.signal()
    }.start()
    done.wait()
    #expect(messages.all(.mapGrown).count >= 1)
    #expect(threads.all(.mapGrown).isEmpty)
  }
}

extension String {
  /// The path as the store has it, whose directory may be reached through a link.
  fileprivate var realPath: String {
    URL(fileURLWithPath: self).deletingLastPathComponent().resolvingSymlinksInPath()
      .appending(path: URL(fileURLWithPath: self).lastPathComponent).path
  }
}
