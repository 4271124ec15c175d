/// The catalog entry of a migration that has run.
package struct AppliedMigration: Equatable, Sendable {
  package var name: String
  /// 1 for the first one that ran on the file, 2 for the second.
  var number: UInt32
  /// When it ran, in seconds since 2001.
  package var date: Double

  func encoded() -> [UInt8] {
    var writer = StoredWriter()
    writer.append(number)
    writer.append(date.bitPattern)
    return writer.bytes
  }

  package init(name: String, number: UInt32, date: Double) {
    self.name = name
    self.number = number
    self.date = date
  }

  init(name: String, decoding bytes: UnsafeRawBufferPointer) throws {
    self.name = name
    var reader = StoredReader(bytes)
    number = try reader.integer()
    date = Double(bitPattern: try reader.integer())
    try reader.expectEnd()
  }
}

extension CatalogStorage {
  /// The maximum length of a migration's name in bytes: it is a part of a key.
  package static let migrationNameLimit = 255

  /// In the order in which they ran.
  package func migrations(in transaction: LMDBTransaction) throws -> [AppliedMigration] {
    var found: [AppliedMigration] = []
    let prefix = Key.migrationPrefix
    var cursor = try LMDBCursor(entries, in: transaction)
    var entry = try prefix.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
    while let here = entry, here.key.starts(with: prefix) {
      let value = try CatalogStorage.checked(here.value, key: here.key)
      found.append(try CatalogStorage.migration(here.key, value))
      entry = try cursor.next()
    }
    return found.sorted { $0.number < $1.number }
  }

  /// The migration of an entry, from its key, which has the prefix of migrations, and its value.
  static func migration(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws -> AppliedMigration {
    let name = UnsafeRawBufferPointer(rebasing: key.dropFirst(Key.migrationPrefix.count))
    guard let text = String(validating: name, as: UTF8.self) else {
      throw LarchError(
        .corrupted, "The catalog of the store is damaged; restore a backup, or salvage the file.")
    }
    return try AppliedMigration(name: text, decoding: value)
  }

  package func set(_ migration: AppliedMigration, in transaction: LMDBTransaction) throws {
    try set(.migration(migration.name), to: migration.encoded(), in: transaction)
  }
}
