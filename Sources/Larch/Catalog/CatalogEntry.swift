/// The catalog entry of one index.
package struct StoredIndex: Equatable, Sendable {
  /// Whether the entries of an index are complete. The raw values are part of the file format.
  package enum State: UInt8, Sendable {
    /// The index is being built; writers maintain it, and no query uses it.
    case building = 1
    /// Every record has its entries.
    case ready = 2
  }

  package var id: UInt32
  package var name: String
  package var isUnique: Bool
  /// How the entries are made, as text (`IndexSchema.definition`); another text means other keys.
  package var definition: String
  package var state: State

  /// Whether it is an index of words.
  package var isSearch: Bool { definition.hasPrefix(SearchDefinition.beginning + ";") }
}

/// The catalog entry of one collection.
package struct StoredCollection: Equatable, Sendable {
  package var id: UInt32
  package var name: String
  package var typeName: String
  package var idKind: RecordIDKind
  package var indexes: [StoredIndex]

  func encoded() -> [UInt8] {
    var writer = StoredWriter()
    writer.append(id)
    writer.append(name)
    writer.append(typeName)
    writer.append(idKind.rawValue)
    writer.append(varint: UInt64(indexes.count))
    for index in indexes {
      writer.append(index.id)
      writer.append(index.name)
      writer.append(UInt8(index.isUnique ? 1 : 0))
      writer.append(index.definition)
      writer.append(index.state.rawValue)
    }
    return writer.bytes
  }

  init(id: UInt32, name: String, typeName: String, idKind: RecordIDKind, indexes: [StoredIndex]) {
    self.id = id
    self.name = name
    self.typeName = typeName
    self.idKind = idKind
    self.indexes = indexes
  }

  init(decoding bytes: UnsafeRawBufferPointer) throws {
    var reader = StoredReader(bytes)
    id = try reader.integer()
    name = try reader.string()
    typeName = try reader.string()
    guard let kind = RecordIDKind(rawValue: try reader.integer()) else {
      throw StoredCollection.unknownValue
    }
    idKind = kind
    indexes = []
    for _ in 0..<(try reader.count()) {
      let id: UInt32 = try reader.integer()
      let name = try reader.string()
      let unique: UInt8 = try reader.integer()
      let definition = try reader.string()
      guard unique <= 1, let state = StoredIndex.State(rawValue: try reader.integer()) else {
        throw StoredCollection.unknownValue
      }
      indexes.append(
        StoredIndex(
          id: id, name: name, isUnique: unique == 1, definition: definition, state: state))
    }
    try reader.expectEnd()
  }

  static var unknownValue: LarchError {
    LarchError(
      .corrupted, "The catalog holds a value that this format does not know; restore a backup.")
  }
}

/// The first entry of the catalog: the format of the file.
struct StoredFormat: Equatable, Sendable {
  /// The format that this version of Larch writes.
  static let current: UInt16 = 1
  /// The format of a store with an outbox: a program that does not know it would write without
  /// recording what it writes.
  static let withOutbox: UInt16 = 2
  /// The format of a store with a search: a program that does not know it would not keep its words.
  static let withSearch: UInt16 = 3
  /// The format of a store whose searches may have pending entries: a program that does not know them would find what
  /// its records had before.
  static let withPendingWords: UInt16 = 4
  /// The newest format that this version of Larch reads.
  static let newest = withPendingWords

  /// The format the file was written in.
  var version: UInt16 = StoredFormat.current
  /// The oldest format whose readers can read the file correctly.
  var minimumReader: UInt16 = 1
  /// The version of Unicode for the normal form of string keys.
  var unicodeVersion: String

  func encoded() -> [UInt8] {
    var writer = StoredWriter()
    writer.append(version)
    writer.append(minimumReader)
    writer.append(unicodeVersion)
    return writer.bytes
  }

  init(unicodeVersion: String) { self.unicodeVersion = unicodeVersion }

  init(decoding bytes: UnsafeRawBufferPointer) throws {
    var reader = StoredReader(bytes)
    version = try reader.integer()
    minimumReader = try reader.integer()
    guard minimumReader <= StoredFormat.newest else {
      throw LarchError(
        .newerFormat,
        "The store was written by a newer version of Larch; update Larch to open it."
      ) { [version] in $0.detail = "format \(version)" }
    }
    unicodeVersion = try reader.string()
    // A newer writer that older readers understand may have added fields after these.
  }
}
