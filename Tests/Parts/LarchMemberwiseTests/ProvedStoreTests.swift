import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A store that proves codings")
struct ProvedStoreTests {
  struct Entry: Record {
    var id = UUID()
    var name: String
    var parts: [Part]
    struct Part: Codable, Equatable { var number: Int }
  }

  /// Corrects one value, which no proof can guess.
  struct Plan: Record {
    var id: RecordID<Plan>
    var name: String
    init(id: RecordID<Plan>, name: String) { (self.id, self.name) = (id, name) }
    init(from decoder: any Decoder) throws {
      let c = try decoder.container(keyedBy: CodingKeys.self)
      id = try c.decode(RecordID<Plan>.self, forKey: .id)
      name = try c.decode(String.self, forKey: .name)
      if name == "pro_v1" { name = "pro" }
    }
  }

  private func store(
    proves: Bool = true, log: (@Sendable (LogMessage) -> Void)? = nil
  ) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    options.provesCoding = proves
    options.log = log
    return try Store.temporary(for: Entry.self, Plan.self, options: options)
  }

  @Test("It reads and writes the same bytes as a store that does not")
  func sameBytes() throws {
    let entries = (0..<200).map { number in
      Entry(
        id: UUID(), name: "entry \(number)", parts: (0..<number % 4).map { Entry.Part(number: $0) })
    }
    var dumps: [String] = []
    for proves in [true, false] {
      let store = try store(proves: proves)
      try store.write { tx in
        for entry in entries {
          var entry = entry
          try tx.insert(&entry)
        }
      }
      for entry in entries {
        let read = try #require(try store.find(Entry.self, entry.id))
        #expect(read.name == entry.name && read.parts == entry.parts)
      }
      dumps.append(try store.dump())
    }
    #expect(dumps[0] == dumps[1])
  }

  @Test("It tells the log of a type that passed the proof wrongly, and codes it through Codable")
  func refuted() throws {
    let messages = Locked<[LogMessage]>([])
    let store = try store { message in
      messages.withLock { $0.append(message) }
    }
    try store.write { tx in
      for number in 1...50 {
        var plan = Plan(id: RecordID(), name: number == 20 ? "pro_v1" : "\(number)")
        try tx.insert(&plan)
      }
    }
    for number in 1...50 as ClosedRange<Int64> {
      let name = try store.find(Plan.self, RecordID(number))?.name
      #expect(name == (number == 20 ? "pro" : "\(number)"))
    }
    let told = messages.withLock { $0 }.filter { $0.event == .codingRefuted }
    #expect(told.count == 1)
    #expect(told.first?.context.detail?.contains("Plan") == true)
  }
}
