import Foundation
@testable import Larch
import Testing

@Suite("Asynchronous changes of records")
struct AsyncRecordTests {
  typealias Person = Ambient.Person
  typealias Note = Ambient.Note

  @TaskLocal static var mark = 0

  @Test("every verb waits without blocking, and has the effect of the synchronous one")
  func verbs() async throws {
    let store = try Ambient.store()
    try await Store.with(store) {
      var ada = Person(name: "Ada")
      try await ada.save()
      #expect(ada.id.isAssigned)
      ada.age = 36
      try await ada.update()
      #expect(try Person.find(ada.id) == ada)
      var eve = Person(name: "Eve")
      try await eve.insert()
      let bob = try await Person(name: "Bob").saved()
      let grace = try await Person(name: "Grace").inserted()
      let older = try await Person(id: grace.id, name: "Grace", age: 9).saved()
      #expect(try Person.all.fetch() == [ada, eve, bob, older])
      let found = try await Person.findOrCreate(by: \.name, equals: "Bob") { Person(name: "Bob") }
      #expect(found == bob)
      #expect(try await Person.where { $0.age > 0 }.update { $0.age += 1 } == 2)
      #expect(try await Person.where { $0.age == 10 }.delete() == 1)
      #expect(try await ada.delete())
      #expect(try await !Person.delete(ada.id))
      #expect(try await Person.all.delete() == 2)
      #expect(try await Person.erase() == 0)
    }
  }

  @Test("they also accept a store")
  func storeVerbs() async throws {
    let store = try Ambient.store()
    var ada = Person(name: "Ada")
    try await ada.save(in: store)
    ada.age = 1
    try await ada.update(in: store)
    #expect(try store.find(Person.self, ada.id)?.age == 1)
    let before = ada
    ada.age = 2
    try await ada.save(ifUnchanged: before, in: store)
    var eve = Person(name: "Eve")
    try await eve.insert(in: store)
    #expect(try store.fetch(Person.all) == [ada, eve])
    #expect(try await Person.all.update(in: store) { $0.age = 5 } == 2)
    #expect(try await ada.delete(in: store))
    #expect(try await !Person.delete(ada.id, in: store))
    let bob = try await Person(name: "Bob").saved(in: store)
    let cid = try await Person(name: "Cid").inserted(in: store)
    let found = try await Person.findOrCreate(by: \.name, equals: "Bob", in: store) {
      Person(name: "Bob")
    }
    #expect(found == bob)
    #expect(try Person.find([bob.id, cid.id], in: store) == [bob, cid])
    #expect(try await Person.all.delete(in: store) == 3)
    #expect(try await Person.erase(in: store) == 0)
  }

  @Test("a failed change leaves the record as it was")
  func failures() async throws {
    let store = try Ambient.store()
    try await Store.with(store) {
      _ = try await Person(name: "Ada", email: "a@x").saved()
      var eve = Person(name: "Eve", email: "a@x")
      let original = eve
      do { try await eve.save() } catch let error as LarchError {
        #expect(error.code == .uniqueConflict)
      }
      do { try await eve.insert(in: store) } catch let error as LarchError {
        #expect(error.code == .uniqueConflict)
      }
      #expect(eve == original)
    }
  }

  @Test("a transaction keeps all or nothing, and Rollback gives nil")
  func transactions() async throws {
    let store = try Ambient.store()
    try await Store.with(store) {
      let pair = try await Store.transaction {
        // The synchronous forms, since the closure is synchronous.
        var ada = Person(name: "Ada")
        try ada.save()
        let eve = try Person(name: "Eve").saved()
        try Person.delete(99)
        return [ada, eve]
      }
      #expect(try Person.all.fetch() == pair)
      let undone: Int? = try await Store.transaction {
        try Person.erase()
        throw Rollback()
      }
      #expect(undone == nil)
      do {
        try await Store.transaction {
          try Person.erase()
          throw Ambient.Failure()
        }
        Issue.record("the error was not passed on")
      } catch is Ambient.Failure {}
      #expect(try Person.all.count() == 2)
    }
  }

  /// In an asynchronous function the synchronous forms are inside a synchronous one.
  private func saveBlocking(_ person: inout Person) throws { try person.save() }

  @Test("a synchronous function saves synchronously, wherever it is called")
  func synchronousFunction() async throws {
    let store = try Ambient.store()
    try Store.with(store) {
      var ada = Person(name: "Ada")
      try saveBlocking(&ada)
      #expect(try Person.find(ada.id) == ada)
    }
  }

  @Test("the closure runs in the calling task, with its values and its cancellation")
  func sameTask() async throws {
    let store = try Ambient.store()
    let seen = try await Self.$mark.withValue(7) { try await store.write { _ in Self.mark } }
    #expect(seen == 7)
    let other = try Ambient.store()
    // The task has chosen another store; inside of the write it is the store of the write.
    try await Store.with(other) {
      try await store.write { tx in
        _ = try Person(name: "Ada").saved()
        tx.afterCommit { _ = try? Person(name: "Eve").saved() }
      }
    }
    #expect(try store.count(Person.all) == 2)
    #expect(try other.count(Person.all) == 0)
  }

  @Test("a task that was cancelled before the call writes nothing")
  func cancelledBefore() async throws {
    let store = try Ambient.store()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      var ada = Person(name: "Ada")
      do {
        try await Store.with(store) { try await ada.save() }
        return false
      } catch is CancellationError { return !ada.id.isAssigned }
    }
    task.cancel()
    #expect(try await task.value)
    #expect(try store.count(Person.all) == 0)
  }

  @Test("a task that is cancelled while it waits for its turn writes nothing")
  func cancelledWaiting() async throws {
    let store = try Ambient.store()
    let begun = Semaphore()
    let end = Semaphore()
    let first = Task {
      try await store.write { tx in
        begun.signal()
        end.wait()
        var ada = Person(name: "Ada")
        try tx.save(&ada)
      }
    }
    await begun.signalled()
    let runs = Locked(0)
    let waiting = (0..<5).map { number in
      Task {
        try await store.write { tx in
          runs.withLock { $0 += 1 }
          var person = Person(name: "\(number)")
          try tx.save(&person)
        }
      }
    }
    // They wait for the first one now or soon. In both cases they are cancelled before it ends.
    await Task.yield()
    for task in waiting[..<4] { task.cancel() }
    end.signal()
    try await first.value
    for task in waiting[..<4] {
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    try await waiting[4].value
    #expect(runs.withLock { $0 } == 1)
    #expect(try store.fetch(Person.select(\.name)) == ["Ada", "4"])
  }

  @Test("a running write finishes, and may check for cancellation")
  func cancelledRunning() async throws {
    let store = try Ambient.store()
    for obeys in [false, true] {
      let begun = Semaphore()
      let end = Semaphore()
      let task = Task {
        try await store.write { tx in
          begun.signal()
          end.wait()
          if obeys { try Task.checkCancellation() }
          var ada = Person(name: "Ada")
          try tx.save(&ada)
          return Task.isCancelled
        }
      }
      await begun.signalled()
      task.cancel()
      end.signal()
      if obeys {
        await #expect(throws: CancellationError.self) { try await task.value }
      } else {
        #expect(try await task.value)
      }
      #expect(try store.count(Person.all) == 1)
    }
  }

  @available(macOS 26, iOS 26, *)
  @Test("writes of one task that does not wait in between run in the order of the calls")
  func order() async throws {
    let store = try Ambient.store()
    try await Asker(store).ask(100)
    let ages = try store.fetch(Person.select(\.age))
    #expect(ages == Array(0..<100))
  }

  /// Its tasks begin one after the other, on its own executor.
  @available(macOS 26, iOS 26, *)
  private actor Asker {
    let store: Store

    init(_ store: Store) { self.store = store }

    func ask(_ count: Int) async throws {
      let tasks = (0..<count).map { age in
        Task.immediate {
          try await store.write { tx in
            var person = Person(name: "x", age: age)
            try tx.save(&person)
          }
        }
      }
      for task in tasks { try await task.value }
    }
  }

  @Test("many tasks write and count at once; nothing is lost")
  func manyWriters() async throws {
    let store = try Ambient.store()
    try await Store.with(store) {
      let counter = try await Note(text: "0").saved()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<200 {
          group.addTask {
            try await Store.transaction {
              var note = try counter.reloaded()
              note.text = String((Int(note.text) ?? 0) + 1)
              try note.save()
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try counter.reloaded().text == "200")
    }
  }
}

/// A semaphore that a synchronous closure may wait for.
final class Semaphore: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func signal() { semaphore.signal() }
  func wait() { semaphore.wait() }

  /// Waits without blocking a thread of the tasks.
  func signalled() async {
    await withCheckedContinuation { continuation in
      Thread {
        self.semaphore.wait()
        continuation.resume()
      }.start()
    }
  }
}
