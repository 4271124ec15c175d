import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Plans without values")
struct RedactionTests {
  struct Note: Record {
    var id: String
    var title: String
    var isSecret = false
    var tags: [String] = []
    var rank = 0
    static let schema = Schema<Note> {
      Index(\.title)
      Index(\.rank, \.title)
      Index(\.tags)
    }
  }

  private func texts<R: Record>(
    _ query: Query<R>, in store: Store
  ) throws -> (plain: String, hidden: String) {
    try store.read { tx throws in
      try tx.storage { _ in
        let prepared = try tx.prepare(
          query.details, for: .records, in: try tx.context.collection(of: R.self))
        return (prepared.text, PlanText.withoutValues { prepared.text })
      }
    }
  }

  @Test("The text shows the form of a query, but no value and no id")
  func shapes() throws {
    let store = try Store.temporary(for: Note.self)
    try store.write { tx throws in
      for number in 0..<200 {
        var note = Note(
          id: "id\(number)", title: "T\(number)", tags: ["a\(number % 7)"], rank: number % 5)
        try tx.save(&note)
      }
    }
    let page = try store.page(Note.all.sorted(by: \.title).limit(3))
    let next = try #require(page.next)
    let queries: [(Query<Note>, String)] = [
      (Note.where { $0.title == "MARK" }, "index title […]"),
      (Note.where { $0.title > "MARK1" && $0.title <= "MARK2" }, "index title […] <.. […]"),
      (Note.where { $0.title.hasPrefix("MARK") }, "index title […*]"),
      (Note.where { ["MARK1", "MARK2", "MARK3"].contains($0.title) }, "index title […]"),
      (Note.where { $0.rank == 77_777 && $0.title > "MARK" }, "index rank_title […, …]"),
      (Note.where { $0.rank == 77_777 || $0.title == "MARK" }, "union"),
      (Note.where { $0.tags.contains("MARK") }, "index tags […]"),
      (Note.where { $0.id == "MARK" }, "records […]"),
      (Note.where { $0.id >= "MARK1" && $0.id < "MARK3" }, "records […] ..< […]"),
      (Note.where { $0.isSecret }, "filter isSecret == …"),
      (Note.where { !$0.isSecret }, "filter isSecret "),
      (Note.where { $0.title.contains("MARK") }, "title.contains(…)"),
      (Note.where { $0.title.like("MARK%") }, "…"),
      (Note.all.sorted(by: \.title).limit(3).after(next), "after …"),
    ]
    for (query, shape) in queries {
      let (plain, hidden) = try texts(query, in: store)
      #expect(hidden.contains(shape), "\(hidden)\n\(plain)")
      for value in ["MARK", "77777", "\"T", "\"a", "id2", "true", "false"] {
        #expect(!hidden.contains(value), "\(value) in \(hidden)")
      }
      #expect(hidden != plain)
    }
  }

  @Test("After that, the text of a plan is complete again")
  func scope() throws {
    #expect(PlanText.value(.string("x")) == "\"x\"")
    #expect(PlanText.withoutValues { PlanText.value(.string("x")) } == "…")
    #expect(PlanText.value(.string("x")) == "\"x\"")
  }

  @Test("Both values of a Boolean field have the same text")
  func booleans() throws {
    let store = try Store.temporary(for: Note.self)
    let yes = try texts(Note.where { $0.isSecret }, in: store).hidden
    let no = try texts(Note.where { !$0.isSecret }, in: store).hidden
    #expect(yes.replacing("==", with: "!=") == no.replacing("==", with: "!="))
  }
}
