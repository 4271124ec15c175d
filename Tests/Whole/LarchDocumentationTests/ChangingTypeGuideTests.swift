import Foundation
import Larch
import Testing

/// The part of the guide about types that change: several versions of a type over one file.
@Suite("guide.md: changing a type later")
struct ChangingTypeGuideTests {
  struct First: Record {
    static let collectionName = "Plant"
    var id = RecordID<First>()
    var size: Int32
    var name: String
    var gone: Bool
  }

  struct Second: Record {
    static let collectionName = "Plant"
    var id = RecordID<Second>()
    var latinName: String
    var size: Int64
    var note: String?
    var kind: String

    enum CodingKeys: String, CodingKey {
      case id, size, note, kind
      case latinName = "name"
    }

    static let schema = Schema<Second> { Default(\.kind, "tree") }
  }

  struct WithoutDefault: Record {
    static let collectionName = "Plant"
    var id = RecordID<WithoutDefault>()
    var kind: String
  }

  struct Narrow: Record {
    static let collectionName = "Plant"
    var id = RecordID<Narrow>()
    var size: Int8
  }

  @Test("Older records are read as the guide says")
  func changes() throws {
    let path = folder.path("plants.larch")
    let store = try Store(at: path, for: First.self)
    var larch = First(size: 45_000, name: "Larix decidua", gone: true)
    try store.write { tx in try tx.save(&larch) }
    store.close()

    let later = try Store(at: path, for: Second.self)
    let found = try later.read { tx in try tx.find(Second.self, 1) }
    #expect(found?.latinName == "Larix decidua")
    #expect(found?.size == 45_000)
    #expect(found?.note == nil)
    #expect(found?.kind == "tree")
    later.close()
  }

  @Test("A value that cannot be read is an error that names the field")
  func refusals() throws {
    let path = folder.path("plants.larch")
    let store = try Store(at: path, for: First.self)
    var larch = First(size: 45_000, name: "Larix decidua", gone: true)
    try store.write { tx in try tx.save(&larch) }
    store.close()

    func refusal<R: Record>(of type: R.Type) throws -> LarchError.Context? {
      do {
        try Store(at: path, for: type).close()
        return nil
      } catch let error as LarchError where error.code == .schemaMismatch {
        return error.context
      }
    }
    #expect(try refusal(of: WithoutDefault.self)?.field == "kind")
    #expect(try refusal(of: Narrow.self)?.field == "size")
    #expect(try refusal(of: Narrow.self)?.detail == "stored int32, declared int8")
  }

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }
}
