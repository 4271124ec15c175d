import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@_silgen_name("setfsuid") private func setFileSystemUser(_ user: UInt32) -> CInt

/// Files that are not valid stores: each gives its typed error, with the path and what to do.
@Suite("Opening files that are not valid stores")
struct StoreOpeningTests {
  /// The bytes of a store with records and entries on several pages.
  private func sound() throws -> [UInt8] {
    try withScratchPath { path throws in
      try Store.using(path, Company.self, Document.self) { store in
        try store.saveAll((0..<200).map { Company(name: "company \($0)") })
        try store.saveAll([Document(id: "d", text: String(repeating: "long ", count: 3000))])
      }
      return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }
  }

  private func opening(
    _ bytes: [UInt8], options: Store.Options = .quick, _ types: [any Record.Type] = [Company.self]
  ) throws -> LarchError? {
    try withScratchPath { path throws in
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let error = caught {
        let store = try Store(path: path, types: types, options: options, isTemporary: false)
        defer { store.close() }
        _ = try store.dump()
      }
      if let error {
        #expect(error.context.path == path, "\(error)")
        #expect(error.message.contains(";"), "no advice: \(error)")
        #expect(
          try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes), "the file was changed")
      }
      return error
    }
  }

  @Test("A file cut at any length is refused as truncated, by default and verified")
  func truncated() throws {
    let bytes = try sound()
    #expect(try opening(bytes) == nil)
    var lengths = Array(stride(from: 512, to: bytes.count, by: 512))
    lengths += [1, 2, 16, 100, 200, 4095, 4097, 8191, 8193, bytes.count - 1]
    for length in lengths {
      for isVerified in [false, true] where !isVerified || length % 2048 < 2 {
        let error = try opening(
          Array(bytes[..<length]), options: .quick.with { $0.isVerified = isVerified })
        let expected: Set<LarchError.Code> =
          length < 8192 ? [.truncated, .notAStore, .corrupted] : [.truncated]
        #expect(error.map { expected.contains($0.code) } == true, "\(length): \(error as Any)")
      }
    }
  }

  @Test("Empty files, texts, zeros and noise are not stores")
  func foreign() throws {
    var random = SeededGenerator(seed: 3)
    let noise = (0..<20_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    for bytes in [
      [], Array("hello".utf8), Array(String(repeating: "text\n", count: 4000).utf8),
      [UInt8](repeating: 0, count: 16_384), noise, Array("SQLite format 3\0".utf8) + noise,
    ] {
      #expect(try opening(bytes)?.code == .notAStore)
      #expect(try opening(bytes, options: .quick.with { $0.isReadOnly = true })?.code == .notAStore)
    }
  }

  @Test("An LMDB file of another program is not a store, and stays as it is")
  func foreignLMDB() throws {
    try withScratchPath { path throws in
      let environment = try LMDBEnvironment.open(
        path: path, options: Store.Options.quick.forEnvironment(StoreSchema())
      ) { transaction in
        let database = try LMDBDatabase.open("other", .create, in: transaction)
        try [UInt8]("key".utf8).withUnsafeBytes { key in
          _ = try database?.put(key, key, in: transaction)
        }
      }
      environment.close()
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      let error = try opening(bytes)
      #expect(error?.code == .notAStore)
      #expect(error?.message.contains("LMDB") == true)
    }
  }

  @Test("A file of a newer format, of Larch or of LMDB, is refused with that reason")
  func newer() throws {
    try withScratchPath { path throws in
      try Store.using(path, Company.self) { store in
        try store.environment.write { transaction in
          let storage = try CatalogLoader(store.environment, StoreSchema()).openStorage(
            in: transaction)
          var format = StoredFormat(unicodeVersion: "99.0")
          format.version = 7
          format.minimumReader = 1
          try storage.set(.format, to: format.encoded() + [1, 2, 3], in: transaction)
        }
      }
      // A newer writer that this version understands.
      try Store.using(path, Company.self) { try $0.saveAll([Company(name: "a")]) }
      try Store.using(path, Company.self) { store in
        try store.environment.write { transaction in
          let storage = try CatalogLoader(store.environment, StoreSchema()).openStorage(
            in: transaction)
          var format = StoredFormat(unicodeVersion: "99.0")
          format.version = 7
          format.minimumReader = StoredFormat.newest + 1
          try storage.set(.format, to: format.encoded(), in: transaction)
        }
      }
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      for isReadOnly in [false, true] {
        let error = try opening(bytes, options: .quick.with { $0.isReadOnly = isReadOnly })
        #expect(error?.code == .newerFormat)
        #expect(error?.context.detail == "format 7")
      }
    }
    var bytes = try sound()
    for page in [0, 4096] { bytes[page + 20] = 2 }
    #expect(try opening(bytes)?.code == .newerFormat)
  }

  @Test("A damaged catalog is an error, not other data")
  func damagedCatalog() throws {
    let bytes = try sound()
    for text in ["collection/Company", "generation", "format"] {
      let pattern = Array(text.utf8)
      var changed = bytes
      var hits = 0
      for start in 0..<(bytes.count - pattern.count)
      where bytes[start] == pattern[0] && Array(bytes[start..<(start + pattern.count)]) == pattern {
        // The value follows its key.
        changed[start + pattern.count + 1] ^= 0x10
        hits += 1
      }
      #expect(hits > 0)
      #expect(try opening(changed, [Company.self, Document.self])?.code == .corrupted, "\(text)")
    }
  }

  @Test("A missing file or directory, a directory, a link to nothing")
  func missing() throws {
    try withScratchPath { path throws in
      let exists = { FileManager.default.fileExists(atPath: path) }
      for change: (inout Store.Options) -> Void in [
        { $0.createsFile = false }, { $0.isReadOnly = true },
      ] {
        let error = caught {
          try Store.using(path, Company.self, options: .quick.with(change)) { _ in }
        }
        #expect(error?.code == .fileNotFound)
        #expect(error?.context.path == path)
        #expect(!exists())
      }
      let inside = caught { try Store.using(path + "/store.larch", Company.self) { _ in } }
      #expect(inside?.code == .fileNotFound)
      #expect(inside?.context.path == path + "/store.larch")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: path) }
      let directory = caught { try Store.using(path, Company.self) { _ in } }
      #expect(directory?.code == .unsuitableFile)
      #expect(directory?.context.path == path)
    }
    #expect(caught { try Store.using("", Company.self) { _ in } } != nil)
    #expect(caught { try Store.using("a\0b", Company.self) { _ in } } != nil)
  }

  @Test("A file that may not be read, or not be written, is refused as such")
  func permissions() throws {
    #if os(Linux)
      // The user of file operations can be changed for this thread alone.
      guard geteuid() == 0 else { return }
      try withScratchPath { path throws in
        try Store.using(path, Company.self) { try $0.saveAll([Company(name: "a")]) }
        var errors: [LarchError?] = []
        for mode: mode_t in [0o000, 0o444] {
          chmod(path, mode)
          _ = setFileSystemUser(65534)
          errors.append(caught { try Store.using(path, Company.self) { _ in } })
          _ = setFileSystemUser(0)
        }
        for error in errors {
          #expect(error?.code == .accessDenied, "\(error as Any)")
          #expect(error?.context.path == path)
        }
        chmod(path, 0o600)
        let count = try Store.using(path, Company.self) { try $0.everything(Company.self).count }
        #expect(count == 1)
      }
    #endif
  }

  @Test("After a failed opening, a valid file can be opened again")
  func goesOn() throws {
    let bytes = try sound()
    try withScratchPath { path throws in
      let url = URL(fileURLWithPath: path)
      try Data(bytes.prefix(12_288)).write(to: url)
      #expect(caught { try Store.using(path, Company.self) { _ in } }?.code == .truncated)
      try Data(bytes).write(to: url)
      try Store.using(path, Company.self) { store throws in
        #expect(try store.everything(Company.self).count == 200)
        try store.saveAll([Company(name: "more")])
      }
    }
  }

  /// LMDB does not write a page that a transaction took from the end of the file and gave back.
  @Test("A file that ends before unused pages opens, by default and verified")
  func shorterThanItsHeader() throws {
    try withScratchPath { path throws in
      var shorter = 0
      for round in 1...20 {
        try Store.using(path, Company.self) { store in
          try store.write { tx in
            var some = (0..<round * 30).map { Company(name: "company \(round) \($0)") }
            for index in some.indices { try tx.save(&some[index]) }
            for company in some.dropFirst().reversed() { try tx.delete(company) }
          }
        }
        let file = try PageFile(path: path)
        let meta = try FileCheck.header(file)
        if file.length / UInt64(meta.pageSize) < meta.lastPage + 1 { shorter += 1 }
        for isVerified in [false, true] {
          let options = Store.Options.quick.with { $0.isVerified = isVerified }
          try Store.using(path, Company.self, options: options) { store throws in
            #expect(try store.everything(Company.self).count == round)
            #expect(try store.verify().isClean)
          }
        }
      }
      #expect(shorter > 0, "none of the files was shorter than its header says")
    }
  }
}
