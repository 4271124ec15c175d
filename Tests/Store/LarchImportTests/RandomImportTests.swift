import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Random imports against a model")
struct RandomImportTests {
  private struct Element {
    var text: String
    var guest: Guest?
  }

  /// A valid element, or one with some fault.
  private func element(_ generator: inout SeededGenerator) -> Element {
    let number = Int.random(in: 0..<80, using: &generator)
    var guest = Guest(
      name: "n\(Int.random(in: 0..<5, using: &generator))",
      email: Bool.random(using: &generator) ? "e\(number)@x" : nil,
      age: Int.random(in: 0..<3, using: &generator))
    if Int.random(in: 0..<3, using: &generator) == 0 { guest.id = RecordID(Int64(number + 1)) }
    var fields = ["\"name\":\"\(guest.name)\"", "\"age\":\(guest.age)"]
    if let email = guest.email { fields.append("\"email\":\"\(email)\"") }
    if guest.id.isAssigned { fields.append("\"id\":\(guest.id)") }
    fields.shuffle(using: &generator)
    var text = "{" + fields.joined(separator: ", ") + "}"
    if Int.random(in: 0..<5, using: &generator) > 0 { return Element(text: text, guest: guest) }
    switch Int.random(in: 0..<5, using: &generator) {
    case 0: text = "{\"name\":\"x\"}"
    case 1: text = "{\"name\":\"x\",\"age\":{}}"
    case 2: text = "{\"name\" \"x\",\"age\":1}"
    case 3: text = "nul"
    default: text = "{\"name\":\"x\",\"age\":1.5}"
    }
    return Element(text: text, guest: nil)
  }

  /// A simple model of an import.
  private struct Model {
    var guests: [Int64: Guest] = [:]
    var next: Int64 = 1
    var inserted = 0
    var updated = 0
    var unchanged = 0
    var bad: [Int] = []

    mutating func take(_ element: Element, _ index: Int, byEmail: Bool) {
      guard var guest = element.guest else { return bad.append(index) }
      var stored: Guest?
      if byEmail {
        stored = guest.email.flatMap { email in guests.values.first { $0.email == email } }
        if let stored {
          guest.id = stored.id
        } else if guest.id.isAssigned, guests[guest.id.rawValue] != nil {
          return bad.append(index)
        }
      } else if guest.id.isAssigned {
        stored = guests[guest.id.rawValue]
      }
      if stored == nil, !guest.id.isAssigned { guest.id = RecordID(next) }
      if let email = guest.email,
        guests.values.contains(where: { $0.email == email && $0.id != guest.id })
      {
        return bad.append(index)
      }
      if stored == nil {
        inserted += 1
      } else if stored == guest {
        unchanged += 1
      } else {
        updated += 1
      }
      guests[guest.id.rawValue] = guest
      next = max(next, guest.id.rawValue + 1)
    }
  }

  @Test("Exactly the valid elements are imported, and exactly the others reported")
  func random() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("random imports, seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    for round in 0..<30 {
      try Store.scratch(Guest.self) { store throws in
        // Assigned ids begin above all ids of elements. It does not matter here which ones are
        // skipped because of refused elements.
        var last = Guest(id: 10_000, name: "last")
        try store.write { tx throws in try tx.insert(&last) }
        var model = Model()
        model.guests[10_000] = last
        model.next = 10_001
        for _ in 0..<4 {
          let elements = (0..<Int.random(in: 0..<120, using: &generator))
            .map { _ in element(&generator) }
          let isArray = Bool.random(using: &generator)
          let text =
            isArray
            ? "[" + elements.map(\.text).joined(separator: ",\n") + "]"
            : elements.map { $0.text + "\n" }.joined()
          let byEmail = Bool.random(using: &generator)
          let size = Int.random(in: 1...50, using: &generator)
          let stops = Int.random(in: 0..<4, using: &generator) == 0
          let source = JSONSource.trickle(text, step: Int.random(in: 1...500, using: &generator))
          var wanted = model
          (wanted.inserted, wanted.updated, wanted.unchanged, wanted.bad) = (0, 0, 0, [])
          for (index, element) in elements.enumerated() {
            wanted.take(element, index, byEmail: byEmail)
          }
          let policy = stops ? ImportErrorPolicy.stop : .skip
          do {
            let report =
              byEmail
              ? try store.importJSON(
                Guest.self, from: source, matching: \.email, onError: policy, batchSize: size)
              : try store.importJSON(Guest.self, from: source, onError: policy, batchSize: size)
            #expect(report.failures.map(\.index) == wanted.bad, "seed \(seed) round \(round)")
            let figures = [report.inserted, report.updated, report.unchanged, report.skipped]
            #expect(
              figures == [wanted.inserted, wanted.updated, wanted.unchanged, wanted.bad.count],
              "seed \(seed) round \(round)")
            for failure in report.failures {
              let line = 1 + text.utf8.prefix(failure.byteOffset).count { $0 == 0x0A }
              #expect(failure.line == line)
              let rest = String(decoding: text.utf8.dropFirst(failure.byteOffset), as: UTF8.self)
              #expect(rest.hasPrefix(elements[failure.index].text))
            }
            model = wanted
          } catch let error as LarchError {
            #expect(error.code == .importStopped && stops && !wanted.bad.isEmpty, "\(error)")
          }
          let stored = try store.everything(Guest.self)
          // Ids of records that did not stay are not assigned again.
          let same = stored.map { [$0.name, $0.email ?? "", "\($0.age)"] }
          let expected = model.guests.values.sorted { $0.id < $1.id }
            .map { [$0.name, $0.email ?? "", "\($0.age)"] }
          #expect(
            same.sorted { $0.joined() < $1.joined() }
              == expected.sorted { $0.joined() < $1.joined() }, "seed \(seed) round \(round)")
          model.guests = Dictionary(uniqueKeysWithValues: stored.map { ($0.id.rawValue, $0) })
          model.next = max(model.next, (stored.last?.id.rawValue ?? 0) + 1)
        }
        #expect(try store.verify().isClean)
      }
    }
  }
}
