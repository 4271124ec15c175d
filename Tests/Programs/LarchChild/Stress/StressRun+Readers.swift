internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

extension StressRun {
  private static let total = Purse.count * Purse.opening

  @Sendable func read(_ worker: Int, _ seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    while watch.goesOn {
      let way = random.below(5)
      watch.step(worker, "reading in way \(way)")
      do {
        if random.below(20) == 0 { try await readHeld(worker, &random) }
        try store.read { tx throws in
          try look(tx, way, &random)
          // Another verb gives the same on the snapshot, whatever was written in the meantime.
          try look(tx, (way + 1) % 5, &random)
        }
        counts.withLock { $0.add("reads") }
      } catch {
        watch.fault("reader: \(error)")
      }
      await Task.yield()
    }
  }

  /// A snapshot that is kept while this task changes threads and reads newer ones.
  private func readHeld(_ worker: Int, _ random: inout SeededGenerator) async throws {
    let snapshot = try store.snapshot()
    defer { snapshot.end() }
    do {
      let balances = try snapshot.read { tx throws in try tx.all(Purse.self).map(\.balance) }
      for _ in 0..<random.below(10) {
        watch.step(worker, "holding a snapshot")
        await Task.yield()
        try store.read { tx throws in try look(tx, random.below(5), &random) }
      }
      watch.step(worker, "using a held snapshot")
      try snapshot.read { tx throws in
        for way in 0..<5 { try look(tx, way, &random) }
        guard try tx.all(Purse.self).map(\.balance) == balances else {
          throw Mismatch("a snapshot has changed")
        }
      }
      counts.withLock { $0.add("held snapshots") }
    } catch let error as LarchError where error.code == .snapshotEnded {
      // The map has moved.
      counts.withLock { $0.add("ended snapshots") }
    }
  }

  private func look(_ tx: ReadTransaction, _ way: Int, _ random: inout SeededGenerator) throws {
    switch way {
    case 0:
      let balances = try tx.all(Purse.self).map(\.balance)
      try expect(balances.count, Purse.count, "purses")
      try expect(balances.reduce(0, +), Self.total, "sum of all")
    case 1:
      // With an index.
      let limit = random.below(2 * Purse.opening)
      let rich = try tx.fetch(Purse.where { $0.balance >= limit })
      let poor = try tx.fetch(Purse.where { $0.balance < limit })
      try expect(rich.count + poor.count, Purse.count, "rich and poor")
      try expect((rich + poor).reduce(0) { $0 + $1.balance }, Self.total, "sum of rich and poor")
    case 2:
      // Without one.
      let sums = try (0..<3).map { color in
        try tx.sum(\.balance, of: Purse.where { $0.color == color })
      }
      try expect(sums.reduce(0, +), Self.total, "sum of colors")
    case 3:
      // The amount in a purse agrees with its history.
      let id = random.below(Purse.count)
      let came = try tx.sum(\.amount, of: Transfer.where { $0.target == id })
      let went = try tx.sum(\.amount, of: Transfer.where { $0.source == id })
      try expect(
        try tx.find(Purse.self, id)?.balance ?? -1, Purse.opening + came - went, "purse \(id)")
    default:
      let last = try tx.fetch(Transfer.all.sorted(by: \.id, .descending).limit(5))
      for transfer in last where transfer != Transfer(transfer.id, seed: seed) {
        throw Mismatch("\(transfer) is not what was written")
      }
    }
  }

  private func expect(_ found: Int, _ wanted: Int, _ what: String) throws {
    guard found == wanted else { throw Mismatch("\(what): \(found), not \(wanted)") }
  }
}
