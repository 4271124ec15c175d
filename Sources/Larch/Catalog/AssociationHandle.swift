/// One association of an open store: its catalog entry, its declaration, and the handles.
package final class AssociationHandle: Sendable {
  let stored: StoredAssociation
  /// Nil if the open types do not declare it: lists of an earlier program, or an association with a
  /// type that the store was not opened with.
  let schema: AssociationSchema?
  /// Nil if the store was not opened with the type.
  package let first: CollectionHandle?
  package let second: CollectionHandle?
  /// For a reference: the index that lists the holders of each id. Nil if the holder is not open.
  let index: IndexHandle?
  /// For lists: the ids of the second end by those of the first, and the reverse.
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

  /// The reference; nil for lists, and if it is not declared.
  package var reference: ReferenceSchema? {
    if case .reference(let reference) = schema?.kind { return reference }
    return nil
  }

  /// What happens to the other end when a record of one end is deleted.
  func rule(deletingFirst: Bool) -> DeleteRule {
    if let schema { return deletingFirst ? schema.firstRule : schema.secondRule }
    // Nothing declares the lists any more, but they must not contain deleted records.
    if stored.kind == .links, first != nil, second != nil { return .nullify }
    return deletingFirst ? stored.firstRule : stored.secondRule
  }
}

/// The two databases of lists of ids.
package struct LinkDatabases: Sendable {
  package let forward: LMDBDatabase
  let inverse: LMDBDatabase
}

/// One end of an association, seen from its collection.
struct AssociationEnd: Sendable {
  let association: AssociationHandle
  /// Whether the collection is the first end: the holder of a reference.
  let isFirst: Bool

  /// What happens to the other end when a record of this one is deleted.
  var rule: DeleteRule { association.rule(deletingFirst: isFirst) }
  /// The collection at the other end; nil if it is not open.
  var other: CollectionHandle? { isFirst ? association.second : association.first }
  /// The same association, seen from the other collection.
  var opposite: AssociationEnd { AssociationEnd(association: association, isFirst: !isFirst) }
  /// Whether deleting a record of the collection may have effects at the other end.
  var actsOnDelete: Bool {
    // Lists may contain the record.
    if association.stored.kind == .links { return true }
    if association.schema == nil, association.first != nil, association.second != nil {
      // The program does not declare it any more; only a read-only file still has it.
      return false
    }
    switch rule {
    case .none, .automatic: return false
    // The property is deleted with its record.
    case .nullify: return !isFirst
    case .destroy, .destroyLast, .deny: return true
    }
  }
  /// Whether remaining records at the other end lose their references to a deleted one.
  var removesReferences: Bool {
    guard !isFirst, let reference = association.reference else { return false }
    return rule == .nullify || (rule == .destroyLast && reference.declaration.isList)
  }
  var otherName: String { isFirst ? association.stored.second : association.stored.first }
}

/// A reference whose new values a save must check.
final class SavedReference: Sendable {
  /// The place of its index among those of the collection; nil in a migration, if the index will be
  /// built after it.
  let number: Int?
  let key: String
  let schema: ReferenceSchema
  /// Whether it must not dangle.
  let isEnforced: Bool
  /// The records to which it leads.
  let target: LMDBDatabase
  let targetStored: StoredCollection

  /// The bit of its index, by the place of this; 0 without one.
  var indexBit: UInt64 { number.map { 1 << UInt64($0) } ?? 0 }

  init(
    number: Int?, key: String, schema: ReferenceSchema, isEnforced: Bool, target: LMDBDatabase,
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
