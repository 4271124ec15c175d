import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Unique indexes")
struct UniqueIndexTests {
  struct Page: Record, Equatable {
    var id = RecordID<Page>()
    var slugs: [String?] = []
    var title: String?
    var place: Int?
    var number = 0.0
    static let schema = Schema<Page> {
      Unique(\.slugs)
      Unique(\.title, options: .caseInsensitive)
      Unique(\.title, \.place, name: "both")
    }
  }
  struct Measure: Record, Equatable {
    var id = RecordID<Measure>()
    var value: Double
    static let schema = Schema<Measure> { Unique(\.value) }
  }
  struct PlainMeasure: Record, Equatable {
    var id = RecordID<Measure>()
    var value: Double
    static let collectionName = "Measure"
  }

  private let long = String(repeating: "long ", count: 100)

  @Test(
    "An element belongs to one record; nils and long elements that only begin alike do not clash")
  func elements() throws {
    let store = try Store.temporary(for: Page.self)
    try store.saveAll([
      Page(slugs: ["a", "b", "a", nil]), Page(slugs: ["c", nil, long + "1"]),
      Page(slugs: [nil, long + "2", long + "3"]), Page(slugs: []), Page(slugs: []),
    ])
    for slugs in [["x", "b"], [long + "3"], [nil, "c"]] {
      let error = caught { try store.saveAll([Page(slugs: slugs)]) }
      #expect(error?.code == .uniqueConflict, "\(slugs)")
      #expect(error?.context.index == "slugs")
    }
    // A value may move to another record in one write, and a record keeps its own.
    try store.write { tx throws in
      try tx.update(Page(id: 1, slugs: ["b"]))
      try tx.update(Page(id: 4, slugs: ["a", nil]))
      try tx.update(Page(id: 2, slugs: [long + "4", nil]))
      try tx.update(Page(id: 5, slugs: [long + "1", nil]))
    }
    #expect(try store.verify().isClean)
    try store.rebuild()
    #expect(try store.verify().isClean)
  }

  @Test("Without case, and with several fields, only whole equal values clash")
  func combinations() throws {
    let store = try Store.temporary(for: Page.self)
    try store.saveAll([Page(title: "Ada", place: nil), Page(title: nil, place: 1)])
    try store.saveAll([Page(title: nil, place: 1), Page(title: long + "A")])
    try store.saveAll([Page(title: long + "B")])
    for title in ["ada", "ADA", long.uppercased() + "b"] {
      let error = caught { try store.saveAll([Page(title: title, place: 7)]) }
      #expect(error?.code == .uniqueConflict, "\(title)")
      #expect(error?.context.index == "title")
    }
    #expect(try store.everything(Page.self).count == 5)
    #expect(try store.verify().isClean)
    try store.rebuild()
    #expect(try store.verify().isClean)
  }

  @Test("Numbers are equal as in Swift: 0.0 and -0.0 clash, NaN clashes with nothing")
  func numbers() throws {
    try withScratchPath { path throws in
      try Store.using(path, Measure.self) { store throws in
        try store.saveAll([Measure(value: 0), Measure(value: .nan), Measure(value: 1)])
        #expect(caught { try store.saveAll([Measure(value: -0.0)]) }?.code == .uniqueConflict)
        #expect(caught { try store.saveAll([Measure(value: .nan)]) } == nil)
        #expect(try store.verify().isClean)
        try store.rebuild()
      }
      try Store.using(path, PlainMeasure.self) { try $0.saveAll([PlainMeasure(value: .nan)]) }
      try Store.using(path, Measure.self) { #expect($0.path == path) }
    }
  }

  @Test("A long text and a nil together are no conflict either, also when built anew")
  func longAndNil() throws {
    let store = try Store.temporary(for: Versioned.self)
    try store.saveAll([Versioned(text: long), Versioned(text: long), Versioned(text: long, at: 1)])
    #expect(caught { try store.saveAll([Versioned(text: long, at: 1)]) }?.code == .uniqueConflict)
    try store.saveAll([Versioned(text: long, at: 2)])
    #expect(try store.verify().isClean)
    try store.rebuild()
    #expect(try store.entries("text_at").count == 4)
  }

  struct Versioned: Record, Equatable {
    var id = RecordID<Versioned>()
    var text: String
    var at: Int?
    static let schema = Schema<Versioned> { Unique(\.text, \.at) }
  }

  @Test("Beside a writing store, a process opens the same file read-only not by accident")
  func sharedWithReadOnly() throws {
    try withScratchPath { path throws in
      try Store.using(path, Measure.self) { try $0.saveAll([Measure(value: 1)]) }
      let readOnly = Store.Options.quick.with { $0.isReadOnly = true }
      let reader = try Store(at: path, for: Measure.self, options: readOnly)
      let error = caught { try Store.using(path, Measure.self) { _ in } }
      #expect(error?.context.path == path)
      #expect(error?.message.contains("close it first") == true)
      #expect(try reader.everything(Measure.self).map(\.value) == [1])
      reader.close()
      try Store.using(path, Measure.self) { try $0.saveAll([Measure(value: 2)]) }
    }
  }
}
