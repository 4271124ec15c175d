import LarchTestSupport
import Testing

@testable import Larch

@Suite("Observers of an index whose keys are not known")
struct UnknownKeyObserverTests {
  private enum Old {
    struct Part: Record {
      var id: Int
      var name: String
      static let collectionName = "Part"
    }
  }

  private enum New {
    struct Part: Record, Equatable {
      var id: Int
      var name: String
      var rank: Int
      static let collectionName = "Part"
      static let schema = Schema<Part> {
        Default(\.rank, 7)
        Index(\.rank)
      }
    }
  }

  @Test("records that lack a field of an index wake all observers of the index")
  func olderRecords() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let old = try Store(at: path, for: Old.Part.self)
    try old.write { tx in for id in 0..<4 { try tx.put(Old.Part(id: id, name: "old")) } }
    old.close()
    let store = try Store(at: path, for: New.Part.self)
    defer { store.close() }
    let seven = store.observe(New.Part.where { $0.rank == 7 }).makeAsyncIterator().polled
    let three = store.observe(New.Part.where { $0.rank == 3 }).makeAsyncIterator().polled
    #expect(try seven.poll()?.rows.count == 4)
    #expect(try three.poll()?.rows.count == 0)
    // Found by their ranges alone, they are asked before the write, when the keys of such a record are known.
    try store.write { _ = try $0.delete(New.Part.self, 3) }
    #expect(try seven.poll()?.rows.count == 3)
    #expect(seven.wakes == 1 && three.wakes == 0)
    try store.put(New.Part(id: 3, name: "new", rank: 7))
    #expect(try seven.poll()?.rows.count == 4)
    #expect(seven.wakes == 2 && three.wakes == 0)
    let all = store.observe(New.Part.all).makeAsyncIterator().polled
    #expect(try all.poll()?.rows.count == 4)
    try store.put(New.Part(id: 0, name: "new", rank: 3))
    #expect(try seven.poll()?.rows.count == 3)
    #expect(try three.poll()?.rows.count == 1)
    #expect(seven.wakes == 3 && three.wakes == 1)
    try store.write { _ = try $0.delete(New.Part.self, 1) }
    #expect(try seven.poll()?.rows.count == 2)
    #expect(try three.poll() == nil)
    #expect(seven.wakes == 4 && three.wakes == 2)
    try store.put(New.Part(id: 0, name: "newer", rank: 3))
    #expect(seven.wakes == 4 && three.wakes == 3)
    try store.put(New.Part(id: 0, name: "newer", rank: 7))
    #expect(try seven.poll()?.rows.count == 3)
    #expect(try three.poll()?.rows.count == 0)
    withExtendedLifetime(all) {}
  }

  @Test("after a change of the schema by another store, all are woken once")
  func schemaChange() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(at: path, for: Tag.self, Owner.self, Pet.self, Note.self)
    defer { store.close() }
    func put(_ city: String) throws { try store.put(Owner(name: "a", city: city, age: 1)) }
    let observer = store.observe(Owner.where { $0.city == "Oslo" }).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 0)
    try put("Rome")
    #expect(observer.wakes == 0)
    let other = try Store(
      at: path, for: Tag.self, Owner.self, Pet.self, Note.self, Guarded.self)
    defer { other.close() }
    // It has changed no record.
    #expect(observer.wakes == 0)
    try put("Rome")
    #expect(observer.wakes == 1)
    #expect(try observer.poll() == nil)
    try put("Rome")
    #expect(observer.wakes == 1)
    try put("Oslo")
    #expect(try observer.poll()?.rows.count == 1)
    try other.write { _ = try $0.delete(Owner.where { $0.city == "Oslo" }) }
    #expect(try observer.poll()?.rows.count == 0)
    #expect(observer.wakes == 3)
  }

  /// A closure that read two collections was woken by each change of either of them: what is filed
  /// for one collection counted as concerned by a commit that changed only the other one.
}
