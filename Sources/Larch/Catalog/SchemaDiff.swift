/// The changes that bring the file up to date with the declarations of the program.
///
/// It is a pure comparison, without reading or writing, so an incompatible schema is refused before
/// anything changes.
struct SchemaDiff {
  /// The change of one collection.
  enum Change: Equatable {
    case create
    /// Positions in the stored list to drop, and in the declared list to add.
    case adjust(drop: [Int], add: [Int])
    case nothing
  }

  static func change(stored: StoredCollection?, declared: CollectionSchema) throws -> Change {
    guard let stored else { return .create }
    guard stored.idKind == declared.idKind else {
      throw LarchError(
        .schemaMismatch,
        "The declared type of `id` differs from the kind of the stored ids; keep the type of `id`, or give the record type another `collectionName`."
      ) {
        $0.collection = declared.name
        $0.detail = "stored \(stored.idKind), declared \(declared.idKind)"
      }
    }
    var drop: [Int] = []
    for (position, index) in stored.indexes.enumerated()
    where !declared.allIndexes.contains(where: { $0.matches(index) }) {
      drop.append(position)
    }
    var add: [Int] = []
    for (position, index) in declared.allIndexes.enumerated()
    where !stored.indexes.contains(where: { index.matches($0) }) {
      add.append(position)
    }
    return drop.isEmpty && add.isEmpty ? .nothing : .adjust(drop: drop, add: add)
  }
}

extension SchemaDiff {
  /// The changes of associations in the file.
  struct AssociationChange: Equatable {
    /// References that neither open type declares any more. Lists are data, so they stay.
    var drop: [StoredAssociation] = []
    /// Associations that are new, or have other rules or traits.
    var set: [StoredAssociation] = []

    var isNothing: Bool { drop.isEmpty && set.isEmpty }
  }

  /// - Parameter collections: the names of the collections that are open.
  static func change(
    stored: [StoredAssociation], declared: [AssociationSchema], collections: Set<String>
  ) throws -> AssociationChange {
    var change = AssociationChange()
    for schema in declared {
      let old = stored.first { $0.key == schema.key }
      let new = StoredAssociation(schema, number: old?.number ?? 0)
      if let old, old.kind != new.kind {
        throw LarchError(
          .schemaMismatch,
          "The file has a many-to-many association under the name of a declared reference, or a reference under the name of a many-to-many; give the type another `collectionName`, or the property another coding key."
        ) {
          $0.collection = schema.first.collection
          $0.field = schema.key
        }
      }
      if old != new { change.set.append(new) }
    }
    for old in stored where old.kind == .reference {
      if !declared.contains(where: { $0.key == old.key }), collections.contains(old.first),
        collections.contains(old.second)
      {
        change.drop.append(old)
      }
    }
    return change
  }
}

extension IndexSchema {
  /// Whether the stored index has exactly the entries of this declaration.
  func matches(_ stored: StoredIndex) -> Bool {
    stored.name == name && stored.isUnique == isUnique && stored.definition == definition
  }
}
