import LarchTestSupport
import Testing

@testable import Larch

/// Each test has fewer commits than the watch goes on with the state that it compares with.
@Suite("Commits that change nothing, and trees that are empty again")
struct SilentCommitTests {
  private let pets = Pet.all.with(Pet.tags)

  /// Two pets and a tag, and no link.
  private func withPets(_ body: (Store, BlindWatch, [Pet], Tag) throws -> Void) throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try RandomWrites.openStore(at: path)
    defer { store.close() }
    let watch = try BlindWatch(of: store)
    let tag = Tag(id: "t", color: 1)
    var pets = [Pet(name: "a", weight: 1), Pet(name: "b", weight: 2)]
    try store.write { tx throws in
      for place in pets.indices { try tx.save(&pets[place]) }
      try tx.put(tag)
    }
    try body(store, watch, pets, tag)
  }

  /// What an observer of pets has after a poll, and what a fetch has.
  private func compare(
    _ iterator: StoreObservation<[(Pet, [Tag])]>.AsyncIterator, _ store: Store
  ) throws {
    let found = try #require(try iterator.polled.poll())
    #expect("\(found.value)" == "\(try store.fetch(pets))")
  }

  @Test("a link that is added twice and then goes is gone for the observer of its pet")
  func addedTwice() throws {
    try withPets { store, _, pets, tag throws in
      let iterator = store.observe(self.pets).makeAsyncIterator()
      try compare(iterator, store)
      try store.write { tx in try tx.add(tag.id, to: pets[1].related(Pet.tags)) }
      try compare(iterator, store)
      try store.write { tx in try tx.add(tag.id, to: pets[1].related(Pet.tags)) }
      try store.write { tx throws in
        try tx.remove(tag.id, from: pets[1].related(Pet.tags))
        var other = pets[0]
        other.weight = 9
        try tx.put(other)
      }
      try compare(iterator, store)
    }
  }

  @Test("a link that another process takes away, so that there is none again, is gone")
  func removedElsewhere() throws {
    try withPets { store, watch, pets, tag throws in
      let iterator = store.observe(self.pets).makeAsyncIterator()
      try compare(iterator, store)
      try store.write { tx in try tx.add(tag.id, to: pets[1].related(Pet.tags)) }
      try compare(iterator, store)
      watch.isAway = true
      try store.write { tx throws in
        try tx.remove(tag.id, from: pets[1].related(Pet.tags))
        var other = pets[0]
        other.weight = 9
        try tx.put(other)
      }
      watch.isAway = false
      try store.put(Owner(name: "o", city: "Oslo", age: 1))
      try compare(iterator, store)
    }
  }

  @Test("the only record, which another process deletes, is gone")
  func deletedElsewhere() throws {
    try withPets { store, watch, _, tag throws in
      try store.write { try $0.delete(tag) }
      let iterator = store.observe(Tag.all).makeAsyncIterator()
      #expect(try iterator.polled.poll()?.value == [])
      try store.put(tag)
      #expect(try iterator.polled.poll()?.value == [tag])
      watch.isAway = true
      try store.write { try $0.delete(tag) }
      watch.isAway = false
      try store.put(Owner(name: "o", city: "Oslo", age: 1))
      #expect(try iterator.polled.poll()?.value == [])
    }
  }

  @Test("a record that was there only when the observer began is gone")
  func begunInBetween() throws {
    try withPets { store, watch, _, tag throws in
      try store.write { try $0.delete(tag) }
      let other = store.observe(Pet.all).makeAsyncIterator()
      _ = try other.polled.poll()
      watch.isAway = true
      try store.put(tag)
      let iterator = store.observe(Tag.all).makeAsyncIterator()
      #expect(try iterator.polled.poll()?.value == [tag])
      try store.write { try $0.delete(tag) }
      watch.isAway = false
      try store.put(Owner(name: "o", city: "Oslo", age: 1))
      #expect(try iterator.polled.poll()?.value == [])
    }
  }

  @Test("after a link that was there already, the next write has its author and its records")
  func authorAfterwards() throws {
    try withPets { store, watch, pets, tag throws in
      try store.write { tx in try tx.add(tag.id, to: pets[0].related(Pet.tags)) }
      let iterator = store.observe(Pet.all).makeAsyncIterator()
      _ = try iterator.polled.poll()
      let comparisons = watch.counts.comparisons
      let before = try store.version
      try store.write { tx in try tx.add(tag.id, to: pets[0].related(Pet.tags)) }
      // LMDB gives this commit a number too.
      #expect(try store.version > before)
      var pet = pets[1]
      pet.weight = 7
      try store.write(author: "ui") { try $0.put(pet) }
      let found = try #require(try iterator.polled.poll())
      #expect(found.authors == ["ui"])
      #expect(watch.counts.comparisons == comparisons)
    }
  }

  @Test("a commit while an observer begins or ends is not taken for one of others")
  func betweenSteps() throws {
    try withPets { store, watch, pets, _ throws in
      let commit = {
        do { try store.put(Owner(name: "o", city: "Oslo", age: 1)) } catch { Issue.record(error) }
      }
      watch.didBegin = commit
      let iterator = store.observe(self.pets).makeAsyncIterator()
      try compare(iterator, store)
      watch.didBegin = nil
      commit()
      #expect(watch.counts.comparisons == 0)
      var next: StoreObservation<[(Pet, [Tag])]>.AsyncIterator?
      watch.willEnd = {
        commit()
        next = store.observe(self.pets).makeAsyncIterator()
        do { try compare(#require(next), store) } catch { Issue.record(error) }
      }
      iterator.polled.end()
      watch.willEnd = nil
      commit()
      #expect(next != nil && watch.counts.comparisons == 0)
    }
  }

  @Test("an observer of what is empty is not woken by what others commit elsewhere")
  func emptyMeanwhile() throws {
    try withPets { store, watch, _, tag throws in
      try store.write { try $0.delete(tag) }
      let iterator = store.observe(Tag.all).makeAsyncIterator()
      #expect(try iterator.polled.poll()?.value == [])
      // The first one of others takes away what the observer may have read ahead.
      for round in 0..<4 {
        watch.isAway = true
        try store.put(Owner(name: "o", city: "Oslo", age: round))
        watch.isAway = false
        let wakes = iterator.polled.wakes
        try store.put(Owner(name: "p", city: "Oslo", age: round))
        #expect(iterator.polled.wakes == wakes || round == 0)
        #expect(try iterator.polled.poll() == nil)
      }
      #expect(watch.counts.comparisons == 4)
    }
  }
}
