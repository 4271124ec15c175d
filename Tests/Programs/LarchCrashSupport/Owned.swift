package import Larch

/// A record with an assigned id, and its owner: nobody else may ever write to it.
package struct Owned: Record {
  package var id = RecordID<Owned>()
  package var owner: String
  package var changes = 0

  package static let schema = Schema<Owned> { Index(\.owner) }

  package init(owner: String) { self.owner = owner }

  /// Opens the store with a small map, so that it must grow again and again.
  package static func open(at path: String, runsTwice: Bool = false) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    options.initialMapSize = 64 << 10
    options.runsWritesTwice = runsTwice
    return try Store(at: path, for: Owned.self, options: options)
  }
}
