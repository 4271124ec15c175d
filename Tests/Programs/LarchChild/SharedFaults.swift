internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// A store that another process has open, whose disk does not fail: it continues with exactly the
/// committed state.
final class SharedFaults: FaultScenario {
  private var store: Store?
  private var peer: (child: Child, beacon: Beacon)?
  private var expected: Set<String> = []
  private var count = 0

  func prepare(_ path: String) throws {
    count = 0
    let store = try Store.forCrashes(at: path)
    self.store = store
    expected = []
    try write("first", to: store)
    expected = ["first"]
    let directory = NSTemporaryDirectory()
    let signals = directory + "/larch-peer-\(UUID().uuidString)"
    let beacon = try Beacon(path: signals)
    defer { unlink(signals) }
    let child = try Child(["fault-peer", path, signals], in: directory)
    try child.waitUntilStarted(beacon, 0)
    peer = (child, beacon)
  }

  private func write(_ id: String, to store: Store) throws {
    try store.write { tx throws in
      var entry = Entry(id: id, owner: 0, text: "text of \(id)")
      try tx.insert(&entry)
    }
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    guard let store else { return }
    for number in 0..<2 {
      let id = "write-\(number)"
      do {
        try write(id, to: store)
        expected.insert(id)
      } catch {
        if try check(error) == .reached { expected.insert(id) }
      }
      try expectExactly(store, "while the disk fails")
    }
  }

  func finish(_ path: String) throws {
    guard let store, let peer else { return }
    peer.beacon[.attempted(0)] = 1
    guard try peer.child.wait() == .exit(0) else { throw Mismatch(peer.child.output) }
    self.peer = nil
    expected.insert("peer")
    try expectExactly(store, "when the other process has written")
    try write("last", to: store)
    expected.insert("last")
    store.close()
    self.store = nil
    let again = try Store.forCrashes(at: path) { $0.isVerified = true }
    defer { again.close() }
    try expectExactly(again, "after opening again")
    guard try again.verify().isClean else { throw Mismatch("not clean") }
  }

  private func expectExactly(_ store: Store, _ when: String) throws {
    let found = Set(try store.read { try $0.all(Entry.self).map(\.id) })
    guard found == expected else {
      throw Mismatch("\(when): \(found.sorted()), expected \(expected.sorted())")
    }
  }
}

/// `fault-peer <store> <beacon>`: opens the store, and writes once when the beacon says so.
func faultPeer(_ arguments: [String]) throws {
  guard arguments.count == 2 else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let store = try Store.forCrashes(at: arguments[0])
  defer { store.close() }
  _ = try store.read { try $0.count(Entry.all) }
  beacon[.started(0)] = Int(getpid())
  while beacon[.attempted(0)] == 0 { usleep(300) }
  try store.write { tx throws in
    var entry = Entry(id: "peer", owner: 0, text: "text of the other process")
    try tx.insert(&entry)
  }
}
