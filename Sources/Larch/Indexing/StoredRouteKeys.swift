/// Makes the keys of stored records in one index, for the listeners that are filed by it.
///
/// They are made by the same steps as those of the index, from bytes alone: no code of the program
/// runs, since the thread has the write lock. Where only the decoded record has the keys, they are
/// not known.
final class StoredRouteKeys: RouteKeys {
  // Used only with the mutex held.
  private final class Work {
    @exclusivity(unchecked) var keys = IndexKeys()
    @exclusivity(unchecked) var list = EntryList()
    let shapes = ShapeTable()
    /// Whether the declarations may have changed, by which the keys are made.
    var mustCheck = true
    var isStale = false
  }

  private let catalog: Catalog
  private let collection: CollectionHandle
  /// The place of the index in the collection.
  private let number: Int
  // It has the hub that calls.
  private unowned let environment: LMDBEnvironment
  /// The opening of the file to which the handles belong.
  private let generation: Int
  private let work = Locked(Work())

  var owner: AnyObject { catalog }
  let tree: UInt32

  init(
    _ catalog: Catalog, _ collection: CollectionHandle, index number: Int,
    _ environment: LMDBEnvironment, generation: Int
  ) {
    self.catalog = catalog
    self.collection = collection
    self.number = number
    self.environment = environment
    self.generation = generation
    tree = collection.indexes[number].database.handle
    work.withLock { work in
      work.shapes.loader = { [unowned self] id in
        try reading { try catalog.storage.shape(id, in: $0) }
      }
    }
  }

  func note(_ commit: CommittedChanges?) {
    // A change of the declarations is a write to the catalog.
    if commit?.trees.contains(catalog.storage.entries.handle) == false { return }
    work.withLock { $0.mustCheck = true }
  }

  func keys(of changes: RecordChanges, besidesWritten written: Bool) -> KeyBatch? {
    work.withLock { made in
      guard isCurrent(made) else { return nil }
      var batch = KeyBatch()
      var areKnown = true
      changes.forEach { _, before, after in
        guard areKnown else { return }
        if !written {
          areKnown = collect(before, made)
          for item in made.list.items { batch.append(made.list.key(item)) }
        } else if before == nil || after == nil {
          // All its keys were written.
          return
        }
        // One that it had and has no longer was taken out of the index.
        areKnown = areKnown && collect(after, made)
        for item in made.list.items { batch.append(made.list.key(item)) }
      }
      return areKnown ? batch : nil
    }
  }

  /// Collects the keys of a record. False if they are not known.
  private func collect(_ stored: UnsafeRawBufferPointer?, _ work: Work) -> Bool {
    work.list.removeAll()
    guard let stored else { return true }
    let isKnown = try? work.keys.collectStored(
      of: RecordEnvelope.unverified(stored), in: collection, work.shapes, number, into: &work.list)
    return isKnown == true
  }
  /// Whether the declarations are still those of the file.
  private func isCurrent(_ work: Work) -> Bool {
    if work.isStale || environment.generation != generation { return false }
    guard work.mustCheck else { return true }
    guard let found = try? reading({ try catalog.storage.generation(in: $0) }) else { return false }
    work.mustCheck = false
    work.isStale = found != catalog.generation
    return !work.isStale
  }

  /// Reads the newest state. It does not wait, and throws if it would have to.
  private func reading<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
    guard let reader = environment.beginReadWithoutWaiting() else {
      throw LarchError(.storage, "No reader is free to find out how the records are stored.")
    }
    defer { environment.endReadSilently(reader) }
    return try body(reader.transaction)
  }
}

extension CollectionHandle {
  /// The indexes over all records whose keys the stored bytes have, by bit and by their place in the
  /// schema. They need not be complete.
  var storedKeys: UInt64 {
    var found: UInt64 = 0
    for index in indexes where !index.schema.isPartial && index.schema.hasStoredKeys {
      found |= 1 << UInt64(index.position)
    }
    return found
  }
}
