internal import Foundation
package import Larch

/// Random steps of several clients of one log, each compared with a model in memory: what every `SharedLog`
/// must do.
///
/// ```swift
/// try SharedLogConformance(seed: 7, [first, second]).run(steps: 200)
/// ```
package final class SharedLogConformance {
  /// The log did something else than the model.
  package struct Difference: Error, CustomStringConvertible {
    package let description: String
  }

  private let clients: [any SharedLog]
  private let seed: UInt64
  private var random: SeededGenerator
  private var model = SharedLogModel()
  private var step = 0
  /// The appends that succeeded, to be sent again.
  private var sent: [[LogEntry]] = []
  /// How often each kind of step was taken, so that a test can see that all were.
  package private(set) var counts: [String: Int] = [:]

  /// - Parameter clients: of one log, which was never begun.
  package init(seed: UInt64, _ clients: [any SharedLog]) {
    self.clients = clients
    self.seed = seed
    random = SeededGenerator(seed: seed)
  }

  /// - Throws: `Difference`, with the seed and the step; or what the log throws.
  package func run(steps: Int) throws {
    try look()
    for _ in 0..<steps {
      step += 1
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<5: try begin()
      case 5..<8: try beginAndFail()
      case 8..<40: try append()
      case 40..<48: try appendElsewhere()
      case 48..<54: try appendAgain()
      case 54..<58: try race()
      case 58..<60: try raceOfBegin()
      case 60..<62: try share()
      case 62..<80: try tail()
      case 80..<88: try fold()
      case 88..<94: try state()
      default: try look()
      }
    }
    try state()
    try look()
  }

  private func expect(_ isRight: Bool, _ what: @autoclosure () -> String) throws {
    if !isRight { throw Difference(description: "seed \(seed), step \(step): \(what())") }
  }

  private func count(_ what: String) { counts[what, default: 0] += 1 }

  private var client: any SharedLog { clients.randomElement(using: &random)! }

  // MARK: Steps

  private func begin() throws {
    let isExpected = Int.random(in: 0..<3, using: &random) > 0
    let place = LogPlace(
      position: UInt64.random(in: 0..<50, using: &random),
      token: Bool.random(using: &random) ? .start : token())
    let expected =
      isExpected ? (model.isBegun ? model.newest : nil) : Bool.random(using: &random) ? nil : place
    let isRight = expected == (model.isBegun ? model.newest : nil)
    let trees = randomTrees()
    let use: LogUse = Bool.random(using: &random) ? .mirrored : .shared
    let isDone = try client.begin(at: place, expecting: expected, for: use) {
      try Self.write(trees, to: $0)
    }
    try expect(isDone == isRight, "begin returned \(isDone)")
    if isRight {
      model.begin(at: place, for: use, trees)
      sent = []
    }
    count("begin \(isRight)")
    try state()
  }

  /// A failure in the middle leaves what was there.
  private func beginAndFail() throws {
    struct Failure: Error {}
    let trees = randomTrees()
    do {
      _ = try client.begin(at: .start, expecting: model.isBegun ? model.newest : nil) { writer in
        try Self.write(trees, to: writer)
        throw Failure()
      }
      try expect(false, "begin went on after an error")
    } catch is Failure {}
    count("begin failed")
    try look()
    try state()
  }

  private func randomTrees() -> [String: SharedLogModel.Tree] {
    var trees: [String: SharedLogModel.Tree] = [:]
    for tree in Self.trees.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)) {
      var pairs: [SharedLogModel.Pair] = []
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        let pair = SharedLogModel.Pair(key: key(), value: value(of: tree))
        if tree.hasDuplicates || !pairs.contains(where: { $0.key == pair.key }) {
          pairs.append(pair)
        }
      }
      trees[tree.name] = .init(flags: tree.flags, pairs: Set(pairs))
    }
    return trees
  }

  private static func write(
    _ trees: [String: SharedLogModel.Tree], to writer: any LogStateWriter
  ) throws {
    for (name, tree) in trees.sorted(by: { $0.key < $1.key }) {
      try writer.begin(LogTree(name: name, flags: tree.flags))
      for pair in tree.pairs.sorted() {
        try pair.key.withUnsafeBytes { key in
          try pair.value.withUnsafeBytes { try writer.add(key, $0) }
        }
      }
    }
  }

  private func append() throws {
    let entries = entries(after: model.newest, count: Int.random(in: 1...5, using: &random))
    let isDone = try client.append(entries, mayBeThere: false)
    try expect(isDone == model.accepts(entries), "append returned \(isDone)")
    if isDone {
      model.append(entries)
      sent.append(entries)
    }
    count("append \(isDone)")
  }

  /// After a place that is not the newest, or under another token.
  private func appendElsewhere() throws {
    var place = model.history.randomElement(using: &random) ?? .start
    if Bool.random(using: &random) { place.token = token() }
    if Int.random(in: 0..<4, using: &random) == 0 { place.position += 1 }
    let entries = entries(after: place, count: 2)
    let isRight = model.accepts(entries)
    let isDone = try client.append(entries, mayBeThere: false)
    try expect(isDone == isRight, "append after another place returned \(isDone)")
    if isDone { model.append(entries) }
    count("append elsewhere")
    try look()
  }

  /// The log becomes that of a shared store, or stays what it is.
  private func share() throws {
    var place = model.newest
    if Int.random(in: 0..<3, using: &random) == 0 {
      place = model.history.randomElement(using: &random) ?? .start
    }
    let entry = entries(after: place, count: 1)[0]
    let isRight = model.accepts([entry])
    let isDone = try client.share(with: entry)
    try expect(isDone == isRight, "share returned \(isDone)")
    if isDone { model.share(with: entry) }
    count("share \(isDone)")
    try look()
  }

  private func appendAgain() throws {
    guard let entries = sent.randomElement(using: &random) else { return }
    let isDone = try client.append(entries, mayBeThere: true)
    try expect(isDone == model.has(entries), "the same append again returned \(isDone)")
    count("append again \(isDone)")
    try look()
  }

  /// Two clients append at one place, each on a thread of its own: one of them has it.
  private func race() throws {
    guard model.isBegun else { return }
    let rivals = (0..<2).map { _ in
      entries(after: model.newest, count: Int.random(in: 1...3, using: &random))
    }
    let racers = [client, client]
    let results = Outcomes()
    DispatchQueue.concurrentPerform(iterations: 2) { number in
      results.add(number, Result { try racers[number].append(rivals[number]) })
    }
    let winners = try results.all.filter { try $0.value.get() }.map(\.key)
    try expect(winners.count == 1, "\(winners.count) of two have the place")
    model.append(rivals[winners[0]])
    sent.append(rivals[winners[0]])
    count("race")
    try look()
  }

  /// One client appends, another begins the log again: one of them is first, and the other is refused.
  private func raceOfBegin() throws {
    guard model.isBegun else { return }
    let place = LogPlace(position: UInt64.random(in: 0..<50, using: &random), token: token())
    let entries = entries(after: model.newest, count: 2)
    let newest = model.newest
    let racers = [client, client]
    let results = Outcomes()
    DispatchQueue.concurrentPerform(iterations: 2) { number in
      results.add(
        number,
        Result {
          try number == 0
            ? racers[0].append(entries) : racers[1].begin(at: place, expecting: newest) { _ in }
        })
    }
    let isAppended = try results.all[0]!.get()
    try expect(isAppended != results.all[1]!.get(), "append and begin both returned \(isAppended)")
    if isAppended { model.append(entries) } else { model.begin(at: place, for: .mirrored, [:]) }
    sent = isAppended ? sent + [entries] : []
    count("race of begin \(isAppended)")
    try look()
  }

  private final class Outcomes: @unchecked Sendable {
    // Guarded by the lock.
    private var results: [Int: Result<Bool, any Error>] = [:]
    private let lock = NSLock()

    func add(_ number: Int, _ result: Result<Bool, any Error>) {
      lock.withLock { results[number] = result }
    }
    var all: [Int: Result<Bool, any Error>] { lock.withLock { results } }
  }

  private func tail() throws {
    var place = model.history.randomElement(using: &random) ?? .start
    switch Int.random(in: 0..<8, using: &random) {
    case 0: place.token = token()
    case 1: place.position += UInt64.random(in: 0..<9, using: &random)
    case 2: place = model.folded
    case 3: place = model.newest
    default: break
    }
    let limit = [0, 1, 1000, 1 << 20].randomElement(using: &random)!
    let right = model.tail(after: place)
    let client = client
    var found: [LogEntry] = []
    while true {
      switch try client.tail(after: found.last?.place ?? place, limit: limit) {
      case .cut:
        count("tail cut")
        return try expect(right == .cut && found.isEmpty, "the tail was cut, not \(right)")
      case .diverged:
        count("tail diverged")
        return try expect(right == .diverged && found.isEmpty, "the tail diverged, not \(right)")
      case .entries(let entries):
        let bytes = entries.dropLast().reduce(0) { $0 + $1.changes.count }
        try expect(
          entries.count <= 1 || bytes <= limit + 1000, "the tail has \(bytes) bytes, not \(limit)")
        found += entries
        if entries.isEmpty {
          try expect(
            right == .entries(found.map(\.place)),
            "the tail has \(found.map(\.place)), not \(right)")
          let changes = model.entries.suffix(found.count).map(\.changes)
          try expect(found.map(\.changes) == changes, "the changes of the tail differ")
          try expect(found.allSatisfy(\.isWhole), "an entry of the tail is not whole")
          try expect(found.allSatisfy { ($0.time ?? 0) > 0 }, "an entry of the tail has no time")
          count("tail of \(min(found.count, 3))")
          return
        }
      }
    }
  }

  private func fold() throws {
    guard model.isBegun else { return }
    let position = model.history.randomElement(using: &random)!.position
    try model.fold(through: position)
    let place = try client.fold(through: position)
    try expect(place == model.folded, "the state is at \(place), not \(model.folded)")
    count("fold")
    if Bool.random(using: &random) { try state() }
  }

  private func state() throws {
    guard model.isBegun else { return }
    var trees: [String: SharedLogModel.Tree] = [:]
    var last: (tree: LogTree, pair: SharedLogModel.Pair)?
    let place = try client.state(
      into: PairCaller { tree in
        try self.expect(trees[tree.name] == nil, "the tree \(tree.name) comes twice")
        trees[tree.name] = .init(flags: tree.flags)
      } add: { tree, key, value in
        let pair = SharedLogModel.Pair(key: [UInt8](key), value: [UInt8](value))
        if last?.tree == tree {
          try self.expect(last!.pair < pair, "the pairs of \(tree.name) are not in order")
        }
        last = (tree, pair)
        trees[tree.name]?.pairs.insert(pair)
      })
    try expect(place == model.folded, "the state is at \(place), not \(model.folded)")
    try expect(
      trees == model.trees, "the state has other trees or pairs than the model")
    count("state")
  }

  private func look() throws {
    var head = try client.head()
    if head != nil {
      try expect(head!.time > 0, "the head has no time")
      try expect(
        head!.foldedTime > 0 && head!.foldedTime <= head!.time, "the times of the head are wrong")
      (head!.time, head!.foldedTime) = (0, 0)
    }
    try expect(
      head == model.head,
      "the head is \(String(describing: head)), not \(String(describing: model.head))")
    if model.newest.position > 0 { try client.wait(after: model.newest.position - 1, seconds: 60) }
    try client.wait(after: model.newest.position, seconds: 0)
    count("look")
  }

  // MARK: Random data

  private static let trees = [
    LogTree(name: "larch", flags: 0), LogTree(name: "records.1", flags: 0),
    LogTree(name: "index.1", flags: 0x04), LogTree(name: "links.2", flags: 0x14),
    LogTree(name: "éà \"';--", flags: 0),
  ]

  private func token() -> LogToken {
    LogToken(random: random.next(), checksum: random.next())
  }

  private func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  /// Of few different ones, so that keys are changed again.
  private func key() -> [UInt8] {
    let length = [1, 1, 2, 8, 511].randomElement(using: &random)!
    let first = UInt8.random(in: 0...6, using: &random)
    return [first &* 51] + [UInt8](repeating: first, count: length - 1)
  }

  private func value(of tree: LogTree) -> [UInt8] {
    if tree.flags == 0x14 { return [0, 0, 0, UInt8.random(in: 0...20, using: &random)] }
    if tree.hasDuplicates { return key() }
    return bytes([0, 1, 30, 300, 3000].randomElement(using: &random)!)
  }

  private func entries(after place: LogPlace, count: Int) -> [LogEntry] {
    var entries: [LogEntry] = []
    for _ in 0..<count {
      var record = ChangeRecordBytes()
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        let tree = Self.trees.randomElement(using: &random)!
        switch Int.random(in: 0..<20, using: &random) {
        case 0: record.add(.empty, tree)
        case 1: record.add(.drop, tree)
        case 2: record.add(.create, tree)
        case 3..<6: record.add(.deleteKey, tree, key())
        case 6..<9 where tree.hasDuplicates: record.add(.deletePair, tree, key(), value(of: tree))
        default: record.add(.put, tree, key(), value(of: tree))
        }
      }
      entries.append(
        LogEntry(after: entries.last?.place ?? place, random: random.next(), changes: record.bytes))
    }
    return entries
  }
}
