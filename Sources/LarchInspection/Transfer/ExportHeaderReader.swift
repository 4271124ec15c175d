internal import Larch

/// Reads the first line of an export, which may be arbitrary.
struct ExportHeaderReader {
  private typealias Problem = ExportHeader.Problem
  private typealias Members = [String: JSONNode]

  private let line: JSONNode

  init(_ line: JSONNode) { self.line = line }

  mutating func header() throws -> ExportHeader {
    guard let members = line.members, members["format"]?.string == ExportHeader.format else {
      throw Problem(
        reason: "The file is not an export of a store: its first line is not the header of one.")
    }
    guard let version = members["version"]?.integer(Int.self), version > 0 else {
      throw Problem(reason: "The header of the export has no version.")
    }
    guard version == ExportHeader.version else {
      throw Problem(
        reason: "The export was written by a newer version of Larch; update Larch to read it.",
        detail: "version \(version)", isNewer: true)
    }
    var header = ExportHeader()
    header.collections = try list("collections", of: members).map(collection)
    header.shapes = try list("shapes", of: members).enumerated().map { try shape($1, $0 + 1) }
    header.migrations = try list("migrations", of: members).enumerated().map { number, node in
      try migration(node, UInt32(number + 1))
    }
    header.associations = try list("associations", of: members).map(association)
    try check(header)
    return header
  }

  // MARK: Parts

  private func damaged(_ part: String) -> Problem {
    Problem(reason: "The header of the export is damaged.", detail: part)
  }

  private func list(_ name: String, of members: Members) throws -> [JSONNode] {
    guard let list = members[name]?.array else { throw damaged(name) }
    return list
  }

  private func text(_ name: String, of members: Members) throws -> String {
    guard let text = members[name]?.string else { throw damaged(name) }
    return text
  }

  private func flag(_ name: String, of members: Members) throws -> Bool {
    guard let value = members[name]?.bool else { throw damaged(name) }
    return value
  }

  private func members(_ node: JSONNode, _ part: String) throws -> Members {
    guard let members = node.members else { throw damaged(part) }
    return members
  }

  private func collection(_ node: JSONNode) throws -> ExportHeader.Collection {
    let members = try members(node, "collections")
    let name = try text("name", of: members)
    let kindName = try text("id", of: members)
    let kinds: [RecordIDKind] = [.assigned, .integer, .unsigned, .uuid, .string]
    guard SchemaCompiler.isPlain(name) else { throw damaged("name of collection \(name)") }
    guard let kind = kinds.first(where: { "\($0)" == kindName }) else {
      throw damaged("id of collection \(name)")
    }
    let indexes = try list("indexes", of: members).map { node in
      let members = try self.members(node, "indexes of \(name)")
      return ExportHeader.Index(
        name: try text("name", of: members), isUnique: try flag("unique", of: members),
        definition: try text("definition", of: members), isReady: try flag("ready", of: members))
    }
    var highest: Int64 = 0
    if let node = members["highestDeletedID"] {
      guard let number = node.integer(Int64.self), number > 0 else {
        throw damaged("highestDeletedID of \(name)")
      }
      highest = number
    }
    func forms(_ member: String) throws -> [FieldForm]? {
      guard let node = members[member] else { return nil }
      guard let forms = node.array else { throw damaged("\(member) of \(name)") }
      return try forms.map { try form($0, depth: 0) }
    }
    let opened = try forms("opened") ?? []
    let fields = try forms("fields").map { FieldHistory($0, unwritten: opened) }
    return ExportHeader.Collection(
      name: name, typeName: try text("type", of: members), idKind: kind, indexes: indexes,
      highestDeletedID: highest, fields: fields)
  }

  private func form(_ node: JSONNode, depth: Int) throws -> FieldForm {
    guard depth <= RecordFormat.depthLimit else { throw damaged("fields") }
    switch node {
    case .null: return .unknown
    case .string(let name):
      guard let kind = kind(name), ![.record, .list, .map, .tagged].contains(kind) else {
        throw damaged("fields")
      }
      return .scalar(kind)
    default: break
    }
    let members = try members(node, "fields")
    if let element = members["list"] { return .list(try form(element, depth: depth + 1)) }
    if let value = members["map"] { return .map(try form(value, depth: depth + 1)) }
    var names: Set<String> = []
    let fields = try list("record", of: members).map { node in
      let members = try self.members(node, "fields")
      let name = try text("name", of: members)
      guard names.insert(name).inserted, let node = members["form"] else { throw damaged("fields") }
      return RecordForm.Field(
        name: name, form: try form(node, depth: depth + 1),
        isOptional: try flag("optional", of: members))
    }
    return .record(RecordForm(fields, isComplete: try flag("complete", of: members)))
  }

  private func kind(_ name: String) -> FieldKind? {
    FieldKind.allCases.first { $0.name == name }
  }

  private func shape(_ node: JSONNode, _ number: Int) throws -> Shape? {
    guard number <= Int(RecordFormat.shapeMask) else { throw damaged("shapes") }
    if case .null = node { return nil }
    let members = try members(node, "shapes")
    var names: Set<String> = []
    let fields = try list("fields", of: members).map { node in
      guard let pair = node.array, pair.count == 2, let name = pair[0].string,
        let kind = pair[1].string.flatMap(kind), names.insert(name).inserted,
        name.utf8.count <= UInt16.max
      else { throw damaged("shape \(number)") }
      return ShapeField(name: name, kind: kind)
    }
    let typeName = try text("type", of: members)
    guard fields.count <= RecordFormat.fieldLimit,
      typeName.utf8.count <= UInt16.max
    else { throw damaged("shape \(number)") }
    return Shape(id: UInt16(number), typeName: typeName, fields: fields)
  }

  private func migration(_ node: JSONNode, _ number: UInt32) throws -> AppliedMigration {
    let members = try members(node, "migrations")
    let name = try text("name", of: members)
    guard let date = members["date"].flatMap({ ExactText.bytes(of: $0, .date) }),
      (1...CatalogStorage.migrationNameLimit).contains(name.utf8.count)
    else { throw damaged("migrations") }
    let bits = date.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    return AppliedMigration(name: name, number: number, date: Double(bitPattern: bits))
  }

  private func association(_ node: JSONNode) throws -> StoredAssociation {
    let members = try members(node, "associations")
    let key = try text("key", of: members)
    func rule(_ name: String) throws -> DeleteRule {
      let text = try text(name, of: members)
      let rules: [DeleteRule] = [.none, .nullify, .destroy, .destroyLast, .deny]
      guard let rule = rules.first(where: { $0.description == text }) else { throw damaged(key) }
      return rule
    }
    let isLists = try text("kind", of: members) == "lists"
    var traits: StoredAssociation.Traits = []
    var path: [String] = []
    if !isLists {
      path = try list("path", of: members).map {
        guard let name = $0.string else { throw damaged(key) }
        return name
      }
      for node in try list("traits", of: members) {
        guard let found = StoredAssociation.Traits.names.first(where: { $0.name == node.string })
        else { throw damaged(key) }
        traits.insert(found.trait)
      }
    }
    // The number is assigned when the association is stored; any number but 0 serves here.
    guard
      let association = StoredAssociation(
        key: key, kind: isLists ? .links : .reference, first: try text("first", of: members),
        second: try text("second", of: members), firstRule: try rule("firstRule"),
        secondRule: try rule("secondRule"), path: path, traits: traits, number: isLists ? 1 : 0)
    else { throw damaged(key) }
    return association
  }

  /// Checks that the parts are consistent.
  private func check(_ header: ExportHeader) throws {
    guard Set(header.collections.map(\.name)).count == header.collections.count else {
      throw damaged("two collections have one name")
    }
    guard Set(header.migrations.map(\.name)).count == header.migrations.count else {
      throw damaged("two migrations have one name")
    }
    guard Set(header.associations.map(\.key)).count == header.associations.count else {
      throw damaged("two associations have one key")
    }
    for collection in header.collections {
      let names = Set(collection.indexes.map(\.name))
      guard names.count == collection.indexes.count, names.allSatisfy(isIndexName),
        names.count <= SchemaCompiler.indexLimit
      else { throw damaged("indexes of \(collection.name)") }
    }
    for association in header.associations {
      for name in [association.first, association.second]
      where !header.collections.contains(where: { $0.name == name }) {
        throw damaged("collection \(name) of association \(association.key)")
      }
    }
  }

  /// Names made from properties may be this long.
  private func isIndexName(_ name: String) -> Bool { (1...4096).contains(name.utf8.count) }
}
