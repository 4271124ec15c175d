import Foundation
import LarchTestSupport
import Testing

@testable import Larch

extension Store.Options {
  static func quick(_ change: (inout Self) -> Void) -> Self {
    var options = quick
    change(&options)
    return options
  }
}

/// A file that types of several versions are opened with, one after the other.
final class EvolutionFile {
  let path: String

  init(copyOf source: URL? = nil) throws {
    path = ScratchFile.freshPath()
    guard let source else { return }
    try FileManager.default.copyItem(atPath: source.path, toPath: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  deinit { ScratchFile.remove(path) }

  @discardableResult
  func open<T>(
    _ types: any Record.Type..., options: Store.Options = .quick, _ body: (Store) throws -> T
  ) throws -> T {
    let store = try Store(path: path, types: types, options: options, isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  /// Opens with the types and does nothing.
  func open(_ types: any Record.Type..., options: Store.Options = .quick) throws {
    try Store(path: path, types: types, options: options, isTemporary: false).close()
  }

  func save<R: Record>(_ records: R..., options: Store.Options = .quick) throws {
    try open(R.self, options: options) { try $0.put(records) }
  }

  /// The error of opening with the types.
  func refusal(
    _ types: any Record.Type..., options: Store.Options = .quick
  ) -> LarchError? {
    do {
      try Store(path: path, types: types, options: options, isTemporary: false).close()
      return nil
    } catch { return error as? LarchError }
  }

  var transactionID: UInt64 {
    get throws { try open { store in try store.read { tx in try tx.storage { $0.id } } } }
  }

  /// Removes from the file the entries that earlier versions of Larch did not write.
  func forgetHistory() throws {
    try open { store throws in
      let storage = try store.environment.openDatabases { transaction in
        try CatalogLoader(store.environment, StoreSchema()).openStorage(in: transaction)
      }
      try store.environment.write { transaction in
        for entry in try storage.collections(in: transaction) {
          try storage.removeFieldHistory(of: entry.id, in: transaction)
        }
      }
    }
  }

  func history(_ collection: String) throws -> FieldHistory? {
    try open { store throws in
      try store.environment.openDatabases { transaction in
        let storage = try CatalogLoader(store.environment, StoreSchema()).openStorage(
          in: transaction)
        let entry = try storage.collections(in: transaction).first { $0.name == collection }
        return try entry.flatMap { try storage.fieldHistory(of: $0.id, in: transaction) }
      }
    }
  }
}

extension Store {
  func put<R: Record>(_ records: [R]) throws {
    try write { tx throws in
      for var record in records { try tx.save(&record) }
    }
  }

  func all<R: Record>(_ type: R.Type) throws -> [R] {
    try read { tx throws in try tx.fetch(R.all) }
  }

  func expectSound(_ location: SourceLocation = #_sourceLocation) throws {
    let report = try verify()
    #expect(report.isClean, "\(report)", sourceLocation: location)
  }
}
