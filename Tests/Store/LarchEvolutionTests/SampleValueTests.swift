import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Types whose `init(from:)` must not run on values that no record has.
@Suite struct SampleValueTests {
  struct Ticket: Record {
    /// The codes that `init(from:)` got.
    static let seen = Locked<[String]>([])
    static let schema = Schema<Ticket> { Index(\.code) }

    var id: Int
    var code: String

    enum CodingKeys: String, CodingKey { case id, code }

    init(id: Int, code: String) {
      self.id = id
      self.code = code
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(Int.self, forKey: .id)
      let code = try container.decode(String.self, forKey: .code)
      Ticket.seen.withLock { $0.append(code) }
      self.code = code
    }
  }

  /// A type with an index and a `precondition` in its `init(from:)` ended the program when a store
  /// was opened, also with evolution switched off, which is the documented way to avoid that: the
  /// compiler of the schema looked for the fields that the keys of the index have.
  @Test func `With evolution switched off, no type is read from sample values`() throws {
    let file = try EvolutionFile()
    let code = String(repeating: "x", count: 26)
    let off = Store.Options.quick { $0.evolution = .off }
    try file.open(Ticket.self, options: off) { store throws in
      try store.put([Ticket(id: 1, code: code)])
      #expect(try store.fetch(Ticket.where { $0.code == code }).map(\.id) == [1])
      #expect(try store.fetch(Ticket.all.sorted(by: \.code)).map(\.code) == [code])
    }
    let seen = Ticket.seen.withLock { $0 }
    #expect(Set(seen) == [code])
    // With the comparison on, a sample comes.
    try file.open(Ticket.self)
    let later = Ticket.seen.withLock { $0 }
    #expect(later.contains { $0 != code })
  }
}
