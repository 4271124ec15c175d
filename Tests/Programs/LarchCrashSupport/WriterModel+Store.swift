package import Larch

/// A store does not have the expected contents.
package struct Mismatch: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

private struct Undone: Error {}

extension WriterModel {
  /// The state of a writer in a snapshot.
  package static func read(
    _ writer: Int, seed: UInt64, in transaction: ReadTransaction
  ) throws -> WriterModel {
    let progress = try transaction.find(Progress.self, writer) ?? Progress(id: writer)
    let items = try transaction.all(Item.self).filter { $0.owner == writer }
    let entries = try transaction.all(Entry.self).filter { $0.owner == writer }
    // Ids are assigned in the order of inserts, and never twice.
    for (one, next) in zip(items, items.dropFirst()) where one.serial >= next.serial {
      throw Mismatch("item \(next.serial) has id \(next.id), behind item \(one.serial)")
    }
    let model = WriterModel(seed: seed, progress: progress, items: items, entries: entries)
    guard model.items.count == items.count, model.entries.count == entries.count,
      progress.itemCount == items.count, progress.entryCount == entries.count,
      progress.rankSum == items.reduce(0, { $0 + $1.rank })
    else {
      throw Mismatch(
        "writer \(writer) counts \(progress), but there are \(items.count) items and \(entries.count) entries"
      )
    }
    return model
  }

  /// Runs the next transaction in the store. `ids` are those of the items by serial; `more` runs in
  /// the same transaction.
  package mutating func write(
    to store: Store, ids: inout [Int: RecordID<Item>],
    durability: Store.WriteDurability = .storeDefault,
    and more: (WriteTransaction) throws -> Void = { _ in }
  ) throws {
    let steps = next()
    let progress = progress
    let before = ids
    ids = try store.write(durability: durability) { tx throws in
      // The closure may run again.
      var ids = before
      try apply(steps, to: tx, &ids)
      var record = progress
      try tx.save(&record)
      try more(tx)
      return ids
    }
  }

  private func apply(
    _ steps: [Step], to tx: WriteTransaction, _ ids: inout [Int: RecordID<Item>]
  ) throws {
    for step in steps {
      switch step {
      case .insert(var item):
        try tx.insert(&item)
        ids[item.serial] = item.id
      case .update(var item):
        item.id = try id(item.serial, ids)
        try tx.update(item)
      case .delete(let serial):
        guard try tx.delete(Item.self, try id(serial, ids)) else {
          throw Mismatch("item \(serial) was not there to delete")
        }
        ids[serial] = nil
      case .conflict(var item):
        do {
          try tx.insert(&item)
        } catch let error as LarchError where error.code == .uniqueConflict {
          continue
        }
        throw Mismatch("code \(item.code) is there twice")
      case .save(var entry):
        try tx.save(&entry)
      case .deleteEntry(let id):
        guard try tx.delete(Entry.self, id) else {
          throw Mismatch("entry \(id) was not there to delete")
        }
      case .savepoint(let inner, let isUndone):
        let before = ids
        do {
          try tx.savepoint {
            try apply(inner, to: tx, &ids)
            if isUndone { throw Undone() }
          }
        } catch is Undone {
          ids = before
        }
      }
    }
  }

  private func id(_ serial: Int, _ ids: [Int: RecordID<Item>]) throws -> RecordID<Item> {
    guard let id = ids[serial] else { throw Mismatch("item \(serial) has no id") }
    return id
  }
}
