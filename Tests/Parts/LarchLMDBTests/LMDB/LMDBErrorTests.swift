import CLMDB
import Foundation
import Testing

@testable import Larch

struct LMDBErrorTests {
  @Test(
    "Every return code of LMDB and of the system has a kind, a cause and a code for users",
    arguments: [
      (MDB_KEYEXIST, .keyExists, .storage), (MDB_NOTFOUND, .notFound, .storage),
      (MDB_PAGE_NOTFOUND, .pageNotFound, .corrupted), (MDB_CORRUPTED, .corrupted, .corrupted),
      (MDB_PANIC, .panic, .ioFailure), (MDB_VERSION_MISMATCH, .versionMismatch, .newerFormat),
      (MDB_INVALID, .invalidFile, .notAStore), (MDB_MAP_FULL, .mapFull, .mapFull),
      (MDB_DBS_FULL, .databasesFull, .storage), (MDB_READERS_FULL, .readersFull, .readersFull),
      (MDB_TLS_FULL, .threadKeysFull, .outOfResources), (MDB_TXN_FULL, .transactionFull, .storage),
      (MDB_CURSOR_FULL, .cursorFull, .corrupted), (MDB_PAGE_FULL, .pageFull, .corrupted),
      (MDB_MAP_RESIZED, .mapResized, .mapFull), (MDB_INCOMPATIBLE, .incompatible, .schemaChanged),
      (MDB_BAD_RSLOT, .badReaderSlot, .storage), (MDB_BAD_TXN, .badTransaction, .storage),
      (MDB_BAD_VALSIZE, .badValueSize, .storage), (MDB_BAD_DBI, .badDatabase, .schemaChanged),
      (ENOSPC, .diskFull, .diskFull), (EDQUOT, .diskFull, .diskFull), (EFBIG, .diskFull, .diskFull),
      (EIO, .ioFailure, .ioFailure), (EBADF, .ioFailure, .ioFailure),
      (EACCES, .accessDenied, .accessDenied), (EPERM, .accessDenied, .accessDenied),
      (EROFS, .readOnlyFileSystem, .readOnly), (ENOENT, .fileNotFound, .fileNotFound),
      (ENOMEM, .outOfMemory, .outOfResources), (EAGAIN, .busy, .outOfResources),
      (EBUSY, .busy, .outOfResources), (EINVAL, .invalidArgument, .storage),
      (EMFILE, .tooManyFiles, .outOfResources), (EEXIST, .fileExists, .fileExists),
      (EISDIR, .unsuitablePath, .unsuitableFile), (-1, .unknown, .storage),
    ] as [(Int32, LMDBError.Kind, LarchError.Code)])
  func mapping(code: Int32, kind: LMDBError.Kind, expected: LarchError.Code) {
    let error = LMDBError(code, "mdb_test")
    #expect(error.kind == kind)
    #expect(!error.cause.isEmpty)
    let larch = error.larchError(path: "/a/b.larch")
    #expect(larch.code == expected)
    #expect(larch.context.path == "/a/b.larch")
    #expect(larch.message.hasSuffix("."))
    #expect(larch.underlying as? LMDBError == error)
    #expect("\(larch)".contains("mdb_test: \(error.cause) (\(code))"))
  }

  @Test("The header of LMDB defines no error that Larch does not know")
  func completeness() {
    #expect(MDB_LAST_ERRCODE == MDB_BAD_DBI)
    for code in MDB_KEYEXIST...MDB_LAST_ERRCODE {
      #expect(LMDBError(code, "mdb_test").kind != .unknown, "\(code)")
    }
  }

  @Test("Misuse that LMDB reports comes as its error, in the function that met it")
  func misuse() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let plain = try environment.database("plain")
    let sorted = try environment.database("sorted", [.duplicates, .fixedDuplicates])
    #expect(try environment.read { try sorted.flags(in: $0) } == [.duplicates, .fixedDuplicates])
    let big = [UInt8](repeating: 1, count: 600)
    let kinds = try environment.write { transaction in
      [
        kind { try big.withUnsafeBytes { try plain.put($0, $0, in: transaction) } },
        kind { try plain.put("", "value", in: transaction) },
        kind { try LMDBCursor(plain, in: transaction).duplicateCount() },
        kind {
          try LMDBDatabase(handle: 400).get(
            UnsafeRawBufferPointer(start: nil, count: 0), in: transaction)
        },
      ]
    }
    #expect(kinds == [.badValueSize, .badValueSize, .incompatible, .invalidArgument])
    let onRead = try environment.read { transaction in
      [
        kind { try plain.put("key", "value", in: transaction) },
        kind { try transaction.beginChild() },
      ]
    }
    #expect(onRead == [.accessDenied, .invalidArgument])
  }

  @Test("More databases than configured are refused by name")
  func tooManyDatabases() throws {
    let scratch = try ScratchDirectory()
    var options = LMDBEnvironment.Options.quick
    options.maxDatabases = 2
    let environment = try LMDBEnvironment.open(path: scratch.store, options: options)
    defer { environment.close() }
    _ = try environment.database("a")
    _ = try environment.database("b")
    let error = #expect(throws: LarchError.self) { try environment.database("c") }
    #expect((error?.underlying as? LMDBError)?.kind == .databasesFull)
  }

  private func kind<T: ~Copyable>(_ body: () throws -> T) -> LMDBError.Kind? {
    do {
      _ = try body()
      return nil
    } catch {
      return (error as? LMDBError)?.kind
    }
  }
}

struct LMDBDatabaseTests {
  @Test("Put modes keep existing values as promised")
  func modes() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let plain = try environment.database("plain")
    let sorted = try environment.database("sorted", [.duplicates])
    let answers = try environment.write { transaction in
      [
        try plain.put("b", "1", in: transaction, mode: .ifAbsent),
        try plain.put("b", "2", in: transaction, mode: .ifAbsent),
        try plain.put("a", "1", in: transaction, mode: .append),
        try plain.put("c", "1", in: transaction, mode: .append),
        try sorted.put("a", "1", in: transaction, mode: .ifPairAbsent),
        try sorted.put("a", "1", in: transaction, mode: .ifPairAbsent),
        try sorted.put("a", "3", in: transaction, mode: .appendDuplicate),
        try sorted.put("a", "2", in: transaction, mode: .appendDuplicate),
      ]
    }
    #expect(answers == [true, false, false, true, true, false, true, false])
    let values = try environment.read { transaction in
      try ["a", "b", "c"].map { try plain.string($0, in: transaction) }
    }
    #expect(values == [nil, "1", "1"])
  }

  @Test("Deleting returns whether there was a value; empty values are values")
  func deleting() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a", [.duplicates, .fixedDuplicates])
    let plain = try environment.database("b")
    let answers = try environment.write { transaction in
      for value in UInt64(0)..<3 { try database.put(1, value, in: transaction) }
      try plain.put("empty", "", in: transaction)
      return [
        try database.delete(1, 1, in: transaction), try database.delete(1, 1, in: transaction),
        try database.delete(1, in: transaction), try database.delete(1, in: transaction),
      ]
    }
    #expect(answers == [true, false, true, false])
    #expect(try environment.read { try plain.string("empty", in: $0) } == "")
  }

  @Test("Emptying keeps a database, dropping removes it, a rollback undoes either")
  func dropping() throws {
    struct Undo: Error {}
    let scratch = try ScratchDirectory()
    var environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    let database = try environment.database("a")
    try environment.write { transaction in
      for key in UInt64(0)..<1_000 { try database.put(key, key, in: transaction) }
    }
    let statistics = try environment.read { try database.statistics(in: $0) }
    #expect(statistics.entries == 1_000)
    #expect(statistics.depth == 2)
    #expect(statistics.leafPages > 4)
    #expect(throws: Undo.self) {
      try environment.write { transaction in
        try database.empty(in: transaction)
        throw Undo()
      }
    }
    #expect(try environment.read { try database.statistics(in: $0).entries } == 1_000)
    try environment.write { try database.empty(in: $0) }
    #expect(try environment.read { try database.statistics(in: $0).entries } == 0)
    try environment.write { try database.drop(in: $0) }
    environment.close()
    environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    #expect(try environment.openDatabases { try LMDBDatabase.open("a", in: $0) } == nil)
    environment.close()
  }
}
