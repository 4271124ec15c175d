internal import CLMDB
internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// What a process holds that it could lose.
private struct Holdings {
  let descriptors: Int
  let maps: Int
  let memory: Int

  static func now() throws -> Holdings {
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    let maps = try systemText("/proc/self/maps")
      .split(separator: "\n").filter { $0.contains(".larch") }.count
    let pages = try systemText("/proc/self/statm").split(separator: " ")
    // Without what is shared with files: the system may map the program's own code by larger pages at
    // any time, which looked like two megabytes that were never given back.
    let own = (Int(pages[1]) ?? 0) - (Int(pages[2]) ?? 0)
    return Holdings(descriptors: descriptors, maps: maps, memory: own * 4096)
  }
}

/// `resources <directory> <what> <count>`: does the same thing many times; prints how many file
/// descriptors, maps and bytes of memory that has cost after the first tenth.
func resources(_ arguments: [String]) throws {
  guard arguments.count == 3, let count = Int(arguments[2]) else { throw UsageError() }
  limitLifetime()
  let path = arguments[0] + "/store.larch"
  func once(_ number: Int) throws {
    switch arguments[1] {
    case "open":
      let store = try Store.forCrashes(at: path)
      _ = try store.read { try $0.count(Item.all) }
      store.close()
    case "write":
      let store = try Store.forCrashes(at: path)
      try store.write { tx throws in
        var progress = Progress(id: number % 10)
        progress.transactions = number
        try tx.save(&progress)
      }
      store.close()
    case "forgotten":
      // Given up without closing.
      let store = try Store.forCrashes(at: path)
      _ = try store.read { try $0.count(Item.all) }
    case "temporary":
      let store = try Store.temporary(for: Item.self, Entry.self)
      try store.write { tx throws in
        var entry = Entry(id: "a", owner: 0, text: "b")
        try tx.save(&entry)
      }
      if number % 2 == 0 { store.close() }
    case "refused":
      // Text, a store that was cut, a type that the file contradicts, a file that is not there.
      let names = ["text.larch", "cut.larch", "store.larch", "missing/store.larch"]
      do {
        let other = arguments[0] + "/" + names[number % names.count]
        if number % names.count == 2 {
          try Store(at: other, for: WrongProgress.self).close()
        } else {
          try Store.forCrashes(at: other).close()
        }
        throw Mismatch("opened \(names[number % names.count])")
      } catch is LarchError {}
    default: throw UsageError()
    }
  }
  for number in 0..<max(count / 10, 1) { try once(number) }
  let before = try Holdings.now()
  for number in 0..<count { try once(number) }
  let after = try Holdings.now()
  print(
    after.descriptors - before.descriptors, after.maps - before.maps,
    after.memory - before.memory)
}

/// The same collection with ids of another kind.
private struct WrongProgress: Record {
  var id: String
  static let collectionName = "Progress"
}

/// `reader-slots <store>`: prints how many slots of the lock table are taken, and how many of them
/// by processes that are no more. Clears nothing before it has counted.
func readerSlots(_ arguments: [String]) throws {
  guard arguments.count == 1 else { throw UsageError() }
  let environment = try RawEnvironment(path: arguments[0], readOnly: true)
  defer { environment.close() }
  // One line a slot, and a line of titles; one line alone says that there is none.
  var lines = 0
  withUnsafeMutablePointer(to: &lines) { lines in
    _ = mdb_reader_list(
      environment.pointer,
      { _, context in
        context?.assumingMemoryBound(to: Int.self).pointee += 1
        return 0
      }, lines)
  }
  var dead: Int32 = 0
  try check(mdb_reader_check(environment.pointer, &dead))
  print(max(lines - 1, 0), dead)
}
