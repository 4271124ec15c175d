/// The references that `add`, `remove` and `replace` changed in stored records during the running
/// write.
///
/// A copy of such a record that was read before the change is out of date. To save it would
/// silently undo the change, so the save is refused.
struct ReferenceChanges {
  struct Holder: Hashable {
    /// The number of the collection in the catalog's list.
    let place: Int
    let id: [UInt8]
  }

  private struct Change {
    let reference: ReferenceDeclaration
    var added: Set<[UInt8]> = []
    var removed: Set<[UInt8]> = []
    /// Whether a property with one id had none before.
    var wasEmpty = false

    /// Whether a record with these ids may have been read before the change.
    ///
    /// If a property with one id has one that it never had, the record is newer. Lists are refused
    /// also where a newer copy was changed back.
    func mayBeNewer(than ids: Set<[UInt8]>) -> Bool {
      if added.isSubset(of: ids), removed.isDisjoint(with: ids) { return false }
      if reference.isList { return true }
      return ids.isEmpty ? wasEmpty : !removed.isDisjoint(with: ids)
    }
  }

  private var changes: [Holder: [Change]] = [:]
  /// What was known of a record before each change, so that a savepoint can be undone.
  private var earlier: [(holder: Holder, changes: [Change]?)] = []

  var isEmpty: Bool { changes.isEmpty }

  /// A position for `rewind`.
  var mark: Int { earlier.count }

  /// Forgets what was noted since the mark.
  mutating func rewind(to mark: Int) {
    while earlier.count > mark, let last = earlier.popLast() { changes[last.holder] = last.changes }
  }

  /// Remembers the ids that were added to and removed from a reference of a stored record.
  mutating func note(
    _ holder: Holder, _ reference: ReferenceDeclaration, before: Set<[UInt8]>, after: Set<[UInt8]>
  ) {
    let added = after.subtracting(before)
    let removed = before.subtracting(after)
    if added.isEmpty, removed.isEmpty { return }
    var known = changes[holder] ?? []
    let place =
      known.firstIndex { $0.reference === reference || $0.reference.isSame(as: reference) }
      ?? known.endIndex
    if place == known.endIndex { known.append(Change(reference: reference)) }
    if reference.isList {
      known[place].added.subtract(removed)
      known[place].added.formUnion(added)
      known[place].removed.subtract(added)
      known[place].removed.formUnion(removed)
    } else {
      // It has one id, and all earlier ones count as removed.
      known[place].removed.formUnion(known[place].added.union(before))
      known[place].removed.subtract(after)
      known[place].added = after
      known[place].wasEmpty = !after.isEmpty && (known[place].wasEmpty || before.isEmpty)
    }
    set(known, of: holder)
  }

  /// Remembers what a record that was read in this write, and so is current, has changed of the
  /// references that are remembered.
  mutating func noteChanges<R: Record>(of holder: Holder, from before: R, to after: R) throws {
    for change in changes[holder] ?? [] {
      guard let reference = change.reference as? TypedReference<R> else { continue }
      note(
        holder, reference, before: try reference.idBytes(of: before),
        after: try reference.idBytes(of: after))
    }
  }

  /// Forgets a record that was deleted, or changed by a delete rule.
  mutating func forget(_ holder: Holder) {
    if changes[holder] != nil { set(nil, of: holder) }
  }

  private mutating func set(_ known: [Change]?, of holder: Holder) {
    earlier.append((holder, changes[holder]))
    changes[holder] = known
  }

  /// A changed reference of which the record has the old ids; nil if the record is current.
  func missing<R: Record>(in record: R, _ holder: Holder) throws -> ReferenceDeclaration? {
    for change in changes[holder] ?? [] {
      guard let reference = change.reference as? TypedReference<R> else { continue }
      if change.mayBeNewer(than: try reference.idBytes(of: record)) { return reference }
    }
    return nil
  }
}

extension TypedReference {
  /// The ids in the property, as bytes.
  func idBytes(of record: Holder) throws -> Set<[UInt8]> {
    var ids: Set<[UInt8]> = []
    var writer = KeyWriter()
    try forEachID(record, &writer) { ids.insert([UInt8]($0)) }
    return ids
  }
}

extension WriteTransaction {
  /// Throws `.conflict` if the record is older than a change of its references in this transaction.
  @inline(never)
  func checkReferencesAreCurrent<R: Record>(
    _ record: R, _ key: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws {
    let holder = ReferenceChanges.Holder(place: collection.place, id: [UInt8](key))
    guard let reference = try referenceChanges.missing(in: record, holder) else { return }
    throw LarchError(
      .conflict,
      "The record is out of date: `add`, `remove` or `replace` changed its references in this transaction. Fetch it again, or pass your copy to them, as in `add(_:to: &record, _:)`; `remove` takes an `add` back."
    ) {
      $0.collection = collection.stored.name
      $0.id = holder.id.withUnsafeBytes { collection.stored.idKind.text(of: $0) }
      $0.field = reference.fieldText
    }
  }

  /// Saves a record after its association has changed a reference in it, and remembers the change.
  func saveReferences<R: Record>(_ record: R, before: R, _ reference: TypedReference<R>) throws {
    let (old, new) = (try reference.idBytes(of: before), try reference.idBytes(of: record))
    try update(record) { $0.note($1, reference, before: old, after: new) }
  }

  /// Saves a record that was read in this transaction, so that it is no older than any change of its
  /// references.
  func updateCurrent<R: Record>(_ record: R, before: R) throws {
    if referenceChanges.isEmpty { return try update(record) }
    try update(record) { try $0.noteChanges(of: $1, from: before, to: record) }
  }

  /// Saves a record, of which changed references are noted; neither happens if the other fails.
  private func update<R: Record>(
    _ record: R, noting note: (inout ReferenceChanges, ReferenceChanges.Holder) throws -> Void
  ) throws {
    let collection = try context.collection(of: R.self)
    let holder = ReferenceChanges.Holder(
      place: collection.place, id: [UInt8](try context.key(of: record.id)))
    let mark = referenceChanges.mark
    do {
      try note(&referenceChanges, holder)
      try update(record)
    } catch {
      referenceChanges.rewind(to: mark)
      throw error
    }
  }

  /// Changes an association, and updates the ids in the caller's copy of the owner.
  func changeReference<A: Association>(
    _ owner: inout A.Owner, _ association: A, _ change: (Related<A.Owner, A.Target>) throws -> Void
  ) throws {
    let related = owner.related(association)
    guard case .inOwner(let declared) = related.idLocation else { return try change(related) }
    let reference = try related.reference(declared, of: A.Owner.self)
    if owner.id._isUnassigned { throw related.unsavedOwner }
    let version = try context.collection(of: A.Owner.self).declarations(of: A.Owner.self).version
    let before = try version.flatMap { version in
      try find(A.Owner.self, owner.id).map(version.number)
    }
    try change(related)
    guard let stored = try find(A.Owner.self, owner.id) else { return }
    reference.copy(stored, &owner)
    if let version, let before, version.number(owner) == before {
      version.set(&owner, version.number(stored))
    }
  }
}

extension Related {
  /// Where the ids of related records are stored.
  enum IDLocation {
    case inOwner(ReferenceDeclaration)
    case elsewhere
  }

  var idLocation: IDLocation {
    switch route {
    case .parent(let reference), .listed(let reference): .inOwner(reference)
    case .children, .links, .through: .elsewhere
    }
  }
}
