package import Larch
internal import LarchTestSupport

/// The record of a numbered write, beside its parts.
package struct NumberedWrite: Record {
  /// Its number, in the order of arrival.
  package var id: Int
  /// The number of earlier writes that the store has kept.
  package var position: Int
  package var parts: Int

  package static let schema = Schema<NumberedWrite> { Unique(\.position) }
}

/// One of the records of a write, which all exist or do not.
package struct NumberedPart: Record, Equatable {
  package var id: String
  package var write: Int
  package var text: String

  package static let schema = Schema<NumberedPart> {
    Index(\.write)
    Index(\.text)
  }
}

/// The number of writes that a store has kept: each of them reads and changes it.
package struct WriteTally: Record {
  package var id = 0
  package var count = 0
}

/// The error of the numbered writes that fail.
package struct RefusedWrite: Error, Equatable {
  package var number: Int
}

/// Writes with numbers that rise in the order of arrival. The contents of each write, and whether
/// it throws, are functions of its number, so that the check after a kill knows them.
package enum NumberedWrites {
  /// A frame in the pipe: the result of a write. It has eight bytes, which one call writes as a
  /// whole.
  package enum Outcome: UInt64 {
    case written, refused
    /// The result or error of another write was returned.
    case wrong

    package func frame(_ number: Int) -> UInt64 { UInt64(number) << 2 | rawValue }

    /// Nil for bits that are not an outcome.
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
      // Some are larger than a page, so that a write has its own pages.
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

  /// Writes; a write that must fail throws after half of its records.
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

  /// The first number that no write in the snapshot has: the next program continues with it.
  package static func next(in tx: ReadTransaction) throws -> Int {
    try tx.first(NumberedWrite.all.sorted(by: \.id, .descending)).map { $0.id + 1 } ?? 0
  }

  /// The part of a store that was checked and is correct.
  package struct Checked: Equatable {
    /// Every lower number belongs to a write that is stored or that threw.
    package var next = 0
    /// How many are there.
    package var count = 0

    package init() {}
  }

  /// Checks the writes since the last check. Throws unless the snapshot has exactly the writes that
  /// did not throw, up to one number, each complete, in the order of their numbers.
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
