import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// An inspection of a store uses the handles of the catalog, even if the file does not have
/// everything that the catalog names.
@Suite struct InspectorHandleTests {
  private struct Club: Record {
    var id: Int
    var name: String
    static let schema = Schema<Self> {
      Index(\.name)
      ManyToMany(Member.self, named: "members")
    }
  }
  private struct Member: Record {
    var id: Int
    static let schema = Schema<Self> { ManyToMany(Club.self, named: "members") }
  }

  private func makeStore() throws -> Store {
    let store = try Store.temporary(for: Club.self, Member.self)
    try store.write { tx in
      var club = Club(id: 7, name: "Chess")
      var member = Member(id: 1)
      try tx.save(&club)
      try tx.save(&member)
    }
    return store
  }

  private func drop(_ name: String, in store: Store) throws {
    try store.environment.write { transaction in
      try LMDBDatabase.open(name, in: transaction)?.drop(in: transaction)
    }
  }

  @Test("An index that is missing in the file is an error and is not ignored")
  func missingIndex() throws {
    let store = try makeStore()
    defer { store.close() }
    let index = try store.inspect { inspector in
      try #require(inspector.collections.first { $0.name == "Club" }?.indexes.first).handle.stored
        .id
    }
    try drop(CatalogStorage.indexName(index), in: store)
    let error = #expect(throws: LarchError.self) { try store.inspect { _ in } }
    #expect(error?.code == .corrupted)
    #expect(error?.context.detail == CatalogStorage.indexName(index))
  }

  @Test("Lists that are missing in the file have no links, and everything else is shown")
  func missingLists() throws {
    let store = try makeStore()
    defer { store.close() }
    let number = try store.inspect { inspector in
      try #require(inspector.associations.first { $0.isLists }).stored.number
    }
    try drop(CatalogStorage.linksName(number), in: store)
    try store.inspect { inspector in
      #expect(inspector.collections.map(\.recordCount) == [1, 1])
      #expect(inspector.collections.flatMap(\.indexes).map(\.entryCount) == [1])
      let lists = try #require(inspector.associations.first { $0.isLists })
      #expect(lists.linkCount == 0)
      try inspector.forEachLink(of: lists) { id, other in
        Issue.record("a link from \(id) to \(other)")
      }
    }
    // The store has a handle of the lists from its types, which is invalid now.
    let untyped = try Store(at: store.path, options: store.options)
    defer { untyped.close() }
    let faults = try untyped.verifyWithoutTypes().report.faults
    #expect(faults.map(\.kind) == [.page])
    #expect(faults.map(\.association) == [lists(in: untyped)])
  }

  private func lists(in store: Store) -> String? {
    try? store.inspect { $0.associations.first { $0.isLists }?.key }
  }
}
