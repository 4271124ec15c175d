package import Larch

extension StoreInspector {
  /// A property of a record type, from the file.
  package struct Field: Sendable {
    /// The coding names on the path to it.
    package let path: [String]
    /// Its kind: `string`, `list of int64`, `map of date`.
    package let kind: String
    package let isOptional: Bool
    /// Whether the present type has it; if not, only records of an older version may have it.
    package let isCurrent: Bool
  }

  /// The properties of a collection's records, nested ones with their paths, sorted by name: first
  /// those of the last declaration, then those that only older records have.
  package func fields(of collection: Collection) throws -> [Field] {
    var found: [Field] = []
    let versions = try forms(of: collection)
    for (place, form) in versions.reversed().enumerated() {
      guard case .record(let record) = form else { continue }
      for field in fields(of: record, under: [], isCurrent: place == 0)
      where !found.contains(where: { $0.path == field.path }) {
        found.append(field)
      }
    }
    return found
  }

  /// The possible forms of the collection's records, the newest version last.
  func forms(of collection: Collection) throws -> [FieldForm] {
    let stored = collection.stored
    let history = try storage.fieldHistory(of: stored.id, in: transaction)
    let shapes = try shapes(ofType: stored.typeName)
    guard let versions = history?.declarations, !versions.isEmpty else {
      return shapes.map { .record(RecordForm($0, among: [])) }
    }
    return versions.map { filled($0, from: shapes) }
  }

  private func shapes(ofType name: String) throws -> [Shape] {
    let count = try storage.shapeCount(in: transaction)
    return try (0..<count).compactMap { place in
      guard let id = UInt16(exactly: place + 1), let shape = try storage.shape(id, in: transaction),
        shape.typeName == name
      else { return nil }
      return shape
    }
  }

  /// A declared form whose unknown fields come from the newest record that has them.
  private func filled(_ form: FieldForm, from shapes: [Shape]) -> FieldForm {
    guard case .record(let record) = form else { return form }
    var fields = record.fields
    for place in fields.indices where fields[place].form == .unknown {
      let kinds = shapes.reversed().compactMap { shape in
        shape.slot(of: fields[place].name).map { shape.fields[$0].kind }
      }
      if let kind = kinds.first(where: { $0 != .tagged }) { fields[place].form = .stored(kind) }
    }
    if !record.isComplete {
      for shape in shapes {
        let known = Set(fields.map(\.name))
        fields += RecordForm(shape, among: known).fields
      }
    }
    return .record(RecordForm(fields, isComplete: record.isComplete))
  }

  private func fields(
    of record: RecordForm, under path: [String], isCurrent: Bool
  ) -> [Field] {
    record.fields.flatMap { field -> [Field] in
      let path = path + [field.name]
      if case .record(let inner) = field.form, !inner.fields.isEmpty {
        let nested = fields(of: inner, under: path, isCurrent: isCurrent)
        guard field.isOptional else { return nested }
        return nested.map {
          Field(path: $0.path, kind: $0.kind, isOptional: true, isCurrent: isCurrent)
        }
      }
      return [
        Field(
          path: path, kind: field.form.description, isOptional: field.isOptional,
          isCurrent: isCurrent)
      ]
    }
  }
}

extension StoreInspector.Collection {
  /// The kind of the ids: `assigned` by the store, or `integer`, `unsigned`, `uuid`, `string`.
  package var idKind: String { "\(stored.idKind)" }
}

extension StoreInspector.Index {
  /// How the keys are made.
  package var parsedDefinition: IndexDefinition { IndexDefinition(definition) }
}

extension FieldForm {
  /// The form of a stored field of this kind.
  fileprivate static func stored(_ kind: FieldKind) -> FieldForm {
    switch kind {
    case .record: .record(RecordForm([], isComplete: false))
    case .list: .list(.unknown)
    case .map: .map(.unknown)
    case .tagged: .unknown
    default: .scalar(kind)
    }
  }
}

extension RecordForm {
  /// The fields of a shape that are not known yet; whether they are optional is unknown.
  fileprivate init(_ shape: Shape, among known: Set<String>) {
    self.init(
      shape.fields.filter { !known.contains($0.name) }.map {
        Field(name: $0.name, form: .stored($0.kind), isOptional: false)
      }, isComplete: false)
  }
}
