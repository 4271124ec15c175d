import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct ArrivalsTests {
  private func place(_ position: UInt64, token: UInt64 = 1) -> LogPlace {
    LogPlace(position: position, token: LogToken(random: token, checksum: position))
  }

  @Test func `a place that is there needs no wait`() async {
    let arrivals = Arrivals()
    arrivals.note([place(1), place(2), place(3)])
    #expect(arrivals.outcome(of: place(3)) == .arrived)
    #expect(arrivals.outcome(of: place(1)) == .arrived)
    #expect(arrivals.outcome(of: place(4)) == nil)
    #expect(await arrivals.wait(for: place(2), seconds: 3600) == .arrived)
  }

  @Test func `another entry at the position means that the commit was lost`() async {
    let arrivals = Arrivals()
    async let waiting = arrivals.wait(for: place(2, token: 9), seconds: 3600)
    arrivals.note([place(1)])
    arrivals.note([place(2), place(3)])
    #expect(await waiting == .lost)
    #expect(arrivals.outcome(of: place(3, token: 9)) == .lost)
  }

  @Test func `a wait ends when its time has passed, when it is cancelled, and when all ends`()
    async throws
  {
    let arrivals = Arrivals()
    #expect(await arrivals.wait(for: place(1), seconds: 0) == .timedOut)
    #expect(await arrivals.wait(for: place(1), seconds: 0.01) == .timedOut)
    let cancelled = Task { await arrivals.wait(for: place(1), seconds: 3600) }
    cancelled.cancel()
    #expect(await cancelled.value == .cancelled)
    let ended = Task { await arrivals.wait(for: place(1), seconds: 3600) }
    async let blocked = onThread { [first = place(1)] in Self.block(arrivals, first) }
    try? await Task.sleep(for: .milliseconds(20))
    arrivals.close()
    #expect(await ended.value == .closed)
    #expect(try await blocked == .closed)
    #expect(await arrivals.wait(for: place(1), seconds: 3600) == .closed)
  }

  private static func block(_ arrivals: Arrivals, _ place: LogPlace) -> Arrivals.Outcome {
    arrivals.wait(for: place, seconds: 3600)
  }

  @Test func `a thread wakes when its place comes, and not before`() async throws {
    let arrivals = Arrivals()
    async let outcome = onThread { [second = place(2)] in Self.block(arrivals, second) }
    arrivals.note([place(1)])
    try? await Task.sleep(for: .milliseconds(20))
    arrivals.note([place(2)])
    #expect(try await outcome == .arrived)
  }

  @Test func `a copy that was made again forgets the tokens of its lost past`() {
    let arrivals = Arrivals()
    arrivals.note((1...9).map { place($0, token: 5) })
    arrivals.note([place(4)])
    #expect(arrivals.outcome(of: place(5)) == nil)
    arrivals.note([place(5), place(6)])
    #expect(arrivals.outcome(of: place(5)) == .arrived)
    #expect(arrivals.outcome(of: place(6, token: 5)) == .lost)
    arrivals.note([place(7, token: 8)], isAnew: true)
    #expect(arrivals.outcome(of: place(6, token: 8)) == .arrived)
  }

  @Test func `a place that another thread tells of late takes nothing back`() {
    let arrivals = Arrivals()
    arrivals.note([place(10), place(11)], isRising: true)
    arrivals.note([place(10)], isRising: true)
    #expect(arrivals.outcome(of: place(11)) == .arrived)
    #expect(arrivals.outcome(of: place(11, token: 2)) == .lost)
  }

  @Test func `the newest tokens are known, and the oldest are forgotten`() {
    var random = SeededGenerator(seed: 11)
    var tokens = RecentTokens()
    var position: UInt64 = 0
    for step in 0..<20_000 {
      // Now and then places are left out, as when another process has applied entries.
      position += Int.random(in: 0..<200, using: &random) == 0 ? 7 : 1
      tokens.add(place(position, token: UInt64(step)))
      #expect(!tokens.contradict(place(position, token: UInt64(step))))
      #expect(tokens.contradict(place(position, token: UInt64(step) + 1)))
    }
    #expect(!tokens.contradict(place(1, token: 999_999)))
  }

  @Test func `many waiters each get the outcome of their place`() async {
    let arrivals = Arrivals()
    await withTaskGroup(of: (UInt64, Arrivals.Outcome).self) { group in
      for position in UInt64(1)...400 {
        group.addTask {
          let token: UInt64 = position % 7 == 0 ? 2 : 1
          return (
            position,
            await arrivals.wait(for: self.place(position, token: token), seconds: 3600)
          )
        }
      }
      group.addTask {
        for position in UInt64(1)...400 {
          arrivals.note([self.place(position)])
          if position % 50 == 0 { await Task.yield() }
        }
        return (0, .arrived)
      }
      for await (position, outcome) in group {
        #expect(outcome == (position % 7 == 0 && position > 0 ? .lost : .arrived))
      }
    }
  }
}
