/// The collections and associations of a file, after every type with an older name has its present
/// one.
struct CollectionRenames {
  struct Move {
    let from: String
    let to: StoredCollection
    /// An empty collection that already has the present name.
    let replaced: StoredCollection?
  }

  /// An association under its new key.
  struct Relabel {
    let from: StoredAssociation
    var to: StoredAssociation
    /// Whether the ends of lists, which are in the order of their names, are exchanged.
    let isFlipped: Bool
  }

  private(set) var collections: [StoredCollection]
  private(set) var associations: [StoredAssociation]
  private(set) var moves: [Move] = []
  private(set) var relabels: [Relabel] = []
  /// Associations of replaced collections, which are empty.
  private(set) var dropped: [StoredAssociation] = []

  /// - Parameter isEmpty: whether a collection has no records.
  /// - Throws: `.schemaMismatch` if there are records under both names.
  init(
    _ collections: [StoredCollection], _ associations: [StoredAssociation],
    declared: [CollectionSchema], isEmpty: (StoredCollection) throws -> Bool
  ) throws {
    self.collections = collections
    self.associations = associations
    for schema in declared where !schema.renames.collectionNames.isEmpty {
      try move(to: schema, isEmpty)
    }
  }

  private mutating func move(
    to schema: CollectionSchema, _ isEmpty: (StoredCollection) throws -> Bool
  ) throws {
    let older = schema.renames.collectionNames.compactMap { name in
      collections.first { $0.name == name }
    }
    let holder = collections.first { $0.name == schema.name }
    let filled = try older.filter { try !isEmpty($0) }
    let isFree = try holder.map(isEmpty) ?? true
    guard filled.count + (isFree ? 0 : 1) <= 1 else {
      throw LarchError(
        .schemaMismatch,
        "The file has records under the current name of a type and under an older name; move them all to one of the names in a migration, or remove the older name."
      ) {
        $0.collection = schema.name
        $0.detail = filled.map(\.name).joined(separator: ", ")
      }
    }
    guard isFree, let old = filled.first ?? (holder == nil ? older.first : nil) else { return }
    var new = old
    new.name = schema.name
    new.typeName = schema.typeName
    moves.append(Move(from: old.name, to: new, replaced: holder))
    collections.removeAll { $0.name == schema.name }
    if let place = collections.firstIndex(where: { $0.name == old.name }) {
      collections[place] = new
    }
    relabel(old.name, schema.name, replaces: holder != nil)
  }

  private mutating func relabel(_ old: String, _ new: String, replaces: Bool) {
    let moved = associations.filter { $0.first == old || $0.second == old }.map { association in
      association.renamed(old, to: new)
    }
    var kept: [StoredAssociation] = []
    for association in associations where association.first != old && association.second != old {
      // The replaced collection is an end of it, so it is empty.
      let isTaken = moved.contains { $0.to.key == association.key }
      if isTaken || (replaces && (association.first == new || association.second == new)) {
        dropped.append(association)
      } else {
        kept.append(association)
      }
    }
    associations = (kept + moved.map(\.to)).sorted {
      $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
    }
    for one in moved {
      // Both its ends may be renamed.
      if let place = relabels.firstIndex(where: { $0.to.key == one.from.key }) {
        relabels[place] = Relabel(
          from: relabels[place].from, to: one.to,
          isFlipped: relabels[place].isFlipped != one.isFlipped)
      } else {
        relabels.append(one)
      }
    }
  }

  /// Whether the two databases of lists have been exchanged.
  func isFlipped(_ key: String) -> Bool {
    relabels.contains { $0.to.key == key && $0.isFlipped }
  }
}

extension StoredAssociation {
  /// The same with a collection renamed.
  fileprivate func renamed(_ old: String, to new: String) -> CollectionRenames.Relabel {
    var result = self
    if first == old { result.first = new }
    if second == old { result.second = new }
    switch kind {
    case .reference:
      result.key = StoredAssociation.key(result.first, path: path)
      return CollectionRenames.Relabel(from: self, to: result, isFlipped: false)
    case .links:
      let name = key.dropFirst(first.count + second.count + 2)
      let isFlipped = result.second.utf8.lexicographicallyPrecedes(result.first.utf8)
      if isFlipped {
        swap(&result.first, &result.second)
        swap(&result.firstRule, &result.secondRule)
      }
      result.key = "\(result.first)/\(result.second)/\(name)"
      return CollectionRenames.Relabel(from: self, to: result, isFlipped: isFlipped)
    }
  }
}
