/// One association of an open store: what the file says, what the program declares, and the
/// handles.
package final class AssociationHandle: Sendable {
  let stored: StoredAssociation
  /// Nil where the open types do not declare it: lists that an earlier program made, or an
  /// association with a type that the store was not opened with.
  let schema: AssociationSchema?
  /// Nil where the store was not opened with the type.
  package let first: CollectionHandle?
  package let second: CollectionHandle?
  /// Of a reference: where the holders of each id are listed. Nil where the holder is not open.
  let index: IndexHandle?
  /// Of lists: the ids of the second end by those of the first, and the other way round.
  let lists: LinkDatabases?

  init(
    stored: StoredAssociation, schema: AssociationSchema?, first: CollectionHandle?,
    second: CollectionHandle?, index: IndexHandle?, lists: LinkDatabases?
  ) {
    self.stored = stored
    self.schema = schema
    self.first = first
    self.second = second
    self.index = index
    self.lists = lists
  }

  /// What a reference is; nil for lists, and where it is not declared.
  package var reference: ReferenceSchema? {
    if case .reference(let reference) = schema?.kind { return reference }
    return nil
  }

  /// What happens to the other end when a record of one is deleted.
  func rule(deletingFirst: Bool) -> DeleteRule {
    if let schema { return deletingFirst ? schema.firstRule : schema.secondRule }
    // Nobody says any more what the lists are for, but they must not name deleted records.
    if stored.kind == .links, first != nil, second != nil { return .nullify }
    return deletingFirst ? stored.firstRule : stored.secondRule
  }
}

/// The two databases of lists of ids.
package struct LinkDatabases: Sendable {
  package let forward: LMDBDatabase
  let inverse: LMDBDatabase
}

/// One end of an association, from the side of its collection.
struct AssociationEnd: Sendable {
  let association: AssociationHandle
  /// The collection is the first end: the holder of a reference.
  let isFirst: Bool

  /// What happens to the other end when a record of this one is deleted.
  var rule: DeleteRule { association.rule(deletingFirst: isFirst) }
  /// The collection at the other end; nil where it is not open.
  var other: CollectionHandle? { isFirst ? association.second : association.first }
  /// The same association from the side of the other collection.
  var opposite: AssociationEnd { AssociationEnd(association: association, isFirst: !isFirst) }
  /// Whether something may have to happen when a record of the collection is deleted.
  var actsOnDelete: Bool {
    // The members of lists name the record.
    if association.stored.kind == .links { return true }
    if association.schema == nil, association.first != nil, association.second != nil {
      // The program gave the association up, and only a file that it may not change has it still.
      return false
    }
    switch rule {
    case .none, .automatic: return false
    // The property of a holder goes with it.
    case .nullify: return !isFirst
    case .destroy, .destroyLast, .deny: return true
    }
  }
  /// Whether records at the other end that stay lose their references to a deleted one.
  var removesReferences: Bool {
    guard !isFirst, let reference = association.reference else { return false }
    return rule == .nullify || (rule == .destroyLast && reference.declaration.isList)
  }
  var otherName: String { isFirst ? association.stored.second : association.stored.first }
}

/// A reference whose new values a save must check.
final class SavedReference: Sendable {
  /// The place of its index among those of the collection.
  let number: Int
  let key: String
  let schema: ReferenceSchema
  /// Whether it must lead to a record.
  let isEnforced: Bool
  /// The records it leads to.
  let target: LMDBDatabase
  let targetStored: StoredCollection

  init(
    number: Int, key: String, schema: ReferenceSchema, isEnforced: Bool, target: LMDBDatabase,
    targetStored: StoredCollection
  ) {
    self.number = number
    self.key = key
    self.schema = schema
    self.isEnforced = isEnforced
    self.target = target
    self.targetStored = targetStored
  }
}
