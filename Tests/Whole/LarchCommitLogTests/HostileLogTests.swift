import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Logs that are damaged, missing, or not those of the store: never a state that was not committed,
/// and never the end of the process.
@Suite("Damaged commit logs", .serialized)
struct HostileLogTests {
  private enum Damage: String, CaseIterable {
    case randomLog, randomRecords, flippedBit, flippedHeader, cut, zeroed, otherStore, older,
      missing
    case unmarked
  }

  @Test("A typed error, or a state that was committed")
  func damagedLogs() throws {
    var outcomes: [String: Int] = [:]
    for number in 0..<amount("LARCH_LOG_DAMAGES", 30) {
      let seed = runSeed &+ UInt64(number) &* 104_729
      do {
        try damage(seed, &outcomes)
      } catch {
        Issue.record("case \(number) of LARCH_CRASH_SEED=\(runSeed): \(error)")
      }
    }
    let text = outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    print("damaged logs:", text.joined(separator: ", "), "seed \(runSeed)")
    // A store without its log, and with one that it has gone beyond, is always refused.
    #expect(outcomes["missing: opened"] == nil)
    #expect(outcomes["otherStore: opened"] == nil)
    #expect(outcomes["randomLog: opened"] == nil)
    #expect((outcomes["older: opened"] ?? 0) < (outcomes["older: corrupted"] ?? 0))
    #expect((outcomes["flippedBit: opened"] ?? 0) > 0)
    #expect((outcomes["flippedBit: corrupted"] ?? 0) > 0)
  }

  private func damage(_ seed: UInt64, _ outcomes: inout [String: Int]) throws {
    let directory = try CrashDirectory()
    var random = SeededGenerator(seed: ~seed)
    // What was committed, as long as the store has had its log.
    var states: Set<String> = []
    var older: [StoreImage] = []
    var count = 0
    var work = try LogWork(directory.store, seed: seed)
    defer { work.store.close() }
    var image = try StoreImage(of: work.path)
    for _ in 0..<30 {
      // Each step is one commit, so that all states are known.
      try work.step(isSingle: true)
      let live = try work.store.dump()
      states.insert(live)
      image = try StoreImage(of: work.path)
      older.append(image)
      // More than one image of a case, but not all.
      count += 1
      guard count > 8, image.header?.state == .inUse, random.below(4) == 0 else { continue }
      // Those before the last checkpoint too: no power failure leaves them, but a copy of the file alone may.
      let behind = older.filter { $0.newest < image.newest }
      for (damage, isBehind) in Damage.allCases.flatMap({ [($0, false), ($0, true)] }) {
        if isBehind, behind.isEmpty { continue }
        var damaged = try damaging(image, damage, older, seed, &random)
        // After a power failure the file may be older than the log. Then nobody can tell whether the
        // records at the end of a log were there; else their commits are in the file.
        if isBehind { damaged.data = behind[random.below(behind.count)].data }
        let copy = directory.path + "/copy.larch"
        try damaged.write(to: copy)
        let outcome: String
        do {
          let store = try work.openCopy(copy, random.below(2) == 0 ? .durable : .logged)
          defer { store.close() }
          let report = try store.verify()
          guard report.isClean else { throw Mismatch("\(damage): \(report)") }
          let found = try store.dump()
          guard isBehind ? states.contains(found) : found == live else {
            throw Mismatch(
              "\(damage), behind \(isBehind): "
                + (states.contains(found) ? "an older state" : "a state that never was"))
          }
          outcome = "opened"
        } catch let error as LarchError {
          outcome = "\(error.code)"
        }
        outcomes["\(damage.rawValue): \(outcome)", default: 0] += 1
      }
    }
  }

  private func damaging(
    _ image: StoreImage, _ damage: Damage, _ older: [StoreImage], _ seed: UInt64,
    _ random: inout SeededGenerator
  ) throws -> StoreImage {
    var result = image
    guard var log = image.log else { return image }
    switch damage {
    case .randomLog: log = log.map { _ in UInt8(truncatingIfNeeded: random.next()) }
    case .randomRecords:
      for place in CommitLogFormat.firstHalf..<log.count {
        log[place] = UInt8(truncatingIfNeeded: random.next())
      }
    case .flippedBit:
      // Where something is: elsewhere nobody would notice.
      let used = log.indices.filter { log[$0] != 0 }
      for _ in 0..<(1 + random.below(3)) {
        log[used[random.below(used.count)]] ^= 1 << UInt8(random.below(8))
      }
    case .flippedHeader:
      let place = Int((image.header?.number ?? 0) & 1) * CommitLogFormat.headerDistance
      log[place + random.below(CommitLogFormat.headerSize)] ^= 1 << UInt8(random.below(8))
    case .cut: log.removeLast(1 + random.below(log.count))
    case .zeroed:
      let from = random.below(log.count)
      for place in from..<min(log.count, from + 1 + random.below(20_000)) { log[place] = 0 }
    case .otherStore:
      let directory = try CrashDirectory()
      let other = try LogWork(directory.store, seed: seed &+ 1)
      defer { other.store.close() }
      try other.store.write { tx throws in
        var shelf = Shelf(id: 1, room: "other")
        try tx.save(&shelf)
      }
      log = try StoreImage(of: other.path).log ?? []
    case .older:
      log = older[random.below(older.count)].log ?? []
    case .missing:
      result.log = nil
      return result
    case .unmarked:
      // As a program left it that knows nothing of marks: the log still says what is there.
      if let pageSize = image.header?.pageSize {
        withUnsafeBytes(of: PageLayout.version.littleEndian) { version in
          for slot in 0..<2 {
            let place = slot * pageSize + LogMark.versionPlace
            result.data.replaceSubrange(place..<place + 4, with: version)
          }
        }
      }
    }
    result.log = log
    return result
  }

  // MARK: Records made on purpose

  /// The checksum protects from accidents only: whoever can write the file can make it right.
  @Test("A file that is no store, with something beside it that has the name of a log")
  func noStore() throws {
    let directory = try CrashDirectory()
    for text in ["notes", String(repeating: "notes\n", count: 10_000)] {
      for log in ["", "notes too", String(repeating: "notes\n", count: 10_000)] {
        try text.write(toFile: directory.store, atomically: false, encoding: .utf8)
        try log.write(toFile: directory.store + "-log", atomically: false, encoding: .utf8)
        let error = caught { try Store(at: directory.store).close() }
        #expect(
          error?.code == .notAStore, "\(text.count), \(log.count): \(String(describing: error))")
        #expect(try String(contentsOfFile: directory.store, encoding: .utf8) == text)
        #expect(try String(contentsOfFile: directory.store + "-log", encoding: .utf8) == log)
      }
    }
  }

  @Test("Records with a right checksum and anything in them")
  func madeRecords() throws {
    var outcomes: [String: Int] = [:]
    let directory = try CrashDirectory()
    var work = try LogWork(directory.store, seed: runSeed, idle: .seconds(60))
    defer { work.store.close() }
    var image = try StoreImage(of: work.path)
    for _ in 0..<20 { try work.step() }
    // The last one must be a small one, so that the log is in use.
    while image.header?.state != .inUse {
      try work.step()
      image = try StoreImage(of: work.path)
    }
    let names = try treeNames(work.store)
    let copy = directory.path + "/copy.larch"
    for number in 0..<amount("LARCH_LOG_RECORDS", 1500) {
      var random = SeededGenerator(seed: runSeed &+ UInt64(number) &* 15_485_863)
      var made = image
      try add(to: &made, names, &random)
      try made.write(to: copy)
      let outcome: String
      do {
        // With the pages checked before anything is read, as for any file that others may have made.
        var options = Store.Options()
        options.isReadOnly = true
        options.evolution = .off
        options.isVerified = true
        let store = try Store(at: copy, for: Item.self, Entry.self, options: options)
        defer { store.close() }
        // What was made on purpose may be damaged in any way; then it is not read further.
        if try store.verify().isClean {
          _ = try store.dump()
          outcome = "opened"
        } else {
          outcome = "damaged"
        }
      } catch let error as LarchError {
        outcome = "\(error.code)"
      } catch {
        Issue.record("record \(number) of LARCH_CRASH_SEED=\(runSeed): not typed: \(error)")
        continue
      }
      outcomes[outcome, default: 0] += 1
    }
    print("made records: \(outcomes.sorted { $0.key < $1.key }), seed \(runSeed)")
    #expect((outcomes["opened"] ?? 0) + (outcomes["damaged"] ?? 0) > 0)
    #expect((outcomes["corrupted"] ?? 0) > 0)
  }

  private func treeNames(_ store: Store) throws -> [(String, UInt32)] {
    // After a compaction the trees are known again from the next read on.
    _ = try store.count(Item.all)
    let names = store.environment.treeNames.withLock { $0 }
    let flags = store.environment.treeFlags.withLock { $0 }
    return names.sorted { $0.key < $1.key }.map { ($0.value, flags[$0.key] ?? 0) }
  }

  /// Appends a record to the log.
  private func add(
    to image: inout StoreImage, _ names: [(String, UInt32)], _ random: inout SeededGenerator
  ) throws {
    guard let header = image.header, var log = image.log else { return }
    var epoch = header.epoch
    var place = header.half(of: epoch)
    var sum = LogChecksum(salt: header.salt, epoch: epoch).value
    var transaction = header.checkpoint
    func number<T: FixedWidthInteger>(_ place: Int, _: T.Type) -> T {
      log.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: T.self)) }
    }
    while true {
      let length = Int(number(place + 8, UInt32.self))
      var next = LogChecksum(seed: sum)
      if length >= CommitLogFormat.recordHeaderSize, place + length <= log.count {
        log.withUnsafeBytes {
          next.add(UnsafeRawBufferPointer(rebasing: $0[place + 8..<place + length]))
        }
        if next.value == number(place, UInt64.self) {
          (sum, transaction) = (next.value, number(place + 16, UInt64.self))
          place += length
          continue
        }
      }
      // Maybe the next epoch has begun.
      guard epoch == header.epoch else { break }
      let other = header.half(of: epoch + 1)
      let start = LogChecksum(salt: header.salt, epoch: epoch + 1).value
      var first = LogChecksum(seed: start)
      let size = Int(number(other + 8, UInt32.self))
      guard size >= CommitLogFormat.recordHeaderSize, other + size <= log.count else { break }
      log.withUnsafeBytes {
        first.add(UnsafeRawBufferPointer(rebasing: $0[other + 8..<other + size]))
      }
      guard first.value == number(other, UInt64.self) else { break }
      (epoch, place, sum) = (epoch + 1, other, start)
    }
    var record = self.record(names, &random)
    guard place + record.count <= header.half(of: epoch) + header.halfSize else { return }
    record.replaceSubrange(16..<24, with: bytes(transaction + 1))
    record.replaceSubrange(8..<12, with: bytes(UInt32(record.count)))
    var own = LogChecksum(seed: sum)
    record.withUnsafeBytes { own.add(UnsafeRawBufferPointer(rebasing: $0[8...])) }
    record.replaceSubrange(0..<8, with: bytes(own.value))
    log.replaceSubrange(place..<place + record.count, with: record)
    image.log = log
  }

  private func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { [UInt8]($0) }
  }

  private func record(
    _ names: [(String, UInt32)], _ random: inout SeededGenerator
  ) -> [UInt8] {
    var record = [UInt8](repeating: 0, count: CommitLogFormat.recordHeaderSize)
    func noise(_ count: Int) -> [UInt8] {
      (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }
    if random.below(8) == 0 {
      record += noise(random.below(300))
      record.replaceSubrange(12..<14, with: noise(2))
      record.replaceSubrange(24..<28, with: noise(4))
      return record
    }
    let trees = 1 + random.below(4)
    for _ in 0..<trees {
      var (name, flags) = names[random.below(names.count)]
      switch random.below(12) {
      case 0:
        name = ["", "\0", "other", "a\0b", String(repeating: "n", count: 600)][random.below(5)]
      case 1: flags = [0, 4, 0x14, 0x10, 0x40000, 0x8, .max][random.below(7)]
      default: break
      }
      record += bytes(flags) + bytes(UInt16(name.utf8.count)) + Array(name.utf8)
    }
    let operations = 1 + random.below(8)
    for _ in 0..<operations {
      let sizes = [0, 1, 4, 8, 9, 16, 40, 511, 512, 600, 2000]
      let (keySize, valueSize) = (sizes[random.below(11)], sizes[random.below(11)])
      record.append(UInt8(random.below(30) == 0 ? random.below(256) : 1 + random.below(6)))
      record += bytes(UInt16(random.below(30) == 0 ? random.below(9) : random.below(trees)))
      record += bytes(UInt16(keySize)) + bytes(UInt32(valueSize)) + noise(keySize)
      record += noise(valueSize)
    }
    let wrong = random.below(20) == 0 ? 1 : 0
    record.replaceSubrange(12..<14, with: bytes(UInt16(trees)))
    record.replaceSubrange(24..<28, with: bytes(UInt32(operations + wrong)))
    return record
  }
}
