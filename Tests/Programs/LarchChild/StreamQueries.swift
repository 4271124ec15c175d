internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// One of many, for cursors.
private struct Grain: Record {
  var id = RecordID<Grain>()
  var number: Int
  var text: String
  var heapID: Heap.ID?

  static let schema = Schema<Grain> { Index(\.number) }
}

/// One that has all of them in a list, and in an index.
private struct Heap: Record {
  var id = RecordID<Heap>()

  static let grains = ManyToMany<Heap, Grain>(named: "grains")
  static let owned = HasMany<Heap, Grain>(\.heapID)
  static let schema = Schema<Heap> {
    grains
    owned
  }
}

/// `stream-queries <directory> <count>`: visits so many records in several ways, and prints for
/// each how many bytes of memory the process took after the first tenth, of its own: pages of the
/// mapped file come and go as the system likes.
func streamQueries(_ arguments: [String]) throws {
  guard arguments.count == 2, let count = Int(arguments[1]) else { throw UsageError() }
  limitLifetime()
  var options = Store.Options()
  options.durability = .relaxed
  let store = try Store(
    at: arguments[0] + "/grains.larch", for: Grain.self, Heap.self, options: options)
  var heap = Heap()
  try store.write { try $0.save(&heap) }
  let text = String(repeating: "grain ", count: 40)
  for start in stride(from: 0, to: count, by: 10_000) {
    try store.write { tx throws in
      for number in start..<min(start + 10_000, count) {
        var grain = Grain(number: (number * 7919) % count, text: text, heapID: heap.id)
        try tx.insert(&grain)
        try tx.add(grain.id, to: heap.related(Heap.grains))
      }
    }
  }
  let queries: [(String, Query<Grain>, Int)] = [
    ("id", Grain.all, count),
    ("index", Grain.all.sorted(by: \.number, .descending).limit(count / 4), count / 4),
    ("filter", Grain.where { $0.text.hasPrefix("grain g") }, count),
    ("closure", Grain.where { $0.satisfies { $0.number >= 0 } }.limit(count / 4), count / 4),
  ]
  for (name, query, wanted) in queries {
    try store.read { tx throws in
      let cursor = try tx.cursor(query)
      var seen = 0
      var before = 0
      var most = 0
      while try cursor.next() != nil {
        seen += 1
        if seen == wanted / 10 { before = try ownMemory() }
        if seen % (wanted / 20) == 0 { most = max(most, try ownMemory()) }
      }
      guard seen == wanted else { throw Mismatch("\(name): \(seen) instead of \(wanted)") }
      print(name, most - before)
    }
  }
  for (name, list) in [
    ("links", heap.related(Heap.grains)), ("children", heap.related(Heap.owned)),
  ] {
    try store.read { tx throws in
      try expectStreaming(name, count) { seen in try tx.forEachID(of: list) { _ in try seen() } }
    }
    // In a write the list changes in the meantime, by a member that it already has.
    try store.write { tx throws in
      try expectStreaming(name + "-write", count) { seen in
        try tx.forEachID(of: list) { id in
          try seen()
          if id.rawValue % 1000 == 0 { try tx.add(1, to: heap.related(Heap.grains)) }
        }
      }
    }
  }
  // Does what a cursor must not do, to show that the test would notice.
  let before = try ownMemory()
  let all = try store.fetch(Grain.all)
  print("array", try ownMemory() - before, all.count)
  store.close()
}

/// Prints the memory that a loop used which called a closure this number of times.
private func expectStreaming(
  _ name: String, _ wanted: Int, _ loop: (_ seen: () throws -> Void) throws -> Void
) throws {
  var seen = 0
  var before = 0
  var most = 0
  try loop {
    seen += 1
    if seen == wanted / 10 { before = try ownMemory() }
    if seen % (wanted / 20) == 0 { most = max(most, try ownMemory()) }
  }
  guard seen == wanted else { throw Mismatch("\(name): \(seen) instead of \(wanted)") }
  print(name, most - before)
}

func ownMemory() throws -> Int {
  let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    .split(separator: " ").compactMap { Int($0) }
  return (fields[1] - fields[2]) * 4096
}
