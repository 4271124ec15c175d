package import LarchTestSupport

/// One change of a transaction, decided before anything is written.
package enum Step {
  case insert(Item)
  case update(Item)
  case delete(serial: Int)
  /// An insert of a code that another record has; it must be refused and change nothing.
  case conflict(Item)
  case save(Entry)
  case deleteEntry(String)
  case savepoint([Step], isUndone: Bool)
}

/// What one writer must have written after a number of transactions.
///
/// Plain arithmetic on the seed and the number of the transaction: the test that comes after a
/// kill makes the same steps again and compares.
package struct WriterModel {
  package let seed: UInt64
  package private(set) var progress: Progress
  /// Own records by serial and by id.
  package private(set) var items: [Int: Item] = [:]
  package private(set) var entries: [String: Entry] = [:]

  package init(seed: UInt64, writer: Int) {
    self.seed = seed
    progress = Progress(id: writer)
  }

  /// Goes on from what is stored.
  package init(seed: UInt64, progress: Progress, items: [Item], entries: [Entry]) {
    self.seed = seed
    self.progress = progress
    for item in items { self.items[item.serial] = item }
    for entry in entries { self.entries[entry.id] = entry }
  }

  package var writer: Int { progress.id }

  /// Every record as text, in a fixed order.
  package var contents: [String] {
    items.values.sorted { $0.serial < $1.serial }.map(\.content)
      + entries.values.sorted { $0.id < $1.id }.map(\.content)
  }

  /// Makes the next transaction and takes it in.
  package mutating func next() -> [Step] {
    let number = UInt64(progress.transactions + 1)
    var random = SeededGenerator(
      seed: seed ^ (UInt64(writer) &* 0xD1B5_4A32_D192_ED03) ^ (number &* 0x9E37_79B9_7F4A_7C15))
    let count = 1 + random.below(random.below(12) == 0 ? 24 : 5)
    let steps = makeSteps(count, depth: 0, &random)
    progress.transactions += 1
    progress.itemCount = items.count
    progress.rankSum = items.values.reduce(0) { $0 + $1.rank }
    progress.entryCount = entries.count
    return steps
  }

  private mutating func makeSteps(
    _ count: Int, depth: Int, _ random: inout SeededGenerator
  ) -> [Step] {
    var steps: [Step] = []
    for _ in 0..<count {
      if depth < 2, random.below(9) == 0 {
        let isUndone = random.below(2) == 0
        let before = self
        let inner = makeSteps(1 + random.below(4), depth: depth + 1, &random)
        if isUndone { self = before }
        steps.append(.savepoint(inner, isUndone: isUndone))
      } else {
        steps.append(makeStep(&random))
      }
    }
    return steps
  }

  private mutating func makeStep(_ random: inout SeededGenerator) -> Step {
    let serials = items.keys.sorted()
    switch random.below(16) {
    case 0..<4 where serials.count < 30:
      let item = makeItem(serial: progress.nextSerial, &random)
      progress.nextSerial += 1
      items[item.serial] = item
      return .insert(item)
    case 4..<8 where !serials.isEmpty:
      var item = makeItem(serial: serials[random.below(serials.count)], &random)
      // Some changes touch no unique value, some only that.
      if let old = items[item.serial], random.below(2) == 0 { item.code = old.code }
      items[item.serial] = item
      return .update(item)
    case 8..<10 where serials.count > 8:
      // The newest one at times: its id must not be given again.
      let serial = random.below(3) == 0 ? serials[serials.count - 1] : serials[random.below(8)]
      items[serial] = nil
      return .delete(serial: serial)
    case 10 where !serials.isEmpty:
      var item = makeItem(serial: -1, &random)
      item.code = items[serials[random.below(serials.count)]]?.code ?? ""
      return .conflict(item)
    case 11 where !entries.isEmpty:
      let ids = entries.keys.sorted()
      let id = ids[random.below(ids.count)]
      entries[id] = nil
      return .deleteEntry(id)
    default:
      let id = "\(writer)-\(random.below(20))"
      // The texts differ after the length at which keys are cut.
      let text =
        String(repeating: "w\(writer) ", count: 45 + random.below(3)) + id
        + "-\(random.below(1000))"
      let entry = Entry(
        id: id, owner: writer, text: text, value: random.below(4) == 0 ? nil : random.below(50))
      entries[id] = entry
      return .save(entry)
    }
  }

  private func makeItem(serial: Int, _ random: inout SeededGenerator) -> Item {
    let groups = ["Ash", "birch", "Élm", "oak", ""]
    let labels = (0..<random.below(4)).map { _ in "label\(random.below(12))" }
    return Item(
      owner: writer, serial: serial, code: "\(writer)-\(serial)-\(random.below(1 << 20))",
      group: groups[random.below(groups.count)], rank: random.below(100),
      labels: random.below(25) == 0 ? labels + [String(repeating: "long", count: 1500)] : labels)
  }
}

extension SeededGenerator {
  package mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
