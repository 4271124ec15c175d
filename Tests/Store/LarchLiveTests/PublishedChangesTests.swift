import LarchTestSupport
import Testing

@testable import Larch

@Suite("What changed since the last published commit")
struct PublishedChangesTests {
  private typealias Values = [UInt8: UInt8]

  private func difference(_ old: Values, _ new: Values) -> [StoredChange] {
    (UInt8.min...UInt8.max).filter { old[$0] != new[$0] }.map { id in
      StoredChange(id: [id], before: old[id].map { [$0] }, after: new[id].map { [$0] })
    }
  }

  private func commit(_ old: Values, _ new: Values, hasRecords: Bool = true) -> ChangeEvent {
    let records = hasRecords ? [UInt32(3): difference(old, new)] : [:]
    return .commit(1, CommittedChanges(trees: TreeSet([3]), records: records))
  }

  @Test("own commits and those of others in any mixture: the rest is what changed since then")
  func mixture() {
    var random = SeededGenerator(seed: 5)
    func changed(_ values: Values) -> Values {
      var values = values
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        let id = UInt8.random(in: 0..<6, using: &random)
        values[id] = Bool.random(using: &random) ? UInt8.random(in: 0..<3, using: &random) : nil
      }
      return values
    }
    for round in 0..<5_000 {
      let start = changed(changed([:]))
      var (known, published) = (start, PublishedChanges())
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        let next = changed(known)
        published.add(commit(known, next))
        known = next
      }
      // Of others, or the own commit that is not published yet.
      let newest = changed(known)
      let later = published.later(difference(start, newest), of: 3)
      #expect(later == difference(known, newest), "round \(round)")
      #expect(published.later([], of: 4) == [])
    }
  }

  @Test("without the records of an own commit, or with one that is not known, there is no answer")
  func unknown() {
    var published = PublishedChanges()
    published.add(nil)
    #expect(published.later([], of: 3) == [])
    published.add(commit([1: 1], [1: 2], hasRecords: false))
    #expect(published.later([], of: 3) == nil)
    #expect(published.later([], of: 4) == [])
    var sifting = Sifting()
    sifting.leftOut = TreeSet([6])
    published.add(
      .commit(
        2,
        CommittedChanges(
          trees: TreeSet([5, 6]), records: ChangedRecords([UInt32(5): [], 6: []]),
          sifting: sifting)))
    #expect(published.later([], of: 5) == [])
    #expect(published.later([], of: 6) == nil)
    published.add(.anything(5))
    #expect(published.later([], of: 4) == nil)
  }

  @Test("changes that do not begin with the same value give no answer")
  func odd() {
    var published = PublishedChanges()
    published.add(commit([1: 1], [1: 2]))
    let other = [StoredChange(id: [1], before: [7], after: [8])]
    #expect(published.later(other, of: 3) == nil)
  }

  @Test("it keeps a bounded number of commits")
  func bounded() {
    var published = PublishedChanges()
    for _ in 0..<64 { published.add(commit([1: 1], [1: 2])) }
    #expect(published.later([], of: 4) == [])
    published.add(commit([1: 1], [1: 2]))
    #expect(published.later([], of: 4) == nil)
  }
}
