import Foundation
import Larch

/// `larch info`: what is in a store file.
struct Info {
  let path: String
  let isVerified: Bool

  func run() throws {
    var options = Store.Options()
    options.isReadOnly = true
    options.isVerified = isVerified
    let store = try Store(at: path, options: options)
    defer { store.close() }
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let size = (attributes[.size] as? NSNumber)?.int64Value ?? 0
    print("store \(path)")
    print("size \(size) bytes")
    try store.inspect { inspector in
      for collection in inspector.collections.sorted(by: { $0.name < $1.name }) {
        print("collection \(collection.name): \(collection.recordCount) records")
        for index in collection.indexes.sorted(by: { $0.name < $1.name }) {
          let kind = index.isUnique ? "unique" : "index"
          let state = index.isReady ? "" : ", being built"
          print("  \(kind) \(index.name): \(index.entryCount) entries\(state)")
        }
      }
      for association in inspector.associations { print(association.summary) }
      for migration in inspector.migrations {
        print("migration \(migration.name): \(migration.date.formatted(.iso8601))")
      }
    }
  }
}
