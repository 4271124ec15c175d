import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Exports that were written once when version 1 of the format was final, and must always be
/// readable: those of the golden stores, which have every kind of field, index and association.
///
/// Before the first release they are made again when the format changes, by `larch export`; after
/// it, never.
@Suite("The golden files of version 1 of exports")
struct GoldenExportTests {
  private static let tests = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let exports = tests.appendingPathComponent("Tool/LarchTransferTests/Golden")
  static let stores = tests.appendingPathComponent("Store/LarchStoreTests/Golden")

  private func text(_ name: String) throws -> String {
    try String(
      contentsOf: Self.exports.appendingPathComponent(name + ".jsonl"), encoding: .utf8)
  }

  private func withStore<T>(_ name: String, _ body: (Store) throws -> T) throws -> T {
    try withScratchPath { path throws in
      try FileManager.default.copyItem(
        atPath: Self.stores.appendingPathComponent(name + ".larch").path, toPath: path)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      return try Store.using(path, isReadOnly: true, body)
    }
  }

  @Test("Equal stores give equal texts", arguments: ["format-1", "format-1-associations"])
  func export(name: String) throws {
    let actual = try withStore(name) { try $0.exportText() }
    let difference = TextDifference.between(expected: try text(name), actual: actual)
    #expect(difference == nil, "\(difference ?? "")")
  }

  @Test(
    "It is imported as the original store", arguments: ["format-1", "format-1-associations"])
  func read(name: String) throws {
    let (bytes, dump) = try withStore(name) { store throws in
      (try store.storedBytes(), try store.dump([.records, .associations, .links]))
    }
    try withScratchPath { path throws in
      let summary = try Store.makeStore(
        at: path, from: .file(Self.exports.appendingPathComponent(name + ".jsonl")))
      #expect(summary.recordCount == bytes.count)
      try Store.using(path) { store throws in
        #expect(try store.storedBytes() == bytes)
        // Indexes that need the types are not built here.
        #expect(try store.dump([.records, .associations, .links]) == dump)
      }
    }
  }
}
