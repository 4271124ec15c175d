import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

@Suite("Several who use one log at once", needsServer)
struct SideBySideTests {
  @Test("A follower sees every entry once and in order while others append and fold")
  func following() throws {
    let server = try PostgresServer.shared.get()
    let store = freshName()
    let logs = try (0..<6).map { _ in try server.log(store) }
    defer { for log in logs { log.close() } }
    try #require(try logs[0].beginSome())
    let goal = 300
    // How far both followers are: what they have not seen is not folded away.
    let seen = Locked<[UInt64]>([0, 0])
    let isOver = Locked(false)
    onThreads(6) { number in
      let log = logs[number]
      do {
        switch number {
        case 0, 1:
          while true {
            guard let newest = try log.head()?.newest else { break }
            if newest.position >= goal { break }
            _ = try log.append(entries(Int.random(in: 1...4), after: newest))
          }
        case 2, 3:
          var place = LogPlace.start
          while place.position < goal {
            try log.wait(after: place.position, seconds: 60)
            guard case .entries(let found) = try log.tail(after: place, limit: 2000) else {
              throw PostgresServer.Failure(text: "the tail of a place that was kept is gone")
            }
            for entry in found {
              #expect(entry.before == place.token && entry.place.position == place.position + 1)
              place = entry.place
            }
            seen.withLock { $0[number - 2] = place.position }
          }
          // Whoever is last ends the test.
          if seen.withLock({ $0.allSatisfy { $0 >= goal } }) { isOver.withLock { $0 = true } }
        default:
          while !isOver.withLock({ $0 }) {
            let position = seen.withLock { $0.min()! }
            let folded = try log.fold(through: position)
            #expect(folded.position >= position)
            var pairs = 0
            let place = try log.state { _, _, _ in pairs += 1 }
            // Each entry adds one pair.
            #expect(pairs == 60 + Int(place.position))
          }
        }
      } catch {
        Issue.record(error)
        isOver.withLock { $0 = true }
      }
    }
    #expect(try logs[0].head()!.newest.position >= goal)
  }

  @Test("Of several who begin a log at once, one does")
  func beginning() throws {
    let server = try PostgresServer.shared.get()
    let store = freshName()
    let logs = try (0..<4).map { _ in try server.log(store) }
    defer { for log in logs { log.close() } }
    var newest: LogPlace?
    for round in 0..<5 {
      let winners = Locked<[Int]>([])
      let expected = newest
      onThreads(4) { number in
        do {
          let place = LogPlace(
            position: UInt64(10 * round), token: LogToken(random: UInt64(number), checksum: 1))
          if try logs[number].beginSome(at: place, expecting: expected, seed: UInt8(number)) {
            winners.withLock { $0.append(number) }
          }
        } catch { Issue.record(error) }
      }
      let all = winners.withLock { $0 }
      try #require(all.count == 1)
      newest = try logs[0].head()?.newest
      #expect(newest?.token.random == UInt64(all[0]))
      #expect(try logs[0].stateText()[1].hasSuffix("[\(all[0]), 0]"))
    }
  }

  @Test("Whoever waits too long for a first copy of another gives up, and uses the log afterwards")
  func waiting() throws {
    let server = try PostgresServer.shared.get()
    let store = freshName()
    let first = try server.log(store)
    let second = try server.log(store) { $0.answerTimeout = 2 }
    defer {
      first.close()
      second.close()
    }
    #expect(try second.head() == nil)
    let isDone = try first.begin(at: .start, expecting: nil) { writer in
      try writer.begin(records)
      for _ in 0..<3 {
        let error = caught { _ = try second.beginSome() }
        #expect(error?.code == .unavailable)
        #expect(try second.head() == nil)
      }
      #expect(caught { _ = try second.fold(through: 1) }?.code == .unavailable)
      #expect(try second.head() == nil)
    }
    #expect(isDone)
    #expect(try second.beginSome(expecting: .start))
  }

  @Test("Times that are none do not stop anything")
  func strangeTimes() throws {
    let server = try PostgresServer.shared.get()
    for time in [Double.infinity, .nan, -1, 0, 1e300] {
      let log = try server.log(freshName()) {
        $0.answerTimeout = time
        $0.connectTimeout = time
      }
      defer { log.close() }
      let error = caught { _ = try log.head() }
      // Nothing comes within a millisecond.
      #expect(error == nil || error?.code == .unavailable)
      if time > 1 {
        #expect(try log.beginSome())
        #expect(try log.append([entry(after: .start)]))
        #expect(try log.fold(through: .max, olderThan: 0).position == 1)
        try log.wait(after: 0, seconds: .nan)
        try log.wait(after: 0, seconds: -1)
      }
    }
  }

  @Test("Stores with other names in the same tables are not touched")
  func otherStores() throws {
    let server = try PostgresServer.shared.get()
    let schema = freshName()
    func log(_ store: String) throws -> PostgresLog { try server.log(store) { $0.schema = schema } }
    let (ada, bo) = (try log("ada"), try log("bo"))
    defer {
      ada.close()
      bo.close()
    }
    try #require(try ada.beginSome(seed: 1) && bo.beginSome(seed: 2))
    let first = entries(4, after: .start)
    try #require(try ada.append(first))
    #expect(try bo.head()?.newest == .start)
    let state = try bo.stateText()
    _ = try ada.fold(through: 3)
    try #require(try ada.beginSome(at: first[0].place, expecting: first[3].place, seed: 3))
    #expect(try bo.stateText() == state)
    #expect(try bo.append(entries(1, after: .start)))
    #expect(try server.text("SELECT count(*) FROM \(schema).cell") == "60")
  }

  @Test("A state is read as it was at one moment, while the log is folded and begun again")
  func oneMoment() throws {
    let server = try PostgresServer.shared.get()
    let store = freshName()
    let (reader, writer) = (try server.log(store), try server.log(store))
    defer {
      reader.close()
      writer.close()
    }
    try #require(try writer.beginSome(pairs: 2000))
    let more = entries(20, after: .start)
    try #require(try writer.append(more))
    var lines = 0
    var isChanged = false
    let place = try reader.state { _, _, _ in
      lines += 1
      if !isChanged {
        isChanged = true
        _ = try writer.fold(through: 10)
        #expect(try writer.beginSome(at: more[0].place, expecting: more[19].place, pairs: 1))
      }
    }
    #expect(place == .start)
    #expect(lines == 4000)
    #expect(try reader.stateText().count == 3)
  }
}
