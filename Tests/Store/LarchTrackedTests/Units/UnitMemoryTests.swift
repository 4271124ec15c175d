import Testing

@testable import Larch

/// What a unit of work keeps in memory.
@Suite struct UnitMemoryTests {
  typealias Entry = Units.Entry

  let store: Store
  init() throws { store = try Units.store() }

  func entry(_ name: String) throws -> Entry {
    var entry = Entry(name: name, code: nil)
    try store.save(&entry)
    return entry
  }

  @Test func aUnitThatGoesAwayFreesItsDrafts() throws {
    let saved = try entry("a")
    weak var unit: UnitOfWork?
    weak var loaded: AnyDraft?
    weak var added: AnyDraft?
    do {
      let work = store.work()
      unit = work
      let draft = try #require(try work.draft(Entry.self, saved.id))
      loaded = draft
      added = try work.insert(Entry(name: "b"))
      draft.name = "c"
      work.undo()
      try work.delete(draft)
    }
    #expect(unit == nil && loaded == nil && added == nil)
  }

  @Test func onlyDraftsWithChangesAreKept() throws {
    for number in 0..<200 { _ = try entry("\(number)") }
    let work = store.work()
    weak var edited: Draft<Entry>?
    weak var read: Draft<Entry>?
    do {
      let drafts = try work.drafts(Entry.all)
      edited = drafts[3]
      read = drafts[4]
      drafts[3].name = "edited"
    }
    #expect(read == nil && edited?.name == "edited")
    for _ in 0..<3 { #expect(try work.drafts(Entry.all).count == 200) }
    #expect(work.draftCount < 500)
    try work.commit()
    #expect(edited == nil)
  }

  @Test func aDraftOutlivesItsUnit() throws {
    var work: UnitOfWork? = store.work()
    let draft = try #require(try work?.insert(Entry(name: "a")))
    work = nil
    draft.name = "b"
    #expect(draft.name == "b")
  }
}
