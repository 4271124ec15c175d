// Whether a change can concern those who observe the store: its keys are at hand here.

extension IndexMaintainer {
  /// Tells the log of the transaction, before a record is written, whether that can concern a listener, by
  /// the entries before and after (`RecordSieve`).
  @inline(never)
  func announce(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) {
    let hub = context.environment.changes
    let tree = collection.records.handle
    guard let routes = hub.log.routes(of: tree) else { return }
    // Keys of other declarations may be made in another way: then nothing is announced.
    let isConcerned: Bool? = hub.withRoutes {
      routes.isOnly(of: context.catalog) ? mayConcern(routes, id, collection) : nil
    }
    guard let isConcerned else { return }
    if isConcerned { announceKeys(hub.log, collection) }
    hub.log.announce(id, in: tree, isConcerned: isConcerned)
  }

  /// The record is written; its id may lie elsewhere now.
  @inline(never)
  func endAnnouncement() { context.environment.changes.log.endAnnouncement() }

  private func mayConcern(
    _ routes: RouteIndex, _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle
  ) -> Bool {
    if routes.has(id: id) { return true }
    for item in new.items
    where routes.has(key: new.key(item), of: collection.indexes[item.index].database.handle) {
      return true
    }
    for item in old.items
    where routes.has(key: old.key(item), of: collection.indexes[item.index].database.handle) {
      return true
    }
    return false
  }

  private func announceKeys(_ log: ChangeLog, _ collection: CollectionHandle) {
    for item in new.items {
      log.announce(key: new.key(item), of: collection.indexes[item.index].database.handle)
    }
    for item in old.items {
      log.announce(key: old.key(item), of: collection.indexes[item.index].database.handle)
    }
  }
}
