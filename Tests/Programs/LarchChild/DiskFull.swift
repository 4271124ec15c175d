internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// Limits the size of the files of this process. Writing beyond it is an error and does not end the
/// process.
///
/// - Parameter ignoringSignal: whether the program does its part for that, as few do.
func limitFiles(to size: UInt64?, ignoringSignal: Bool = true) throws {
  // Who started this program may have set it otherwise, as Foundation does.
  signal(SIGXFSZ, ignoringSignal ? SIG_IGN : SIG_DFL)
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGXFSZ)
  pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  #if canImport(Glibc)
    let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #else
    let resource = RLIMIT_FSIZE
  #endif
  var limit = rlimit()
  getrlimit(resource, &limit)
  limit.rlim_cur = size.map { rlim_t($0) } ?? limit.rlim_max
  guard setrlimit(resource, &limit) == 0 else { throw Mismatch("setrlimit: \(errno)") }
}

private func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// `file-limit <store> <seed> <opens under the limit: 0 or 1> <limit>...`: fills a store up to the
/// limit, and continues without reopening after the limit is removed. Prints one line for each
/// limit.
func fileLimit(_ arguments: [String]) throws {
  guard arguments.count >= 4, let seed = UInt64(arguments[1]) else { throw UsageError() }
  limitLifetime()
  let opensLimited = arguments[2] == "1"
  for (number, limit) in arguments[3...].compactMap(UInt64.init).enumerated() {
    var run = FullDisk(
      path: "\(arguments[0])-\(limit).larch", seed: seed, isNew: number % 2 == 0)
    try run.run(
      opensLimited: opensLimited, fill: { _ in try limitFiles(to: limit) },
      free: { try limitFiles(to: nil) })
    say("\(limit): \(run.summary)")
  }
}

/// `limited-build <directory> <seed> <count>`: builds indexes without enough space for them, and
/// then with it.
func limitedBuild(_ arguments: [String]) throws {
  guard arguments.count == 3, let seed = UInt64(arguments[1]), let count = Int(arguments[2])
  else { throw UsageError() }
  limitLifetime()
  var refused = 0
  var options = Store.Options()
  options.indexBatchSize = 20
  for number in 0..<count {
    let path = "\(arguments[0])/build-\(number).larch"
    try Books.make(at: path, count: 250, seed: seed)
    var status = stat()
    stat(path, &status)
    try limitFiles(to: max(UInt64(status.st_size), 72 << 10) + UInt64(number) * 4096)
    do {
      try Store(at: path, for: IndexedBook.self, options: options).close()
    } catch {
      refused += 1
      try FullDisk.check(error, "building")
    }
    var readOnly = Store.Options()
    readOnly.isReadOnly = true
    let old = try Store(at: path, for: PlainBook.self, options: readOnly)
    try old.read { try Books.check($0, count: 250, seed: seed) }
    guard try old.verify().isClean else { throw Mismatch("an index that was there is broken") }
    old.close()
    try limitFiles(to: nil)
    let store = try Store(at: path, for: IndexedBook.self, options: options)
    let report = try store.verify()
    guard report.isClean, report.entryCount > 250 * 4 else { throw Mismatch("\(report)") }
    store.close()
  }
  say("\(refused) \(count)")
}

/// `full-disk <directory> <seed>`: the same on a file system that another file fills up.
func fullDisk(_ arguments: [String]) throws {
  guard arguments.count == 2, let seed = UInt64(arguments[1]) else { throw UsageError() }
  limitLifetime()
  let filler = arguments[0] + "/filler"
  for opensLimited in [false, true] {
    var run = FullDisk(
      path: "\(arguments[0])/\(opensLimited).larch", seed: seed, isNew: seed % 2 == 0)
    try run.run(
      opensLimited: opensLimited,
      fill: { room in
        let file = open(filler, O_CREAT | O_RDWR, 0o600)
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(file, block, block.count) > 0 {}
        ftruncate(file, max(0, lseek(file, 0, SEEK_END) - off_t(room)))
      },
      free: { unlink(filler) })
    say("opened on a full disk \(opensLimited): \(run.summary)")
  }
}

/// One store that runs out of room.
private struct FullDisk {
  let path: String
  let model: WriterModel
  /// Whether the store is created on the full disk.
  let isNew: Bool
  private var refusedOpenings = 0
  private var done = 0
  private var refused = 0
  private var deleted = 0
  private var refusedDeletes = 0

  init(path: String, seed: UInt64, isNew: Bool) {
    self.path = path
    self.isNew = isNew
    model = WriterModel(seed: seed, writer: 0)
  }

  var summary: String {
    "refused to open \(refusedOpenings), transactions \(done), refused \(refused), "
      + "deletes \(deleted), refused deletes \(refusedDeletes)"
  }

  static func check(_ error: any Error, _ what: String) throws {
    guard let error = error as? LarchError, error.code == .diskFull || error.code == .ioFailure
    else { throw Mismatch("\(what): \(error)") }
  }

  /// Fills the disk except for some space, writes until it is full, deletes, and continues when
  /// there is space again.
  mutating func run(
    opensLimited: Bool, fill: (_ room: Int) throws -> Void, free: () throws -> Void
  ) throws {
    defer { try? free() }
    if opensLimited {
      if !isNew { try Store.forCrashes(at: path).close() }
      unlink(path + "-lock")
      try fill(0)
      do {
        try Store.forCrashes(at: path).close()
      } catch {
        refusedOpenings += 1
        try Self.check(error, "opening")
        if isNew, access(path, F_OK) == 0 { throw Mismatch("a part of a store was left") }
      }
      try free()
    }
    let store = try Store.forCrashes(at: path)
    defer { store.close() }
    try fill(400 << 10)
    var model = model
    var ids: [Int: RecordID<Item>] = [:]
    var bulk = 0
    func expectSame(_ what: String) throws {
      try store.read { tx throws in
        let found = try WriterModel.read(0, seed: model.seed, in: tx)
        guard found.contents == model.contents, "\(found.progress)" == "\(model.progress)",
          try tx.all(Item.self).filter({ $0.owner == 9 }).count == bulk
        else { throw Mismatch("\(what): \(found.progress), expected \(model.progress), \(bulk)") }
      }
      let report = try store.verify()
      guard report.isClean else { throw Mismatch("\(what): \(report)") }
    }
    /// One transaction of the workload; false if there was no space.
    func step() throws -> Bool {
      var next = model
      do {
        try next.write(to: store, ids: &ids)
      } catch {
        try Self.check(error, "writing")
        return false
      }
      model = next
      return true
    }
    /// A transaction with many new pages; false if there was no space.
    func grow() throws -> Bool {
      do {
        try store.write { tx throws in
          for number in bulk..<(bulk + 12) {
            var item = Item(
              owner: 9, serial: number, code: "bulk-\(number)", group: "bulk", rank: number,
              labels: [String(repeating: "large", count: 300)])
            try tx.insert(&item)
          }
        }
      } catch {
        try Self.check(error, "growing")
        return false
      }
      bulk += 12
      return true
    }
    // More than any limit of the test allows.
    var failures = 0
    for _ in 0..<400 where failures < 4 {
      let didGrow = try grow()
      let didStep = try step()
      if didGrow && didStep {
        done += 1
        continue
      }
      failures += 1
      refused += 1
      try expectSame("after a refused write")
      // Deleting also needs a few pages, but frees more in time.
      for _ in 0..<12 where bulk > 0 {
        do {
          try store.write { tx throws in
            for item in try tx.all(Item.self) where item.owner == 9 && item.serial == bulk - 1 {
              try tx.delete(item)
            }
          }
          bulk -= 1
          deleted += 1
        } catch {
          try Self.check(error, "deleting")
          refusedDeletes += 1
        }
      }
      try expectSame("after deletes")
    }
    try free()
    // Without opening it again.
    for _ in 0..<5 {
      guard try grow(), try step() else { throw Mismatch("no write though there is room") }
    }
    try expectSame("after there was room again")
    store.close()
    let again = try Store.forCrashes(at: path) { $0.isVerified = true }
    defer { again.close() }
    try again.read { tx throws in
      let found = try WriterModel.read(0, seed: model.seed, in: tx)
      guard found.contents == model.contents else { throw Mismatch("after opening again") }
    }
    again.close()
    unlink(path)
    unlink(path + "-lock")
  }
}
