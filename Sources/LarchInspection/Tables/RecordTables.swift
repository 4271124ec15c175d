package import Larch

/// A collection as a table for tools that know no Larch: a row for each record.
package struct CollectionTable: Hashable, Sendable {
  /// What a column holds, whatever a single record has there.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case boolean
    /// A whole number of at most 64 bits with a sign.
    case integer
    /// An exact number of any size.
    case number
    case double
    case text
    case time
    case uuid
    /// A list, a dictionary, data of no known kind.
    case json
  }

  /// A field of the records, or of a record in them.
  package struct Column: Hashable, Sendable {
    /// The names on the path to it.
    package let path: [String]
    package let kind: Kind

    package init(path: [String], kind: Kind) {
      self.path = path
      self.kind = kind
    }
  }

  /// The number of the collection, which it keeps when it is renamed.
  package let number: UInt32
  package let name: String
  /// Without `id`, which each row has anyway.
  package let columns: [Column]

  package init(number: UInt32, name: String, columns: [Column]) {
    self.number = number
    self.name = name
    self.columns = columns
  }
}

/// A record as a row.
package struct RecordRow: Hashable, Sendable {
  package let id: String
  /// See `RawRecord`.
  package let json: String

  package init(id: String, json: String) {
    self.id = id
    self.json = json
  }
}

/// The tables of one store somewhere else, and the place of the log whose state they have.
///
/// The place changes together with the rows, so a process that is killed leaves the state of one entry,
/// and the next one continues after it: no entry is lost or counted twice.
package protocol RecordTables: AnyObject {
  /// Where they are, for messages. It contains no password.
  var name: String { get }

  /// The entry whose state the tables have; nil if they were never filled.
  func place() throws -> LogPlace?

  /// Changes the tables, all or nothing, and notes the new place.
  ///
  /// - Parameter expected: the place that the tables have, as far as the caller knows.
  /// - Returns: false if they have another one: somebody else changes them too. Then nothing is changed.
  func update(
    from expected: LogPlace?, to place: LogPlace,
    _ body: (any RecordTableWriter) throws -> Void
  ) throws -> Bool
}

/// Changes tables inside of `RecordTables.update`.
package protocol RecordTableWriter: AnyObject {
  /// From now on there are these tables, and no others. A table that is there keeps its rows, also
  /// under a new name.
  func set(_ tables: [CollectionTable]) throws
  /// Removes all rows.
  func empty(_ table: UInt32) throws
  func upsert(_ rows: [RecordRow], into table: UInt32) throws
  /// Rows that are not there are no error.
  func delete(_ ids: [String], from table: UInt32) throws
}

extension StoreInspector {
  /// The collections as tables, sorted by name.
  package func recordTables() throws -> [CollectionTable] {
    try collections.map { collection in
      let columns = try fields(of: collection).filter { $0.path != ["id"] }.map {
        CollectionTable.Column(path: $0.path, kind: CollectionTable.Kind(ofField: $0.kind))
      }
      return CollectionTable(
        number: collection.stored.id, name: collection.name, columns: columns)
    }.sorted { $0.name < $1.name }
  }
}

extension CollectionTable.Kind {
  /// What holds a field of a kind, as `StoreInspector.Field` names it.
  init(ofField kind: String) {
    self =
      switch kind {
      case "bool": .boolean
      case "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32": .integer
      case "uint64", "int128", "uint128", "decimal": .number
      case "float", "double": .double
      case "string", "url", "data": .text
      case "date": .time
      case "uuid": .uuid
      default: .json
      }
  }
}
