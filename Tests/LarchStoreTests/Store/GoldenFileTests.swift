import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A file that was written once when format 1 was settled, and must always read the same.
///
/// Before the first release it is made again when the format changes, by `LARCH_WRITE_GOLDEN=1
/// swift test --filter GoldenFileTests`; after it, never.
@Suite("The golden file of format 1", .serialized)
struct GoldenFileTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Golden")
  private static let file = folder.appendingPathComponent("format-1.larch")
  private static let text = folder.appendingPathComponent("format-1.txt")
  private static let types: [any Record.Type] = [
    Golden.Kinds.self, Golden.Parcel.self, Golden.Named.self, Golden.Signed.self,
    Golden.Unsigned.self, Golden.Tokened.self, Golden.Empty.self,
  ]

  @Test(
    "It is written", .enabled(if: ProcessInfo.processInfo.environment["LARCH_WRITE_GOLDEN"] != nil))
  func write() throws {
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    try withScratchPath { path throws in
      try Store.using(path, Golden.OldParcel.self) { store throws in
        try store.saveAll([
          Golden.OldParcel(name: "first", weight: 1), Golden.OldParcel(name: "", weight: -7),
        ])
      }
      let store = try Store(path: path, types: Self.types, options: .quick, isTemporary: false)
      defer { store.close() }
      try store.saveAll(Golden.Kinds.all)
      try store.saveAll([
        Golden.Parcel(id: 2, name: "second", weight: 1 << 40, note: "heavy", category: "express"),
        Golden.Parcel(id: 3, name: "third", weight: 1, note: nil, category: "express"),
        Golden.Parcel(id: 0, name: "deleted", weight: 0, note: nil, category: ""),
      ])
      try store.write { tx throws in try tx.delete(Golden.Parcel.self, 4) }
      try store.saveAll(Golden.Named.all)
      try store.saveAll(
        Golden.Signed.values.enumerated().map { Golden.Signed(id: Int64($0) - 3, value: $1) })
      try store.saveAll(Golden.Unsigned.all)
      try store.saveAll(Golden.Tokened.all)
      try? FileManager.default.removeItem(at: Self.file)
      try store.environment.copy(to: Self.file.path, compacting: true)
      try store.dump().write(to: Self.text, atomically: true, encoding: .utf8)
    }
  }

  private func withCopy(_ body: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      try FileManager.default.copyItem(atPath: Self.file.path, toPath: path)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      try body(path)
    }
  }

  @Test("Every record reads as it was written, every index is right, and the text is the same")
  func read() throws {
    try withCopy { path throws in
      let options = Store.Options.quick.with { $0.isVerified = true }
      let store = try Store(path: path, types: Self.types, options: options, isTemporary: false)
      defer { store.close() }
      // Opened unchanged: nothing was rebuilt or added.
      let transaction = try store.environment.info().lastTransactionID
      #expect(try store.everything(Golden.Kinds.self) == Golden.Kinds.all)
      #expect(
        try store.everything(Golden.Parcel.self) == [
          Golden.Parcel(id: 1, name: "first", weight: 1, note: nil, category: "standard"),
          Golden.Parcel(id: 2, name: "second", weight: 1 << 40, note: "heavy", category: "express"),
          Golden.Parcel(id: 3, name: "third", weight: 1, note: nil, category: "express"),
        ])
      #expect(try store.everything(Golden.Named.self) == Golden.Named.all)
      #expect(
        try store.everything(Golden.Signed.self).map(\.value.bitPattern)
          == Golden.Signed.values.map(\.bitPattern))
      #expect(try store.everything(Golden.Signed.self).map(\.id) == Array(-3...3))
      #expect(try store.everything(Golden.Unsigned.self) == Golden.Unsigned.all)
      #expect(try store.everything(Golden.Tokened.self) == Golden.Tokened.all)
      #expect(try store.everything(Golden.Empty.self) == [])
      let report = try store.verify()
      #expect(report.isClean, "\(report)")
      let expected = try String(contentsOf: Self.text, encoding: .utf8)
      let difference = TextDifference.between(expected: expected, actual: try store.dump())
      #expect(difference == nil, "\(difference ?? "")")
      #expect(try store.environment.info().lastTransactionID == transaction)

      // The rebuilt indexes equal the old ones.
      try store.rebuild()
      #expect(TextDifference.between(expected: expected, actual: try store.dump()) == nil)
      var parcel = Golden.Parcel(name: "new", weight: 2, note: nil, category: "x")
      try store.write { try $0.save(&parcel) }
      #expect(parcel.id == 5)
      #expect(try store.verify().isClean)
    }
  }

  @Test("It reads without any of its types, read-only, and after a salvage")
  func withoutTypes() throws {
    let expected = try String(contentsOf: Self.text, encoding: .utf8)
    try withCopy { path throws in
      let options = Store.Options.quick.with { $0.isReadOnly = true }
      try Store.using(path, options: options) { store throws in
        #expect(TextDifference.between(expected: expected, actual: try store.dump()) == nil)
      }
      try withScratchPath { target throws in
        let report = try Store.salvage(path, to: target)
        #expect(report.damage == [])
        let store = try Store(path: target, types: Self.types, options: .quick, isTemporary: false)
        defer { store.close() }
        let difference = TextDifference.between(expected: expected, actual: try store.dump())
        #expect(difference == nil, "\(difference ?? "")")
      }
    }
  }
}

/// The same for associations: a second file, so that the first stays as it was written.
@Suite("The golden file of associations in format 1", .serialized)
struct GoldenAssociationTests {
  private typealias G = GoldenAssociations
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Golden")
  private static let file = folder.appendingPathComponent("format-1-associations.larch")
  private static let text = folder.appendingPathComponent("format-1-associations.txt")

  @Test(
    "It is written", .enabled(if: ProcessInfo.processInfo.environment["LARCH_WRITE_GOLDEN"] != nil))
  func write() throws {
    try withScratchPath { path throws in
      let store = try Store(path: path, types: G.types, options: .quick, isTemporary: false)
      defer { store.close() }
      try store.write { tx throws in
        for var town in G.towns { try tx.insert(&town) }
        for var badge in G.badges { try tx.insert(&badge) }
        for var team in G.teams { try tx.insert(&team) }
        for var person in G.people { try tx.insert(&person) }
        for var letter in G.letters { try tx.insert(&letter) }
        try G.link(tx)
      }
      try? FileManager.default.removeItem(at: Self.file)
      try store.environment.copy(to: Self.file.path, compacting: true)
      try store.dump().write(to: Self.text, atomically: true, encoding: .utf8)
    }
  }

  @Test("Associations and links read as they were written, without a change, and after a salvage")
  func read() throws {
    let expected = try String(contentsOf: Self.text, encoding: .utf8)
    try withScratchPath { path throws in
      try FileManager.default.copyItem(atPath: Self.file.path, toPath: path)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      let options = Store.Options.quick.with { $0.isVerified = true }
      let store = try Store(path: path, types: G.types, options: options, isTemporary: false)
      defer { store.close() }
      let transaction = try store.environment.info().lastTransactionID
      #expect(try store.everything(G.Person.self) == G.people)
      #expect(try store.everything(G.Letter.self) == G.letters)
      let one = G.people[8]
      #expect(
        Set(try one.related(G.Person.visited).ids(in: store)) == Set(G.towns.map(\.id)))
      #expect(try one.related(G.Person.teams).ids(in: store) == [.min])
      #expect(try G.people[13].related(G.Person.teams).ids(in: store) == [.min, .max])
      let report = try store.verify()
      #expect(report.isClean, "\(report)")
      #expect(report.linkCount == 300 + 42 + 299 + 2 + 304, "\(report)")
      #expect(TextDifference.between(expected: expected, actual: try store.dump()) == nil)
      #expect(try store.environment.info().lastTransactionID == transaction)
      try store.rebuild()
      #expect(TextDifference.between(expected: expected, actual: try store.dump()) == nil)
    }
    try withScratchPath { target throws in
      let report = try Store.salvage(Self.file.path, to: target)
      #expect(report.damage == [])
      let store = try Store(path: target, types: G.types, options: .quick, isTemporary: false)
      defer { store.close() }
      #expect(TextDifference.between(expected: expected, actual: try store.dump()) == nil)
      #expect(try store.verify().isClean)
    }
  }
}
