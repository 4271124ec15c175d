/// What `add`, `remove` and `replace` changed in the references of stored records, in the write that
/// is running.
///
/// A record in hand that was read before is older than that. Saved as a whole it would take the
/// change back without a word, so it is refused instead.
struct HeldChanges {
  struct Holder: Hashable {
    /// The place of the collection.
    let place: Int
    let id: [UInt8]
  }

  private struct Change {
    let reference: ReferenceDeclaration
    var added: Set<[UInt8]>
    var removed: Set<[UInt8]>
  }

  private var changes: [Holder: [Change]] = [:]

  var isEmpty: Bool { changes.isEmpty }

  /// Takes note of ids that a reference of a stored record got and lost.
  mutating func note(
    _ holder: Holder, _ reference: ReferenceDeclaration, before: Set<[UInt8]>, after: Set<[UInt8]>
  ) {
    let added = after.subtracting(before)
    let removed = before.subtracting(after)
    if added.isEmpty, removed.isEmpty { return }
    var known = changes[holder] ?? []
    let place = known.firstIndex {
      $0.reference === reference || $0.reference.isSame(as: reference)
    }
    if let place {
      known[place].added.subtract(removed)
      known[place].added.formUnion(added)
      known[place].removed.subtract(added)
      known[place].removed.formUnion(removed)
    } else {
      known.append(Change(reference: reference, added: added, removed: removed))
    }
    changes[holder] = known
  }

  /// The record is there no more, or was changed by a rule.
  mutating func forget(_ holder: Holder) { changes[holder] = nil }

  /// A reference whose change a record in hand does not have.
  func missing<R: Record>(in record: R, _ holder: Holder) throws -> ReferenceDeclaration? {
    for change in changes[holder] ?? [] {
      guard let reference = change.reference as? TypedReference<R> else { continue }
      let ids = try reference.heldIDs(of: record)
      if change.added.isSubset(of: ids), change.removed.isDisjoint(with: ids) { continue }
      return reference
    }
    return nil
  }
}

extension TypedReference {
  /// The bytes of the ids that the property holds.
  func heldIDs(of record: Holder) throws -> Set<[UInt8]> {
    var ids: Set<[UInt8]> = []
    var writer = KeyWriter()
    try forEachID(record, &writer) { ids.insert([UInt8]($0)) }
    return ids
  }
}

extension WriteTransaction {
  /// Throws `.conflict` for a record that is older than what `add` and `remove` changed of it in
  /// this transaction.
  @inline(never)
  func checkHeld<R: Record>(
    _ record: R, _ key: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws {
    let holder = HeldChanges.Holder(place: collection.place, id: [UInt8](key))
    guard let reference = try heldChanges.missing(in: record, holder) else { return }
    throw LarchError(
      .conflict,
      "The record is out of date: `add`, `remove` or `replace` changed its references in this transaction. Fetch it again, or pass your copy to them, as in `add(_:to: &record, _:)`."
    ) {
      $0.collection = collection.stored.name
      $0.id = holder.id.withUnsafeBytes { collection.stored.idKind.text(of: $0) }
      $0.field = reference.fieldText
    }
  }

  /// Saves a record whose reference was changed by its association.
  func saveHeld<R: Record>(_ record: R, before: R, _ reference: TypedReference<R>) throws {
    let collection = try context.collection(of: R.self)
    let holder = HeldChanges.Holder(
      place: collection.place, id: [UInt8](try context.key(of: record.id)))
    let known = heldChanges
    heldChanges.note(
      holder, reference, before: try reference.heldIDs(of: before),
      after: try reference.heldIDs(of: record))
    do {
      try update(record)
    } catch {
      heldChanges = known
      throw error
    }
  }

  /// Changes an association of a record in hand: what the record holds of it is changed there too.
  func changeHeld<A: Association>(
    _ owner: inout A.Owner, _ association: A, _ change: (Related<A.Owner, A.Target>) throws -> Void
  ) throws {
    let related = owner.related(association)
    guard case .held(let declared) = related.holding else { return try change(related) }
    let reference = try related.reference(declared, of: A.Owner.self)
    if owner.id._isUnassigned { throw related.unsavedOwner }
    let version = try context.collection(of: A.Owner.self).declarations(of: A.Owner.self).version
    let before = try version.flatMap { version in
      try find(A.Owner.self, owner.id).map(version.number)
    }
    try change(related)
    guard let stored = try find(A.Owner.self, owner.id) else { return }
    _ = reference.replaceAll(&owner, reference.ids(of: stored, as: A.Target.ID.self))
    if let version, let before, version.number(owner) == before {
      version.set(&owner, version.number(stored))
    }
  }
}

extension Related {
  /// Who holds the ids.
  enum Holding {
    case held(ReferenceDeclaration)
    case elsewhere
  }

  var holding: Holding {
    switch route {
    case .parent(let reference), .listed(let reference): .held(reference)
    case .children, .links, .through: .elsewhere
    }
  }
}
