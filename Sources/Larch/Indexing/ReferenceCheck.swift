/// Checks that references do not dangle.
///
/// A save looks up its new references. A missing record may still be saved in the same transaction,
/// so it is looked up again before the commit.
package final class ReferenceCheck {
  /// A record with a reference whose target did not exist.
  private struct Waiting {
    let collection: CollectionHandle
    let reference: SavedReference
    let id: [UInt8]
  }

  /// A member of a list that did not exist.
  private struct WaitingLink {
    let collection: CollectionHandle
    let association: String
    let id: [UInt8]
  }

  private let context: TransactionContext
  @exclusivity(unchecked) private var waiting: [Waiting] = []
  @exclusivity(unchecked) private var waitingLinks: [WaitingLink] = []
  @exclusivity(unchecked) private var writer = KeyWriter()

  init(_ context: TransactionContext) { self.context = context }

  /// Looks up each reference that a record did not have before.
  ///
  /// - Throws: `.unsavedReference` for an id that was never assigned, `.fieldMismatch` for an id
  ///   with another index value.
  func check(
    id: UnsafeRawBufferPointer, after: UnsafeRawBufferPointer, old: borrowing EntryList,
    new: borrowing EntryList, in collection: CollectionHandle
  ) throws {
    for reference in collection.references where !reference.schema.declaration.isStandard {
      try proveKeys(of: reference, id, after, new, collection)
    }
    let start = waiting.count
    for item in new.items where collection.referenceIndexes & 1 << UInt64(item.index) != 0 {
      let key = new.key(item)
      if item.hasNil || (!item.isCut && old.contains(index: item.index, key: key)) { continue }
      for reference in collection.references where reference.number == item.index {
        let isFound: Bool?
        if item.isCut {
          isFound = try missing(after, reference, collection) == nil
        } else {
          isFound = try reference.schema.form.withID(inKey: key) { target in
            try isThere(target, reference, id, collection)
          }
        }
        // One check looks up all ids of the reference.
        if isFound == false, !waiting[start...].contains(where: { $0.reference === reference }) {
          waiting.append(Waiting(collection: collection, reference: reference, id: [UInt8](id)))
        }
      }
    }
  }

  /// Looks up all references of a record whose index a migration has not built.
  func checkUnindexed(
    id: UnsafeRawBufferPointer, after: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws {
    for reference in collection.references where reference.number == nil {
      guard try missing(after, reference, collection) != nil else { continue }
      waiting.append(Waiting(collection: collection, reference: reference, id: [UInt8](id)))
    }
  }

  /// Checks that ids of a custom type are indexed by their own bytes: lists are found by these.
  private func proveKeys(
    of reference: SavedReference, _ id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer,
    _ new: borrowing EntryList, _ collection: CollectionHandle
  ) throws {
    guard let number = reference.number else { return }
    var keys: [[UInt8]] = []
    var key = KeyWriter()
    try collection.schema.referencedIDs(
      record, context.coder, reference.schema.declaration, &writer
    ) { target in
      keys.append(
        reference.schema.form.writeKey(of: target, to: &key) ? [UInt8](key.bytes) : [])
    }
    for key in keys
    where !key.withUnsafeBytes({ new.contains(index: number, key: $0) }) {
      throw LarchError(
        .fieldMismatch,
        "The `indexValue` of an id type differs from the stored value of the id; use the default `indexValue`, which is that of the raw value."
      ) {
        $0.collection = collection.stored.name
        $0.field = reference.key
        $0.id = collection.stored.idKind.text(of: id)
      }
    }
  }

  private func isThere(
    _ target: UnsafeRawBufferPointer, _ reference: SavedReference,
    _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle
  ) throws -> Bool {
    if reference.targetStored.idKind == .assigned, ReferenceCheck.isUnassigned(target) {
      throw LarchError(
        .unsavedReference,
        "The record refers to a record that was never saved and has no id yet; save that one first."
      ) {
        $0.collection = collection.stored.name
        $0.field = reference.key
        $0.id = collection.stored.idKind.text(of: id)
      }
    }
    if !reference.isEnforced { return true }
    return try reference.target.get(target, in: try context.transaction()) != nil
  }

  /// Whether the id is the number 0, with its sign bit flipped.
  private static func isUnassigned(_ id: UnsafeRawBufferPointer) -> Bool {
    id.count == 8 && id.loadUnaligned(as: UInt64.self) == UInt64(0x80)
  }

  /// The first dangling id of a reference, from the decoded record.
  private func missing(
    _ record: UnsafeRawBufferPointer, _ reference: SavedReference, _ collection: CollectionHandle
  ) throws -> [UInt8]? {
    if !reference.isEnforced { return nil }
    let transaction = try context.transaction()
    var missing: [UInt8]?
    try collection.schema.referencedIDs(
      record, context.coder, reference.schema.declaration, &writer
    ) { target in
      if missing != nil { return }
      if try reference.target.get(target, in: transaction) == nil { missing = [UInt8](target) }
    }
    return missing
  }

  /// Looks up both ends of a link.
  func checkLink(
    _ id: UnsafeRawBufferPointer, in collection: CollectionHandle, association: String
  ) throws {
    let transaction = try context.transaction()
    if try collection.records.get(id, in: transaction) == nil {
      context.hasUnsavedMembers = true
      waitingLinks.append(
        WaitingLink(collection: collection, association: association, id: [UInt8](id)))
    }
  }

  // MARK: The end of a transaction

  /// The number of waiting checks, for returning to it with a savepoint.
  var mark: (records: Int, links: Int) { (waiting.count, waitingLinks.count) }

  /// The references that still dangle, with their places among the waiting ones.
  func unresolved(
    from start: Int
  ) throws -> [(place: Int, target: UInt32, error: LarchError)] {
    var found: [(place: Int, target: UInt32, error: LarchError)] = []
    try forEachDangling(from: start) { place, error in
      found.append((place, waiting[place].reference.targetStored.id, error))
    }
    return found
  }

  /// Looks up the waiting references again. If a record was saved several times, only the last counts:
  /// its reference is the one that is stored.
  private func forEachDangling(
    from start: Int, _ body: (_ place: Int, _ error: LarchError) throws -> Void
  ) throws {
    let transaction = try context.transaction()
    var last: [[UInt8]: [(reference: SavedReference, place: Int)]] = [:]
    for (place, item) in waiting.enumerated().dropFirst(start) {
      let known = last[item.id]?.firstIndex { $0.reference === item.reference }
      if let known {
        last[item.id]?[known].place = place
      } else {
        last[item.id, default: []].append((item.reference, place))
      }
    }
    for (place, item) in waiting.enumerated().dropFirst(start)
    where last[item.id]?.contains(where: { $0.place == place }) == true {
      let error: LarchError? = try item.id.withUnsafeBytes { id in
        // If the record was deleted, or saved with another reference, this check is obsolete.
        guard let stored = try item.collection.records.get(id, in: transaction) else { return nil }
        let record = try RecordEnvelope.open(stored, id: id, in: item.collection)
        return try missing(record, item.reference, item.collection).map {
          dangling(id, item.reference, $0, item.collection)
        }
      }
      if let error { try body(place, error) }
    }
  }

  func rewind(to mark: (records: Int, links: Int)) {
    waiting.removeSubrange(min(mark.records, waiting.count)...)
    waitingLinks.removeSubrange(min(mark.links, waitingLinks.count)...)
  }

  func discard() {
    waiting = []
    waitingLinks = []
  }

  /// Checks that every missing record has been saved.
  ///
  /// - Throws: `.danglingReference` for the first that has not.
  package func finish(isLinked: (CollectionHandle, String, UnsafeRawBufferPointer) throws -> Bool)
    throws
  {
    if waiting.isEmpty, waitingLinks.isEmpty { return }
    try forEachDangling(from: 0) { _, error in throw error }
    let transaction = try context.transaction()
    for item in waitingLinks {
      try item.id.withUnsafeBytes { id in
        guard try item.collection.records.get(id, in: transaction) == nil,
          try isLinked(item.collection, item.association, id)
        else { return }
        throw LarchError(
          .danglingReference,
          "A record was added to a list, but does not exist at the end of the transaction; save it too."
        ) {
          $0.collection = item.collection.stored.name
          $0.field = item.association
          $0.id = item.collection.stored.idKind.text(of: id)
        }
      }
    }
    discard()
  }

  private func dangling(
    _ id: UnsafeRawBufferPointer, _ reference: SavedReference, _ missing: [UInt8],
    _ collection: CollectionHandle
  ) -> LarchError {
    LarchError(
      .danglingReference,
      "A record refers to a record that does not exist at the end of the transaction; save that one too, or set the property to nil."
    ) {
      $0.collection = collection.stored.name
      $0.field = reference.key
      $0.id = collection.stored.idKind.text(of: id)
      let target = reference.targetStored
      let other = missing.withUnsafeBytes { target.idKind.text(of: $0) }
      $0.otherID = other
      $0.detail = "no \(target.name) has the id \(other)"
    }
  }
}
