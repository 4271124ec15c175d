internal import Larch
internal import LarchInspection

/// Visits the contents of a store with marks in place of ids, for dumps that rename them.
extension StoreInspector {
  /// The values of a key, including ids.
  struct MarkedKey {
    enum Part: Hashable {
      case text(String)
      case id(MarkedID)
    }

    let parts: [Part]
    /// The text before and after the values.
    let opening: String
    let closing: String
  }

  /// Whether the ids of a collection may differ in the next run.
  func hasMarkedIDs(_ collection: Collection) -> Bool {
    switch collection.stored.idKind {
    case .assigned, .uuid: true
    case .integer, .unsigned, .string: false
    }
  }

  /// An id of a collection from its text; nil for one that the program chose.
  func markedID(_ text: String, of collection: Collection) -> MarkedID? {
    switch collection.stored.idKind {
    case .assigned: MarkedID(collection: collection.name, text: text)
    case .uuid: MarkedID(collection: nil, text: text)
    case .integer, .unsigned, .string: nil
    }
  }

  /// Visits the records in the order of their ids, as JSON with marks.
  func forEachMarkedRecord(
    in collection: Collection, _ body: (_ id: String, _ json: MarkedText) throws -> Void
  ) throws {
    let assigned = assignedPaths(of: collection)
    try forEachStoredRecord(in: collection) { id, bytes in
      try body(
        collection.stored.idKind.text(of: id),
        try MarkedText(RawRecord(bytes, shapes: shapes), assigned: assigned))
    }
  }

  /// Visits the entries of an index in the order of their keys, with dates as in JSON.
  func forEachMarkedEntry(
    of index: Index, in collection: Collection,
    _ body: (_ key: MarkedKey, _ id: String) throws -> Void
  ) throws {
    if index.searchDefinition != nil {
      return try forEachEntry(of: index, in: collection) { word, id in
        try body(MarkedKey(parts: [.text(word)], opening: "[", closing: "]"), id)
      }
    }
    let collections = assignedParts(of: index, in: collection)
    var cursor = try LMDBCursor(index.handle.database, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      try body(
        MarkedKey(here.key, form: index.form, collections: collections),
        collection.stored.idKind.text(of: here.value))
      entry = try cursor.next()
    }
  }

  /// The places of assigned ids in records: their own, and references to others.
  private func assignedPaths(of collection: Collection) -> [[String]: String] {
    var paths: [[String]: String] = [:]
    for association in associations where !association.isLists {
      if association.first == collection.name, isAssigned(association.second) {
        paths[association.stored.path] = association.second
      }
    }
    if collection.stored.idKind == .assigned { paths[["id"]] = collection.name }
    return paths
  }

  private func isAssigned(_ name: String) -> Bool {
    collections.contains { $0.name == name && $0.stored.idKind == .assigned }
  }

  /// The same for the values of a key, by their places. Only if each field is one value: otherwise
  /// the places are not those of the fields.
  private func assignedParts(of index: Index, in collection: Collection) -> [Int: String] {
    let fields = index.parsedDefinition.fields
    let isPlain = { (form: KeyForm?) in
      if case .primitive? = form?.unwrapped.node { true } else { false }
    }
    guard fields.allSatisfy({ isPlain($0.form) }) else { return [:] }
    let paths = assignedPaths(of: collection)
    var result: [Int: String] = [:]
    for (place, field) in fields.enumerated() { result[place] = field.path.flatMap { paths[$0] } }
    return result
  }
}

extension StoreInspector.MarkedKey {
  fileprivate init(_ key: UnsafeRawBufferPointer, form: KeyForm?, collections: [Int: String]) {
    guard let form, let decoded = try? KeyReader.read(key, as: form) else {
      self.init(
        parts: [.text(IndexSchema.text(of: key, form: nil))], opening: "", closing: "")
      return
    }
    let parts = decoded.values.enumerated().map { place, value -> Part in
      switch value {
      case .uuid: .id(MarkedID(collection: nil, text: value.description))
      case .signed:
        collections[place].map { .id(MarkedID(collection: $0, text: value.description)) }
          ?? .text(value.description)
      case .date(let seconds): .text(JSONTextWriter.dateText(seconds))
      default: .text(value.description)
      }
    }
    self.init(parts: parts, opening: "[", closing: decoded.isCut ? "…]" : "]")
  }
}
