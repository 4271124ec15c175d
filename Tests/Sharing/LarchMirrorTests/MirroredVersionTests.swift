import LarchTestSupport
import Testing

@testable import Larch

@Suite("Versions of a mirrored store")
struct MirroredVersionTests {
  @Test("An observer of each write has the places of those that it is far behind")
  func placesOfEach() async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(
      at: path, mirror: MemoryServer().serverLog, for: Shop.self, Order.self, Label.self,
      options: .quick)
    defer { store.close() }
    try store.saveAll([Shop(name: "a")])
    let states = store.observe(Shop.all, delivery: .each).makeAsyncIterator()
    let first = try #require(try await states.next()?.version.position)
    for number in 1...400 { try store.saveAll([Shop(name: "\(number)")]) }
    var count = 0
    while count < 400, let state = try await states.next() {
      count += state.writeCount
      #expect(state.version.position == first + UInt64(count))
    }
  }

  @Test("A place that is noted late does not hide a later one")
  func lateNote() {
    let places = RecentPlaces()
    for transaction in [3, 4, 6, 7, 5, 7] as [UInt64] {
      let token = LogToken(random: transaction, checksum: 1)
      places.note(LogPlace(position: transaction, token: token), after: transaction)
    }
    #expect((2...8).map { places.place(after: $0)?.position } == [nil, 3, 4, 5, 6, 7, nil])
  }
}
