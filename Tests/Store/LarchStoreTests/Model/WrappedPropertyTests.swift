import LarchTestSupport
import Testing

@testable import Larch

/// A key path through a property wrapper leads to a computed property, so an index over it needs a
/// name, as `docs/limits.md` says.
@Suite("Properties with a wrapper")
struct WrappedPropertyTests {
  @propertyWrapper
  struct Trimmed: Codable, Sendable {
    private var text: String
    var wrappedValue: String {
      get { text }
      set { text = newValue.filter { $0 != " " } }
    }
    init(wrappedValue: String) { text = wrappedValue.filter { $0 != " " } }
  }

  struct Named: Record {
    var id = RecordID<Named>()
    @Trimmed var name: String
    static let schema = Schema<Named> { Index(\.name, name: "name") }
  }

  struct Unnamed: Record {
    var id = RecordID<Unnamed>()
    @Trimmed var name: String
    static let schema = Schema<Unnamed> { Index(\.name) }
  }

  @Test("An index over one needs a name, and then answers queries")
  func named() throws {
    let store = try Store.temporary(for: Named.self)
    try store.write { tx in
      for number in 0..<40 {
        var record = Named(name: "n \(number)")
        try tx.insert(&record)
      }
    }
    let query = Named.where { $0.name == "n7" }
    #expect(try store.explain(query).hasPrefix("index name"))
    #expect(try store.fetch(query).map(\.name) == ["n7"])
    #expect(try store.fetch(Named.all).filter { $0.name == "n7" }.count == 1)
    #expect(caught { _ = try Store.temporary(for: Unnamed.self) }?.code == .invalidSchema)
  }
}
