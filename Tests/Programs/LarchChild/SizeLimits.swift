internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// The error of a store that has no room says so, whatever the system said.
private func checkFull(_ error: any Error, _ what: String) throws {
  guard let error = error as? LarchError, error.code == .diskFull,
    !"\(error)".contains("Input/output")
  else { throw Mismatch("\(what): \(error)") }
}

private func save(_ number: Int, _ text: String, _ store: Store) throws {
  try store.write { tx throws in
    var entry = Entry(id: "\(number)", owner: 7, text: "\(number) \(text)")
    try tx.save(&entry)
  }
}

private func setLimit(_ size: UInt64?) throws { try limitFiles(to: size, ignoringSignal: false) }

/// A store that was closed after it had no room has what it acknowledged.
private func check(_ path: String, _ texts: [Int: String], _ what: String) throws {
  let store = try Store.forCrashes(at: path) { $0.isVerified = true }
  defer { store.close() }
  let found = try store.read { tx in try tx.all(Entry.self).map { ($0.id, $0.text) } }
  let expected = texts.map { ("\($0)", "\($0) \($1)") }
  guard found.sorted(by: <).elementsEqual(expected.sorted(by: <), by: ==) else {
    throw Mismatch("\(what): \(found.count) records, expected \(expected.count)")
  }
  let report = try store.verify()
  guard report.isClean else { throw Mismatch("\(what): \(report)") }
}

/// `size-limits <directory>`: opens, fills, recovers and closes stores under limits on the size of files. The signal
/// that the system sends for a write beyond one ends the process, if it comes through.
func sizeLimits(_ arguments: [String]) throws {
  guard arguments.count == 1 else { throw UsageError() }
  limitLifetime()
  // An error is printed into a file.
  defer { try? setLimit(nil) }
  for durability in [Store.Options.Durability.logged, .durable, .none] {
    for pages in [0, 1, 4, 16, 18, 24, 29, 32, 64, 256, 2048, 2060] {
      let what = "\(durability), \(pages) pages"
      let path = "\(arguments[0])/\(durability)-\(pages).larch"
      var texts: [Int: String] = [:]
      try setLimit(UInt64(pages) * 4096)
      do {
        let store = try Store.forCrashes(at: path) { $0.durability = durability }
        defer { store.close() }
        for number in 0..<4_000 {
          // A page more each time, so that one of the files ends at the limit.
          let text = String(repeating: "text ", count: 820 * (number % 3))
          try save(number, text, store)
          texts[number] = text
        }
      } catch { try checkFull(error, what) }
      try setLimit(nil)
      try check(path, texts, what)
      for suffix in ["", "-lock"] { unlink(path + suffix) }
    }
  }
  try recoverUnderLimits(arguments[0])
  try lowerLimit(arguments[0] + "/lowered.larch")
  print("done")
}

/// What only the log has is put into the store once there is room.
private func recoverUnderLimits(_ directory: String) throws {
  let path = directory + "/live.larch"
  let store = try Store.forCrashes(at: path) {
    $0.durability = .logged
    $0.logLimits.idle = .seconds(600)
  }
  defer { store.close() }
  var texts: [Int: String] = [:]
  for number in 0..<40 {
    texts[number] = String(repeating: "kept ", count: 100)
    try save(number, texts[number] ?? "", store)
  }
  var size = stat()
  stat(path, &size)
  for limit in [0, 1, 4096, 8192, UInt64(size.st_size)] {
    let copy = directory + "/copy.larch"
    for suffix in ["-log", ""] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
    }
    try setLimit(limit)
    do {
      try Store.forCrashes(at: copy).close()
      // The pages of its commits are all in the file of a process that was only killed.
      if limit < 8192 { throw Mismatch("recovered within \(limit) bytes") }
    } catch let error as LarchError { try checkFull(error, "recovery within \(limit)") }
    try setLimit(nil)
    try check(copy, texts, "recovered after \(limit)")
    for suffix in ["", "-lock"] { unlink(copy + suffix) }
  }
}

/// The limit may come while a store is open: then a part of its log is beyond it.
private func lowerLimit(_ path: String) throws {
  for limit in stride(from: UInt64(0), to: 200 << 10, by: 20 << 10) {
    let store = try Store.forCrashes(at: path) {
      $0.durability = .logged
      // Checkpoints come under the limit too.
      $0.logLimits.idle = .milliseconds(1)
    }
    defer { store.close() }
    var texts: [Int: String] = [:]
    func write(_ number: Int) throws {
      do {
        try save(number, "text", store)
        texts[number] = "text"
      } catch let error as LarchError
        where error.message.hasPrefix("The disk failed at the end of the commit")
      {
        // Its record is beyond the limit, and so is its removal from there.
      } catch { try checkFull(error, "after the limit was lowered to \(limit)") }
    }
    for number in 0..<5 { try write(number) }
    try setLimit(limit)
    for number in 5..<10 {
      try write(number)
      usleep(3000)
    }
    store.close()
    try setLimit(nil)
    try check(path, texts, "lowered to \(limit)")
    for suffix in ["", "-lock"] { unlink(path + suffix) }
  }
}

/// `waiting-pages <directory>`: a store that has no room to grow, and no checkpoint but the one that makes room.
func waitingPages(_ arguments: [String]) throws {
  guard arguments.count == 1 else { throw UsageError() }
  limitLifetime()
  defer { try? setLimit(nil) }
  let path = arguments[0] + "/waiting.larch"
  let store = try Store.forCrashes(at: path) {
    $0.durability = .logged
    // The limit is for the log too.
    $0.logLimits.halfSize = 64 << 10
    // Large records are not logged.
    $0.logLimits.record = 16 << 10
    $0.logLimits.idle = .seconds(600)
    $0.logLimits.faults = .noCheckpoints
  }
  defer { store.close() }
  var texts: [Int: String] = [:]
  func put(_ number: Int, _ text: String) throws {
    try save(number, text, store)
    texts[number] = text
  }
  for number in 0..<40 { try put(number, "first") }
  var size = stat()
  stat(path, &size)
  try setLimit(UInt64(size.st_size) + 200 << 10)
  // Each of them replaces some ten pages.
  for round in 0..<60 { try put(round % 40, "round \(round)") }
  // And of those that share a transaction.
  let ended = DispatchSemaphore(value: 0)
  let failures = Locked<[any Error]>([])
  Task.detached {
    for round in 0..<20 {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask {
            do {
              try await store.write { tx throws in
                var entry = Entry(id: "\(number)", owner: 7, text: "\(number) shared \(round)")
                try tx.save(&entry)
              }
            } catch { failures.withLock { $0.append(error) } }
          }
        }
      }
    }
    ended.signal()
  }
  ended.wait()
  if let error = failures.withLock({ $0.first }) { throw Mismatch("shared: \(error)") }
  for number in 0..<4 { texts[number] = "shared 19" }
  // Without room for what is new, the error says so; what is deleted makes room.
  var number = 100
  var refusedDeletes = 0
  for _ in 0..<3 {
    let first = number
    do {
      while number < first + 100 {
        try put(number, String(repeating: "large ", count: 6_000))
        number += 1
      }
      throw Mismatch("there is room for \(number) large records")
    } catch let error as LarchError { try checkFull(error, "large") }
    guard number > first else { throw Mismatch("no room after records were deleted") }
    for deleted in first..<number {
      do {
        try store.write { try $0.delete(Entry.self, "\(deleted)") }
        texts[deleted] = nil
      } catch {
        try checkFull(error, "deleting")
        refusedDeletes += 1
      }
    }
  }
  store.close()
  try setLimit(nil)
  try check(path, texts, "after all")
  print("refused deletes \(refusedDeletes) of \(number - 100)")
}
