package import Larch
package import LarchTestSupport

private struct Undone: Error {}

extension TextState {
  /// The texts of an owner as a transaction sees them.
  package static func read(
    _ owner: Int, seed: UInt64, in tx: ReadTransaction
  ) throws -> TextState {
    func texts<R: Written>(_ type: R.Type) throws -> [Int: Writing] {
      let mine = try tx.all(type).filter { $0.owner == owner }
      let texts = Dictionary(mine.map { ($0.number, $0.writing) }) { $1 }
      guard texts.count == mine.count else {
        throw Mismatch("\(type): owner \(owner) has a number twice")
      }
      return texts
    }
    return TextState(
      seed: seed, owner: owner, writes: try tx.find(TextProgress.self, owner)?.writes ?? 0,
      essays: try texts(Essay.self), letters: try texts(Letter.self))
  }

  /// Decides the next write and does it in the store. Some writes run a first time and are undone.
  package mutating func write(to store: Store) throws {
    let steps = next()
    let progress = TextProgress(id: owner, writes: writes)
    if writes % 5 == 0 {
      do {
        try store.write { tx throws in
          try apply(steps, to: tx)
          throw Undone()
        }
      } catch is Undone {}
    }
    try store.write { tx throws in
      try apply(steps, to: tx)
      var record = progress
      try tx.save(&record)
    }
  }

  /// Does steps in a write; afterwards it must have what the model has.
  package func apply(_ steps: [TextStep], to tx: WriteTransaction) throws {
    for step in steps {
      switch step {
      case .save(let kind, let writings):
        switch kind {
        case .essay: try save(writings, Essay.self, tx)
        case .letter: try save(writings, Letter.self, tx)
        }
      case .delete(let kind, let numbers):
        switch kind {
        case .essay: try delete(numbers, Essay.self, tx)
        case .letter: try delete(numbers, Letter.self, tx)
        }
      case .deleteFound(let kind, let query):
        switch kind {
        case .essay: _ = try tx.delete(Essay.found(query, owner: owner))
        case .letter: _ = try tx.delete(Letter.found(query, owner: owner))
        }
      case .appendToFound(let kind, let query, let word):
        switch kind {
        case .essay: try append(word, Essay.found(query, owner: owner), tx)
        case .letter: try append(word, Letter.found(query, owner: owner), tx)
        }
      case .savepoint(let inner, let isUndone):
        do {
          try tx.savepoint {
            try apply(inner, to: tx)
            if isUndone { throw Undone() }
          }
        } catch is Undone {}
      }
    }
  }

  private func save<R: Written>(
    _ writings: [Int: Writing], _ type: R.Type, _ tx: WriteTransaction
  ) throws {
    let sorted = writings.sorted { $0.key < $1.key }
    // One alone takes the way of single saves.
    if sorted.count == 1, let id = try R.ids([sorted[0].key], owner: owner, in: tx).first {
      guard var record = try tx.find(R.self, id) else { throw Mismatch("\(id) is gone") }
      record.writing = sorted[0].value
      return try tx.update(record)
    }
    try R.saveAll(sorted.map { R(owner: owner, number: $0.key, $0.value) }, in: tx)
  }

  private func delete<R: Written>(
    _ numbers: [Int], _ type: R.Type, _ tx: WriteTransaction
  ) throws {
    let ids = try R.ids(numbers, owner: owner, in: tx)
    guard ids.count == numbers.count else { throw Mismatch("\(numbers) are not there to delete") }
    if ids.count == 1 {
      try tx.delete(R.self, ids[0])
    } else {
      try tx.delete(R.self, ids: ids)
    }
  }

  private func append<R: Written>(
    _ word: String, _ query: Query<R>, _ tx: WriteTransaction
  ) throws {
    try tx.update(query) { record in record.writing.title += " " + word }
  }
}

/// What some searches have found: a test must see that it has tested something.
package struct TextTally: Sendable {
  package var asked = 0
  package var found = 0
  /// How many plans read an index of words.
  package var searched = 0

  package init() {}
}

extension Texts {
  /// Throws if an answer differs from that of `TextQuery.matches` over all records.
  package static func check(
    _ tx: ReadTransaction, queries: Int, _ tally: inout TextTally, _ random: inout SeededGenerator
  ) throws {
    try check(Essay.self, tx, queries: queries, &tally, &random)
    try check(Letter.self, tx, queries: queries, &tally, &random)
  }

  private static func check<R: Written>(
    _ type: R.Type, _ tx: ReadTransaction, queries: Int, _ tally: inout TextTally,
    _ random: inout SeededGenerator
  ) throws {
    let records = Array(try tx.all(type))
    for _ in 0..<queries {
      let query = query(2, &random)
      let year = 1990 + random.below(40)
      let words = R.found(query)
      let expected = records.filter { query.matches($0.writing.title, $0.writing.body) }
      let ids = try tx.ids(words)
      guard ids == expected.map(\.id) else {
        throw Mismatch("\(type): \(query) finds \(ids), not \(expected.map(\.id))")
      }
      guard try tx.fetch(words) == expected, try tx.count(words) == expected.count,
        try tx.exists(words) == !expected.isEmpty
      else { throw Mismatch("\(type): \(query) has other records or another count") }
      let inBody = R.foundInBody(query, after: year)
      let expectedInBody = records.filter {
        query.matches($0.writing.body) && $0.writing.year > year
      }
      guard try tx.fetch(inBody) == expectedInBody else {
        throw Mismatch("\(type): \(query) in the body, after \(year)")
      }
      tally.asked += 2
      tally.found += expected.count + expectedInBody.count
      if try tx.explain(words).description.contains("search ") { tally.searched += 1 }
    }
  }
}
