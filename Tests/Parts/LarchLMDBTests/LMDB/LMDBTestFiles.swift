import Foundation

@testable import Larch

/// A directory that exists for one test.
final class ScratchDirectory: @unchecked Sendable {
  let path: String

  init() throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-lmdb-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var store: String { path + "/test.larch" }

  var names: Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
  }
}

extension LMDBEnvironment.Options {
  /// No flushes: tests are about what is stored, not about power cuts.
  static var quick: Self {
    var options = Self()
    options.durability = .none
    return options
  }

  /// A map so small that a few hundred entries fill it.
  static func small(_ size: Int = 128 << 10) -> Self {
    var options = quick
    options.reservedMapSize = size
    return options
  }
}

extension LMDBEnvironment {
  /// A database of the name, made where needed.
  func database(_ name: String, _ flags: LMDBDatabase.Flags = []) throws -> LMDBDatabase {
    let database = try write { transaction in
      try openDatabase(name, flags.union(.create), in: transaction)
    }
    guard let database else { throw LarchError(.storage, "The database could not be made.") }
    return database
  }

  func read<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
    let reader = try beginRead()
    defer { endRead(reader) }
    return try body(reader.transaction)
  }
}

extension LMDBDatabase {
  func string(_ key: String, in transaction: LMDBTransaction) throws -> String? {
    var key = key
    return try key.withUTF8 { bytes in
      try get(UnsafeRawBufferPointer(bytes), in: transaction).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }

  @discardableResult
  func put(
    _ key: String, _ value: String, in transaction: LMDBTransaction, mode: PutMode = .upsert
  ) throws -> Bool {
    var (key, value) = (key, value)
    return try key.withUTF8 { key in
      try value.withUTF8 { value in
        try put(
          UnsafeRawBufferPointer(key), UnsafeRawBufferPointer(value), in: transaction, mode: mode)
      }
    }
  }
}

/// The error code that a body throws, or nil.
func code<T>(of body: () throws -> T) -> LarchError.Code? {
  do {
    _ = try body()
    return nil
  } catch let error as LarchError {
    return error.code
  } catch {
    return LarchError.Code(rawValue: "another error: \(error)")
  }
}

func withBytes<T>(
  of number: UInt64, _ body: (UnsafeRawBufferPointer) throws -> T
) rethrows -> T {
  try withUnsafeBytes(of: number.bigEndian, body)
}

extension UInt64 {
  init(run bytes: UnsafeRawBufferPointer) {
    self = Self(bigEndian: bytes.loadUnaligned(as: UInt64.self))
  }
}

extension [UInt64] {
  init(run bytes: UnsafeRawBufferPointer) {
    self = stride(from: 0, to: bytes.count, by: 8).map {
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt64.self))
    }
  }
}

extension LMDBDatabase {
  @discardableResult
  func put(
    _ key: UInt64, _ value: UInt64, in transaction: LMDBTransaction, mode: PutMode = .upsert
  ) throws -> Bool {
    try withBytes(of: key) { key in
      try withBytes(of: value) { try put(key, $0, in: transaction, mode: mode) }
    }
  }

  func delete(_ key: UInt64, _ value: UInt64, in transaction: LMDBTransaction) throws -> Bool {
    try withBytes(of: key) { key in
      try withBytes(of: value) { try delete(key, value: $0, in: transaction) }
    }
  }

  func delete(_ key: UInt64, in transaction: LMDBTransaction) throws -> Bool {
    try withBytes(of: key) { try delete($0, in: transaction) }
  }
}

extension LMDBDatabase {
  func number(_ key: UInt64, in transaction: LMDBTransaction) throws -> UInt64? {
    try withBytes(of: key) { try get($0, in: transaction).map { UInt64(run: $0) } }
  }
}

extension LMDBEnvironment {
  var isHoldingReadsBack: Bool {
    readers.mutex.lock()
    defer { readers.mutex.unlock() }
    return readers.blockers.contains(.exclusive)
  }
}
