import LarchTestSupport
import Testing

@testable import Larch

/// A listener that is slow has one event for all commits that wait for it.
@Suite("Commits that wait together")
struct MergedEventTests {
  private func listener(_ owner: AnyObject, commits: ClosedRange<UInt64>) -> ChangeListener {
    let listener = ChangeListener(owner: owner)
    var waiting: [ListenerWaiter] = []
    for number in commits {
      let changes = CommittedChanges(trees: TreeSet([3]), records: [:])
      listener.receive(.commit(number, changes), &waiting)
    }
    return listener
  }

  @Test("An event of many commits hides those of a state in between")
  func between() throws {
    let store = try Store.temporary(for: CountedItem.self)
    // The first 65 are one event; the others follow it.
    for transaction in [UInt64(1), 30, 64] {
      #expect(listener(store, commits: 1...70).take(upTo: transaction) == nil)
    }
    // A state before all of them, with the last of them, with some that follow, and with all.
    for (transaction, count) in [(UInt64(0), 0), (65, 1), (67, 3), (70, 6), (99, 6)] {
      let listener = listener(store, commits: 1...70)
      #expect(listener.take(upTo: transaction)?.count == count)
      #expect(listener.take().count == 6 - count)
    }
  }

  @Test("So does one of merged events, which is merged again")
  func again() throws {
    let store = try Store.temporary(for: CountedItem.self)
    let listener = listener(store, commits: 10...300)
    #expect(listener.take(upTo: 10) == nil)
    #expect(listener.take(upTo: 9)?.isEmpty == true)
    #expect(listener.take(upTo: 300)?.isEmpty == false)
    #expect(listener.take().isEmpty)
  }
}
