/// Compares the two directions of lists with each other and with the records at their ends, as a
/// stream.
struct LinkVerifier {
  let lists: StoredLists
  let transaction: LMDBTransaction

  func verify(into report: inout VerificationReport) throws {
    let forward = try proveLists(isForward: true, into: &report)
    let count = try lists.databases.inverse.statistics(in: transaction).entries
    report.linkCount += forward.count
    // Every link of one direction was looked up in the other. With equal counts the other has no
    // further link, so only the records of its lists must be looked up.
    if count == forward.count - forward.oneSided {
      try proveKeys(into: &report)
    } else {
      report.linkCount += try proveLists(isForward: false, into: &report).oneSided
    }
  }

  /// Looks up each link of one direction in the other, and the record of each list.
  private func proveLists(
    isForward: Bool, into report: inout VerificationReport
  ) throws -> (count: Int, oneSided: Int) {
    let (lists, others, from, to) = lists.direction(isForward: isForward)
    var total = 0
    var oneSided = 0
    var cursor = try LMDBCursor(lists, in: transaction)
    var other = try LMDBCursor(others, in: transaction)
    var list = try cursor.first()
    while let head = list {
      var count = 0
      var member: LMDBEntry? = head
      while let here = member {
        count += 1
        if try other.seek(here.value, value: head.key) == nil {
          oneSided += 1
          report.add(
            fault(
              .oneSidedLink, head.key, from,
              "lists id \(to.text(of: here.value)) of \(to.collection.name), which does not list it"
            ))
          // The lists of the other direction will report a missing record, if there are any.
          if try other.seek(exactly: here.value) == nil,
            try to.records.get(here.value, in: transaction) == nil
          {
            report.add(fault(.danglingLink, here.value, to, "no such record, 1 link"))
          }
        }
        member = try cursor.nextDuplicate()
      }
      total += count
      if try from.records.get(head.key, in: transaction) == nil {
        report.add(dangling(head.key, from, count))
      }
      list = try cursor.nextKey()
    }
    return (total, oneSided)
  }

  /// Looks up the record of each list of the inverse direction.
  private func proveKeys(into report: inout VerificationReport) throws {
    var cursor = try LMDBCursor(lists.databases.inverse, in: transaction)
    var list = try cursor.first()
    while let head = list {
      if try lists.second.records.get(head.key, in: transaction) == nil {
        report.add(dangling(head.key, lists.second, try cursor.duplicateCount()))
      }
      list = try cursor.nextKey()
    }
  }

  private func dangling(
    _ id: UnsafeRawBufferPointer, _ end: StoredLists.End, _ count: Int
  ) -> VerificationReport.Fault {
    fault(
      .danglingLink, id, end, "no such record, \(count) \(count == 1 ? "link" : "links")")
  }

  private func fault(
    _ kind: VerificationReport.Fault.Kind, _ id: UnsafeRawBufferPointer, _ end: StoredLists.End,
    _ detail: String
  ) -> VerificationReport.Fault {
    .init(
      kind, collection: end.collection.name, association: lists.stored.key, id: end.text(of: id),
      detail: detail)
  }
}

/// Makes both directions of lists consistent again.
///
/// A link is kept if both records exist and either direction has it.
struct LinkRepair {
  let lists: StoredLists
  let transaction: LMDBTransaction
  /// The number of changes that are collected before the scan pauses to make them; limits the
  /// memory.
  var batchSize = 100_000

  /// Where the scan continues, and the changes to make before.
  private struct Batch {
    var added: [(key: [UInt8], value: [UInt8])] = []
    var removed: [(key: [UInt8], value: [UInt8])] = []
    var next: (key: [UInt8], value: [UInt8])?
  }

  func run() throws {
    for isForward in [true, false] {
      let (lists, others, _, _) = lists.direction(isForward: isForward)
      var next: (key: [UInt8], value: [UInt8])?
      repeat {
        let batch = try batch(from: next, isForward: isForward)
        // By pair, never at a cursor: see `LMDBCursor`.
        for (key, value) in batch.removed { try change(lists, key, value, isRemoval: true) }
        for (key, value) in batch.added { try change(others, value, key, isRemoval: false) }
        next = batch.next
      } while next != nil
    }
  }

  private func batch(
    from start: (key: [UInt8], value: [UInt8])?, isForward: Bool
  ) throws -> Batch {
    let (lists, others, from, to) = lists.direction(isForward: isForward)
    var batch = Batch()
    var cursor = try LMDBCursor(lists, in: transaction)
    var other = try LMDBCursor(others, in: transaction)
    var entry: LMDBEntry?
    if let start {
      entry = try start.key.withUnsafeBytes { key in
        try start.value.withUnsafeBytes { try cursor.seek(key, value: $0) }
      }
    } else {
      entry = try cursor.first()
    }
    var lastKey = UnsafeRawBufferPointer(start: nil, count: 0)
    var isThere = false
    while let here = entry {
      if batch.added.count + batch.removed.count >= batchSize {
        batch.next = ([UInt8](here.key), [UInt8](here.value))
        return batch
      }
      // Once for all links of a list.
      if !here.key.equals(lastKey) {
        isThere = try from.records.get(here.key, in: transaction) != nil
        lastKey = here.key
      }
      if try !isThere || to.records.get(here.value, in: transaction) == nil {
        batch.removed.append(([UInt8](here.key), [UInt8](here.value)))
      } else if try other.seek(here.value, value: here.key) == nil {
        batch.added.append(([UInt8](here.key), [UInt8](here.value)))
      }
      entry = try cursor.next()
    }
    return batch
  }

  private func change(
    _ database: LMDBDatabase, _ key: [UInt8], _ value: [UInt8], isRemoval: Bool
  ) throws {
    try key.withUnsafeBytes { key in
      try value.withUnsafeBytes { value in
        if isRemoval {
          _ = try database.delete(key, value: value, in: transaction)
        } else {
          _ = try database.put(key, value, in: transaction, mode: .ifPairAbsent)
        }
      }
    }
  }
}
