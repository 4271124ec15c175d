internal import Larch

/// The first line of an export, which describes the records after it. See `docs/export-format.md`.
struct ExportHeader {
  static let format = "larch export"
  /// A new number is needed for changes that a reader of this version would misread.
  static let version = 1

  struct Collection {
    var name: String
    var typeName: String
    var idKind: RecordIDKind
    var indexes: [Index]
    /// The highest id of a record that was deleted since; 0 for none.
    var highestDeletedID: Int64
    /// The declarations under which the records were written; nil if the store does not have them.
    var fields: FieldHistory?
  }

  struct Index {
    var name: String
    var isUnique: Bool
    var definition: String
    var isReady: Bool
  }

  /// Sorted by name.
  var collections: [Collection] = []
  /// The associations whose ends are both exported, sorted by key. Lists have no number.
  var associations: [StoredAssociation] = []
  /// In the order in which they ran.
  var migrations: [AppliedMigration] = []
  /// The shape of number 1 comes first; nil for shapes that no exported record has.
  var shapes: [Shape?] = []

  /// The header for these collections of a store.
  ///
  /// - Parameter usedShapes: the needed shapes; nil for all.
  init(
    _ storage: CatalogStorage, of names: Set<String>, usedShapes: Set<UInt16>?,
    in transaction: LMDBTransaction
  ) throws {
    for stored in try storage.collections(in: transaction) where names.contains(stored.name) {
      collections.append(
        Collection(
          name: stored.name, typeName: stored.typeName, idKind: stored.idKind,
          indexes: stored.indexes.map {
            Index(
              name: $0.name, isUnique: $0.isUnique, definition: $0.definition,
              isReady: $0.state == .ready)
          },
          highestDeletedID: try storage.highestDeletedID(stored.id, in: transaction),
          fields: try storage.fieldHistory(of: stored.id, in: transaction)))
    }
    associations = try storage.associations(in: transaction).filter { association in
      collections.contains { $0.name == association.first }
        && collections.contains { $0.name == association.second }
    }
    migrations = try storage.migrations(in: transaction)
    for number in 0..<(try storage.shapeCount(in: transaction)) {
      guard let shape = try storage.shape(UInt16(number + 1), in: transaction) else {
        throw LarchError(
          .corrupted, "A shape of the records is missing in the store; salvage the store.")
      }
      shapes.append(usedShapes?.contains(shape.id) ?? true ? shape : nil)
    }
    while case .some(nil) = shapes.last { shapes.removeLast() }
  }

  /// From the members of the first line.
  ///
  /// - Throws: `Problem` for anything but a header of this version.
  init(_ line: JSONNode) throws {
    var reader = ExportHeaderReader(line)
    self = try reader.header()
  }

  init() {}

  /// A fault in a header, as a sentence.
  struct Problem: Error {
    let reason: StaticString
    var detail: String?
    var isNewer = false
  }
}

// MARK: - Text

extension ExportHeader {
  /// The line, without its end.
  func text() throws -> [UInt8] {
    var writer = ExportTextWriter()
    try writer.object {
      $0.member("format") { $0.text(Self.format) }
      $0.member("version") { $0.raw("\(Self.version)") }
      $0.member("associations") { writer in
        writer.array(associations) { Self.write($0, to: &$1) }
      }
      $0.member("collections") { writer in
        writer.array(collections) { Self.write($0, to: &$1) }
      }
      try $0.member("migrations") { writer in
        try writer.array(migrations) { try Self.write($0, to: &$1) }
      }
      $0.member("shapes") { writer in
        writer.array(shapes) { shape, writer in
          guard let shape else { return writer.raw("null") }
          Self.write(shape, to: &writer)
        }
      }
    }
    return writer.bytes
  }

  private static func write(_ collection: Collection, to writer: inout ExportTextWriter) {
    writer.object {
      if let fields = collection.fields {
        $0.member("fields") { $0.array(fields.versions) { write($0, to: &$1) } }
      }
      if collection.highestDeletedID != 0 {
        $0.member("highestDeletedID") { $0.raw("\(collection.highestDeletedID)") }
      }
      $0.member("id") { $0.text("\(collection.idKind)") }
      $0.member("indexes") { writer in
        writer.array(collection.indexes) { index, writer in
          writer.object {
            $0.member("definition") { $0.text(index.definition) }
            $0.member("name") { $0.text(index.name) }
            $0.member("ready") { $0.raw("\(index.isReady)") }
            $0.member("unique") { $0.raw("\(index.isUnique)") }
          }
        }
      }
      $0.member("name") { $0.text(collection.name) }
      if let fields = collection.fields, !fields.unwritten.isEmpty {
        $0.member("opened") { $0.array(fields.unwritten) { write($0, to: &$1) } }
      }
      $0.member("type") { $0.text(collection.typeName) }
    }
  }

  private static func write(_ form: FieldForm, to writer: inout ExportTextWriter) {
    switch form {
    case .unknown: writer.raw("null")
    case .scalar(let kind): writer.text(kind.name)
    case .list(let element):
      writer.object { $0.member("list") { write(element, to: &$0) } }
    case .map(let value): writer.object { $0.member("map") { write(value, to: &$0) } }
    case .record(let record):
      writer.object {
        $0.member("complete") { $0.raw("\(record.isComplete)") }
        $0.member("record") { writer in
          writer.array(record.fields) { field, writer in
            writer.object {
              $0.member("form") { write(field.form, to: &$0) }
              $0.member("name") { $0.text(field.name) }
              $0.member("optional") { $0.raw("\(field.isOptional)") }
            }
          }
        }
      }
    }
  }

  private static func write(_ association: StoredAssociation, to writer: inout ExportTextWriter) {
    writer.object {
      $0.member("first") { $0.text(association.first) }
      $0.member("firstRule") { $0.text("\(association.firstRule)") }
      $0.member("key") { $0.text(association.key) }
      $0.member("kind") { $0.text(association.kind == .links ? "lists" : "reference") }
      if association.kind == .reference {
        $0.member("path") { $0.array(association.path) { $1.text($0) } }
      }
      $0.member("second") { $0.text(association.second) }
      $0.member("secondRule") { $0.text("\(association.secondRule)") }
      if association.kind == .reference {
        let traits = StoredAssociation.Traits.names.filter {
          association.traits.contains($0.trait)
        }
        $0.member("traits") { $0.array(traits) { $1.text($0.name) } }
      }
    }
  }

  private static func write(
    _ migration: AppliedMigration, to writer: inout ExportTextWriter
  ) throws {
    try writer.object {
      try $0.member("date") { writer in
        try withUnsafeBytes(of: migration.date) { try writer.exact(.date, $0) }
      }
      $0.member("name") { $0.text(migration.name) }
    }
  }

  private static func write(_ shape: Shape, to writer: inout ExportTextWriter) {
    writer.object {
      $0.member("fields") { writer in
        writer.array(shape.fields) { field, writer in
          writer.array([field.name, field.kind.name]) { $1.text($0) }
        }
      }
      $0.member("type") { $0.text(shape.typeName) }
    }
  }
}

extension StoredAssociation.Traits {
  static let names: [(trait: Self, name: String)] = [
    (.optional, "optional"), (.list, "list"), (.one, "one"),
  ]
}

/// Writes objects and arrays, and adds their commas.
struct ExportTextWriter {
  private var writer = JSONTextWriter()
  private var isFirst = true

  var bytes: [UInt8] { writer.bytes }

  mutating func raw(_ text: String) { writer.raw(text) }
  mutating func text(_ text: String) { writer.text(text) }
  mutating func exact(_ kind: FieldKind, _ bytes: UnsafeRawBufferPointer) throws {
    try ExactText.write(kind, bytes, to: &writer)
  }

  private mutating func separate() {
    if !isFirst { writer.raw(",") }
    isFirst = false
  }

  mutating func object(_ body: (inout Self) throws -> Void) rethrows {
    writer.raw("{")
    isFirst = true
    try body(&self)
    writer.raw("}")
    isFirst = false
  }

  mutating func member(_ name: String, _ body: (inout Self) throws -> Void) rethrows {
    separate()
    writer.text(name)
    writer.raw(":")
    try body(&self)
    isFirst = false
  }

  mutating func array<T>(
    _ elements: [T], _ body: (T, inout Self) throws -> Void
  ) rethrows {
    writer.raw("[")
    isFirst = true
    for element in elements {
      separate()
      try body(element, &self)
      isFirst = false
    }
    writer.raw("]")
    isFirst = false
  }
}
