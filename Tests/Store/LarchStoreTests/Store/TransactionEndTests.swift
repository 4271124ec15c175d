import LarchTestSupport
import Testing

@testable import Larch

@Suite("Objects that outlive a transaction, and errors that end one silently")
struct TransactionEndTests {
  struct Word: Record, Equatable {
    var id: Int
    var text = ""
    var next: Int?

    static let follower = BelongsTo<Word, Word>(\.next)
    static let schema = Schema<Word> { follower }
  }

  struct Refused: Record {
    var id: Int
    static let schema = Schema<Refused> { WillSave { _, _ in throw Rollback() } }
  }

  private func store(_ count: Int = 5) throws -> Store {
    let store = try Store.temporary(for: Word.self, Refused.self)
    try store.write { tx in
      for id in 0..<count {
        var word = Word(id: id)
        try tx.save(&word)
      }
    }
    return store
  }

  /// The program ended, by a precondition.
  @Test("An iterator that outlives its transaction returns nothing, and has the reason")
  func iterators() throws {
    let store = try store()
    var kept: [RecordSequence<Word>.Iterator] = []
    var sequence: RecordSequence<Word>?
    try store.read { tx in
      let all = try tx.all(Word.self)
      sequence = all
      var begun = all.makeIterator()
      #expect(begun.next()?.id == 0 && begun.error == nil)
      var finished = all.makeIterator()
      while finished.next() != nil {}
      kept = [begun, all.makeIterator(), finished]
    }
    try store.write { tx in
      var begun = try tx.all(Word.self).makeIterator()
      #expect(begun.next()?.id == 0)
      kept.append(begun)
    }
    if let late = sequence?.makeIterator() { kept.append(late) }
    for place in kept.indices {
      #expect(kept[place].next() == nil && kept[place].next() == nil)
      let isFinished = place == 2
      #expect((kept[place].error as? LarchError)?.code == (isFinished ? nil : .transactionEnded))
    }
  }

  @Test("A cursor that was closed gives no more records, in a write too")
  func cursors() throws {
    let store = try store()
    func check(_ tx: ReadTransaction) throws {
      let cursor = try tx.cursor(Word.all)
      #expect(try cursor.next()?.id == 0)
      cursor.close()
      #expect(try cursor.next() == nil)
      cursor.close()
      #expect(try cursor.next() == nil)
    }
    try store.read { tx in try check(tx) }
    try store.write { tx in try check(tx) }
  }

  @Test("The error of a dangling reference names the missing id and its type")
  func dangling() throws {
    let store = try store()
    let error = caught {
      try store.write { tx in
        var word = Word(id: 10, next: 77)
        try tx.save(&word)
      }
    }
    #expect(error?.code == .danglingReference)
    #expect(error?.context.id == "10" && error?.context.otherID == "77")
    #expect(error?.context.detail == "no Word has the id 77")
    #expect("\(error as Any)".contains("no Word has the id 77"))
  }

  @Test("Rollback ends a write or a savepoint without an error if it can return nil or nothing")
  func rollback() async throws {
    let store = try store()
    try store.blocking { tx in
      try tx.delete(Word.all)
      throw Rollback()
    }
    #expect(try store.count(Word.all) == 5)
    let none: Int? = try store.blockingValue { tx in
      try tx.delete(Word.all)
      throw Rollback()
    }
    #expect(none == nil)
    #expect(throws: Rollback.self) {
      try store.blockingValue { tx -> Int in
        try tx.delete(Word.all)
        throw Rollback()
      }
    }
    try await store.write { tx in
      try tx.delete(Word.all)
      throw Rollback()
    }
    let nothing: String? = try await store.write { tx in
      try tx.delete(Word.all)
      throw Rollback()
    }
    #expect(try nothing == nil && store.count(Word.all) == 5)

    // Only the innermost.
    try store.blocking { tx in
      try tx.delete(Word.self, 0)
      try tx.savepoint {
        try tx.delete(Word.self, 1)
        throw Rollback()
      }
      try Store.transaction {
        try Word.delete(2)
        throw Rollback()
      }
    }
    #expect(try store.ids(Word.all) == [1, 2, 3, 4])
    let result: Void? = try Store.with(store) { () throws in
      try blocking { try Store.transaction { () throws -> Void in throw Rollback() } }
    }
    #expect(result == nil)
  }

  private func blocking<T>(_ body: () throws -> T) rethrows -> T { try body() }

  @Test("Rollback from a hook does not make a save succeed silently")
  func hooks() throws {
    let store = try store()
    var refused = Refused(id: 1)
    #expect(throws: Rollback.self) { try store.save(&refused) }
    #expect(try store.count(Refused.all) == 0)
  }
}

extension Store {
  /// The synchronous form, for tests that are asynchronous.
  fileprivate func blocking(_ body: (WriteTransaction) throws -> Void) throws { try write(body) }
  fileprivate func blockingValue<T>(_ body: (WriteTransaction) throws -> T) throws -> T {
    try write(body)
  }
}
