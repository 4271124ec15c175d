import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

/// `LARCH_POSTGRES_CUTS=all` cuts an append at every byte, and a first copy, which takes longer, at every
/// eleventh.
@Suite("A connection that is cut after any byte", needsServer)
struct CutTests {
  static let isThorough = ProcessInfo.processInfo.environment["LARCH_POSTGRES_CUTS"] == "all"

  /// The numbers of bytes after which to cut, up to those that pass when nothing is cut.
  private func places(_ all: Int, _ count: Int, step thorough: Int) -> [Int] {
    // The last bytes are the ends of the messages that matter most.
    let step = Self.isThorough ? thorough : max(1, all / count)
    return Array(stride(from: 1, to: all, by: step)) + Array(max(1, all - 5)...all)
  }

  @Test(
    "An append is there as a whole or not at all, and the same again decides",
    arguments: CuttingProxy.Direction.allCases)
  func append(direction: CuttingProxy.Direction) throws {
    let server = try PostgresServer.shared.get()
    let proxy = try CuttingProxy(server: server.directory + "/s", port: server.port)
    defer { proxy.close() }
    let url = server.url.replacing(server.directory + "/s", with: proxy.directory)
    let store = freshName()
    let direct = try server.log(store)
    let log = try server.log(store, at: url)
    defer {
      log.close()
      direct.close()
    }
    try #require(try direct.beginSome())
    var place = LogPlace.start
    // Without a cut, to count the bytes.
    _ = try log.head()
    proxy.cut(after: .max, direction)
    let whole = entries(3, after: place)
    #expect(try log.append(whole))
    place = whole[2].place
    let all = proxy.heal()[direction, default: 0]
    #expect(all > 50)
    var outcomes: [String: Int] = [:]
    for bytes in places(all, 30, step: 1) {
      _ = try log.head()
      let batch = entries(3, after: place)
      proxy.cut(after: bytes, direction)
      var isUnknown = false
      // Whether the error says that nothing has happened.
      var isDenied = false
      do {
        #expect(try log.append(batch), "cut after \(bytes)")
      } catch let error as LarchError {
        #expect(error.code == .unavailable, "cut after \(bytes): \(error)")
        isUnknown = true
        isDenied = error.underlying is CallHadNoEffect
      }
      proxy.heal()
      let found = try direct.allEntries(after: place).map(\.place)
      #expect(found.isEmpty || found == batch.map(\.place), "cut after \(bytes)")
      // A new connection that is refused says nothing of the call over the old one.
      #expect(found.isEmpty || !isDenied, "cut after \(bytes)")
      outcomes[
        isUnknown ? found.isEmpty ? "not there" : "there, but not told" : "told", default: 0] += 1
      #expect(try log.append(batch), "again after a cut after \(bytes)")
      #expect(try direct.allEntries(after: place).map(\.place) == batch.map(\.place))
      place = batch[2].place
    }
    // Otherwise the proxy cut nothing.
    #expect(outcomes["not there", default: 0] + outcomes["there, but not told", default: 0] > 3)
    if direction == .toClient { #expect(outcomes["there, but not told", default: 0] > 0) }
  }

  @Test(
    "A first copy replaces what was there as a whole or not at all",
    arguments: CuttingProxy.Direction.allCases)
  func begin(direction: CuttingProxy.Direction) throws {
    let server = try PostgresServer.shared.get()
    let proxy = try CuttingProxy(server: server.directory + "/s", port: server.port)
    defer { proxy.close() }
    let url = server.url.replacing(server.directory + "/s", with: proxy.directory)
    let store = freshName()
    let direct = try server.log(store)
    let log = try server.log(store, at: url)
    defer {
      log.close()
      direct.close()
    }
    try #require(try direct.beginSome())
    _ = try log.head()
    proxy.cut(after: .max, direction)
    try #require(try log.beginSome(expecting: .start))
    let all = proxy.heal()[direction, default: 0]
    #expect(all > 100)
    var state = try direct.stateText()
    var newest = LogPlace.start
    var failures = 0
    for (number, bytes) in places(all, 30, step: 11).enumerated() {
      _ = try log.head()
      let next = LogPlace(position: UInt64(number + 1), token: LogToken(random: 7, checksum: 7))
      proxy.cut(after: bytes, direction)
      var isDone: Bool?
      do {
        isDone = try log.beginSome(
          at: next, expecting: newest, seed: UInt8(truncatingIfNeeded: number))
      } catch let error as LarchError {
        #expect(error.code == .unavailable, "cut after \(bytes): \(error)")
        failures += 1
      }
      proxy.heal()
      // The server may be about to commit; this waits for it.
      _ = try direct.fold(through: 0)
      let place = try direct.head()?.newest
      if isDone == true { #expect(place == next) }
      if place == next {
        newest = next
        state = try direct.stateText()
        #expect(state.count == 61)
        #expect(state[1].hasSuffix("[\(UInt8(truncatingIfNeeded: number)), 0]"))
      } else {
        #expect(place == newest, "cut after \(bytes)")
        #expect(try direct.stateText() == state, "cut after \(bytes)")
      }
    }
    #expect(failures > 3)
    // What the copies that failed had sent is nowhere, and what old ones left was removed.
    let rows = try server.text(
      """
      SELECT count(*) FROM larch.cell JOIN larch.store USING (era)
      WHERE name = '\(store)'
      """)
    #expect(rows == "30")
  }
}
