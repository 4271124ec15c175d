import Foundation
import Workload

/// All rows, once, on fresh stores.
final class TextRound {
  private let workload: TextWorkload
  private let texts: [TextWorkload.Text]
  private let arguments: Arguments
  private let directory: URL
  private let stopwatch: Stopwatch
  private(set) var shuffle: RandomStream
  private var stores: [String: any TextPeer] = [:]
  private var changes: TextChanges

  /// How often the peers take turns at a row of reading.
  private static let turns = 7
  /// What a turn takes at least, so that the clock does not count, in nanoseconds.
  private static let turnTime = 1e7
  private static let limit = 20

  init(
    _ workload: TextWorkload, _ texts: [TextWorkload.Text], _ arguments: Arguments,
    _ shuffle: RandomStream
  ) {
    self.workload = workload
    self.texts = texts
    self.arguments = arguments
    self.shuffle = shuffle
    stopwatch = Stopwatch(countsProcessorTime: arguments.countsProcessorTime)
    directory = URL(filePath: arguments.directory).appending(path: "texts-\(UUID().uuidString)")
    changes = TextChanges(workload, texts)
  }

  func run(_ table: inout TextTable) throws {
    defer {
      for store in stores.values { store.close() }
      try? FileManager.default.removeItem(at: directory)
    }
    if wants("F1") || wants("F7") { try buildLater(&table) }
    try build(&table)
    for row in TextRow.all(workload) where wants(row.name) { try read(row, &table) }
    try change(&table)
    for row in TextRow.afterChanges(workload) where wants(row.name) { try read(row, &table) }
    try check()
  }

  private func wants(_ name: String) -> Bool { arguments.only?.contains(name) ?? true }

  /// The figures of all peers, each asked in its turn; the order changes.
  private func each(
    _ body: (any TextPeer.Type) throws -> Double
  ) rethrows -> [String: [Double]] {
    var figures: [String: [Double]] = [:]
    let isReversed = shuffle.below(2) == 1
    for peer in isReversed ? TextBenchmark.peers.reversed() : TextBenchmark.peers {
      figures[peer.name] = [try body(peer)]
    }
    return figures
  }

  private func folder(_ peer: any TextPeer.Type, _ name: String) throws -> String {
    let folder = directory.appending(path: "\(peer.name)-\(name)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
  }

  private func store(_ peer: any TextPeer.Type) throws -> any TextPeer {
    guard let store = stores[peer.name] else {
      throw BenchmarkError("\(peer.name): the store is not open")
    }
    return store
  }

  // MARK: F1 and F7

  /// Records without an index, and then the index of what is stored.
  private func buildLater(_ table: inout TextTable) throws {
    var times: [String: [Double]] = [:]
    var plain: [String: [Double]] = [:]
    var difference: [String: [Double]] = [:]
    let alone = try each { peer in
      let folder = try folder(peer, "later")
      defer { try? FileManager.default.removeItem(atPath: folder) }
      var store = try peer.init(directory: folder, isIndexed: false, isLogged: false)
      let time = try stopwatch.time { try store.save(texts) }
      let before = try store.sizes()
      store.close()
      times[peer.name] = [
        try stopwatch.time {
          store = try peer.init(directory: folder, isIndexed: true, isLogged: false)
        }
      ]
      plain[peer.name] = [Double(before.file)]
      difference[peer.name] = [Double(try store.sizes().used - before.used)]
      store.close()
      return time
    }
    if wants("F1") {
      table.add("F1", "save all, without an index", alone)
      table.add("F1", "build the index of what is stored", times)
    }
    if wants("F7") {
      table.add("F7", "file without an index", plain, unit: "bytes")
      table.add("F7", "the index, built at once", difference, unit: "bytes")
    }
  }

  private func build(_ table: inout TextTable) throws {
    var files: [String: [Double]] = [:]
    var optimized: [String: [Double]] = [:]
    let times = try each { peer in
      let store = try peer.init(
        directory: try folder(peer, "texts"), isIndexed: true, isLogged: false)
      stores[peer.name] = store
      let time = try stopwatch.time { try store.save(texts) }
      files[peer.name] = [Double(try store.sizes().file)]
      let more = try stopwatch.time { _ = try store.optimize() }
      optimized[peer.name] = [time + more]
      return time
    }
    if wants("F1") {
      table.add("F1", "save all, with the index", times)
      table.add("F1", "save all, and what makes reads fast", optimized)
    }
    if wants("F7") {
      table.add("F7", "file with the index", files, unit: "bytes")
      let used = try each { Double(try store($0).sizes().used) }
      table.add("F7", "pages in use with the index, at rest", used, unit: "bytes")
    }
  }

  // MARK: F3 to F6

  private func read(_ row: TextRow, _ table: inout TextTable) throws {
    var found: [String: Int] = [:]
    let peers = TextBenchmark.peers
    for peer in peers { found[peer.name] = try store(peer).count(row.typed) }
    guard let count = found[LarchTexts.name], Set(found.values) == [count] else {
      throw BenchmarkError("\(row.typed) is found differently: \(found)")
    }
    let first = try peers.map { try store($0).first(TextRound.limit, row.typed) }
    guard Set(first.map { $0.map(\.id) }).count == 1, first[0].count == min(count, TextRound.limit)
    else { throw BenchmarkError("\(row.typed) has different first texts") }
    try turns(row, "count", count, &table) { _ = try $0.count(row.typed) }
    try turns(row, "first 20", count, &table) { _ = try $0.first(TextRound.limit, row.typed) }
    let best = try peers.map { try store($0).best(TextRound.limit, row.typed) }
    // The ranks of the peers are different formulas; there are as many texts all the same.
    guard best.allSatisfy({ $0.count == min(count, TextRound.limit) }) else {
      throw BenchmarkError("\(row.typed) has too few best texts")
    }
    try turns(row, "best 20", count, &table) { _ = try $0.best(TextRound.limit, row.typed) }
  }

  private func turns(
    _ row: TextRow, _ answer: String, _ count: Int, _ table: inout TextTable,
    _ body: (any TextPeer) throws -> Void
  ) throws {
    var repetitions: [String: Int] = [:]
    for peer in TextBenchmark.peers {
      let store = try store(peer)
      let time = try (0..<3).map { _ in try stopwatch.time { try body(store) } }.min() ?? 0
      repetitions[peer.name] = max(1, min(2_000, Int(TextRound.turnTime / max(time, 1))))
    }
    for _ in 0..<TextRound.turns {
      let figures = try each { peer in
        let store = try store(peer)
        let times = repetitions[peer.name] ?? 1
        // Not counted: the turn of the other peer has taken the caches.
        try body(store)
        return try stopwatch.time { for _ in 0..<times { try body(store) } } / Double(times)
      }
      table.add(row.name, "\(row.what), \(answer)", figures, found: count)
    }
  }

  // MARK: F2

  private func change(_ table: inout TextTable) throws {
    // Long texts come to their limit after some 70, and are merged from then on.
    let singles = 300
    if wants("F2") {
      try changeEach("a new text, durable", changes.bodies(singles), &table)
      try changeEach("one word, durable", changes.words(singles), &table)
    }
    if wants("F2b") || wants("F7") {
      for turn in 0..<3 {
        let list = changes.bodies(1_000)
        let times = try each { peer in
          let store = try store(peer)
          return try stopwatch.time { try store.change(list[...]) } / Double(list.count)
        }
        if wants("F2b") { table.add("F2b", "1,000 new texts in one transaction, a text", times) }
        if wants("F7"), turn == 0 {
          let files = try each { Double(try store($0).sizes().file) }
          table.add("F7", "file after 1,000 changes and those of F2", files, unit: "bytes")
          let used = try each { Double(try store($0).sizes().used) }
          table.add("F7", "pages in use after them", used, unit: "bytes")
        }
      }
    }
    if wants("F2") { try changeLogged(singles, &table) }
  }

  /// Each change in a transaction of its own, the peers one after the other.
  private func changeEach(
    _ what: String, _ list: [TextChange], _ table: inout TextTable
  ) throws {
    for place in list.indices {
      let times = try each { peer in
        let store = try store(peer)
        return try stopwatch.time { try store.change(list[place...place]) }
      }
      table.add("F2", what + ", median", times)
      table.add("F2", what + ", p99", times, .longest99)
    }
  }

  /// The same on Larch with a log for small commits, which makes the same promise.
  private func changeLogged(_ singles: Int, _ table: inout TextTable) throws {
    try reopen(isLogged: true)
    try changeEach("a new text, Larch logged", changes.bodies(singles), &table)
    try changeEach("one word, Larch logged", changes.words(singles), &table)
    try reopen(isLogged: false)
  }

  private func reopen(isLogged: Bool) throws {
    for peer in TextBenchmark.peers {
      try store(peer).close()
      stores[peer.name] = nil
      stores[peer.name] = try peer.init(
        directory: try folder(peer, "texts"), isIndexed: true, isLogged: isLogged)
    }
  }

  // MARK: Agreement

  /// Both stores have the texts as they became, and indexes that fit them.
  private func check() throws {
    for peer in TextBenchmark.peers {
      let store = try store(peer)
      guard try store.all() == changes.all() else {
        throw BenchmarkError("\(peer.name): the texts differ from the workload")
      }
      try store.verify()
    }
  }
}
