package import Larch
internal import LarchTestSupport

/// What a write of the numbered ones leaves, beside its parts.
package struct NumberedWrite: Record {
  /// The number that it was given when it arrived.
  package var id: Int
  /// How many writes the store had kept before it.
  package var position: Int
  package var parts: Int

  package static let schema = Schema<NumberedWrite> { Unique(\.position) }
}

/// One of the records that a write makes: all of them are there, or none.
package struct NumberedPart: Record, Equatable {
  package var id: String
  package var write: Int
  package var text: String

  package static let schema = Schema<NumberedPart> {
    Index(\.write)
    Index(\.text)
  }
}

/// How many writes a store has kept: each of them reads and changes it.
package struct WriteTally: Record {
  package var id = 0
  package var count = 0
}

/// What the closure of a numbered write throws when it is one of those that fail.
package struct RefusedWrite: Error, Equatable {
  package var number: Int
}

/// Writes with numbers that rise in the order of arrival. What each of them writes, and whether
/// it throws, follows from its number, so that whoever comes after a kill knows it.
package enum NumberedWrites {
  /// A frame of the pipe: what became of a write. Eight bytes in one call, which cannot be torn.
  package enum Outcome: UInt64 {
    case written, refused
    /// Somebody else's result or error came back.
    case wrong

    package func frame(_ number: Int) -> UInt64 { UInt64(number) << 2 | rawValue }

    /// Nil for bits that are no outcome.
    package static func parsed(_ frame: UInt64) -> (outcome: Outcome, number: Int)? {
      // A number of 62 bits fits an Int.
      Outcome(rawValue: frame & 3).map { ($0, Int(frame >> 2)) }
    }
  }

  package static func open(at path: String) throws -> Store {
    try Store(at: path, for: NumberedWrite.self, NumberedPart.self, WriteTally.self)
  }

  package static func isRefused(_ number: Int, seed: UInt64) -> Bool {
    mixed(number, seed) % 5 == 0
  }

  private static func parts(_ number: Int, seed: UInt64) -> [NumberedPart] {
    let mixed = mixed(number, seed)
    return (0..<Int(mixed >> 8 & 7)).map { part in
      // Some are larger than a page, so that a write has pages of its own to lose.
      let length = part == 3 ? 5000 : Int(mixed >> 16 & 63)
      let letter = String(UnicodeScalar(UInt8(97 + (mixed >> 32 &+ UInt64(part)) % 26)))
      return NumberedPart(
        id: "\(number)/\(part)", write: number,
        text: "\(part) " + String(repeating: letter, count: length))
    }
  }

  private static func mixed(_ number: Int, _ seed: UInt64) -> UInt64 {
    var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
    return random.next()
  }

  /// Writes; one that is to be refused throws when it has written half.
  package static func write(_ number: Int, seed: UInt64, in tx: WriteTransaction) throws {
    var tally = try tx.find(WriteTally.self, 0) ?? WriteTally()
    let parts = parts(number, seed: seed)
    for (index, part) in parts.enumerated() {
      if index == parts.count / 2, isRefused(number, seed: seed) { break }
      var part = part
      try tx.insert(&part)
    }
    var write = NumberedWrite(id: number, position: tally.count, parts: parts.count)
    try tx.insert(&write)
    tally.count += 1
    try tx.save(&tally)
    if isRefused(number, seed: seed) { throw RefusedWrite(number: number) }
  }

  /// The first number that no write in the snapshot has: the next program goes on from there.
  package static func next(in tx: ReadTransaction) throws -> Int {
    try tx.first(NumberedWrite.all.sorted(by: \.id, .descending)).map { $0.id + 1 } ?? 0
  }

  /// How far a store was looked at, and found right.
  package struct Checked: Equatable {
    /// Every number below is that of a write which is there or threw.
    package var next = 0
    /// How many are there.
    package var count = 0

    package init() {}
  }

  /// Looks at what came since. Throws unless the snapshot holds exactly the writes that did not
  /// throw, up to one number, each whole, kept in the order of their numbers.
  package static func check(
    _ tx: ReadTransaction, seed: UInt64, after last: Checked
  ) throws -> Checked {
    var checked = last
    for write in try tx.fetch(NumberedWrite.where { $0.id >= last.next }) {
      while checked.next < write.id {
        guard isRefused(checked.next, seed: seed) else {
          throw Mismatch("write \(write.id) is there, \(checked.next), which came before, is not")
        }
        checked.next += 1
      }
      guard !isRefused(write.id, seed: seed) else {
        throw Mismatch("write \(write.id) threw and is there")
      }
      guard write.position == checked.count else {
        throw Mismatch("write \(write.id) came as \(write.position), not \(checked.count)")
      }
      let found = try tx.fetch(NumberedPart.where { $0.write == write.id })
      let wanted = parts(write.id, seed: seed)
      guard found == wanted, write.parts == wanted.count else {
        throw Mismatch("write \(write.id) has \(found.count) of \(wanted.count) parts")
      }
      checked.next += 1
      checked.count += 1
    }
    let tally = try tx.find(WriteTally.self, 0)?.count ?? 0
    let stored = try tx.count(NumberedWrite.all)
    guard tally == checked.count, stored == checked.count else {
      throw Mismatch("\(stored) writes are there, \(tally) were counted, not \(checked.count)")
    }
    return checked
  }
}
