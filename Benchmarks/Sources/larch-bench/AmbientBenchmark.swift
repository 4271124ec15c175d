import Foundation
import Larch

/// What a call costs that names no store, beside the same call on the transaction or the store, and
/// what rules, times and hooks add to a save.
///
/// Interleaved rounds in one process, the least of each: the rest is what else the machine does.
enum AmbientBenchmark {
  struct Plain: Record {
    var id = RecordID<Plain>()
    var name: String
    var number: Int
  }

  struct Ruled: Record {
    var id = RecordID<Ruled>()
    var name: String
    var number: Int
    static let schema = Schema<Ruled> {
      Validate(\.name, .presence, .length(1...40))
      Validate(\.number, .range(0...))
    }
  }

  struct Timed: Record, Timestamped {
    var id = RecordID<Timed>()
    var name: String
    var number: Int
    var createdAt: Date?
    var updatedAt: Date?
  }

  struct Hooked: Record {
    var id = RecordID<Hooked>()
    var name: String
    var number: Int

    static let schema = Schema<Hooked> {
      WillSave { _, _ in }
    }
  }

  private static let count = 2_000
  private static let rounds = 41

  static func run() throws {
    let store = try Store.temporary(for: Plain.self, Ruled.self, Timed.self, Hooked.self)
    defer { store.close() }
    var all: [Plain] = []
    try store.write { tx in
      for number in 0..<count {
        var record = Plain(name: "name \(number)", number: number)
        try tx.save(&record)
        all.append(record)
      }
    }
    let records = all
    var table = Table()
    try Store.with(store) {
      for _ in 0..<rounds {
        try store.read { tx in
          try table.add("find, tx.find") {
            for record in records { _ = try tx.find(Plain.self, record.id) }
          }
          try table.add("find, ambient") { for record in records { _ = try Plain.find(record.id) } }
        }
        try table.add("find, store.find") {
          for record in records { _ = try store.find(Plain.self, record.id) }
        }
        try table.add("find, ambient, no transaction") {
          for record in records { _ = try Plain.find(record.id) }
        }
        try store.write { tx in
          try table.add("save of what is stored, tx.save") {
            for var record in records { try tx.save(&record) }
          }
          try table.add("save of what is stored, ambient") {
            for var record in records { try record.save() }
          }
        }
        try insert(Plain.self, "insert, plain", store, &table) { Plain(name: "n", number: $0) }
        try insert(Ruled.self, "insert, 3 rules", store, &table) { Ruled(name: "n", number: $0) }
        try insert(Timed.self, "insert, times", store, &table) { Timed(name: "n", number: $0) }
        try insert(Hooked.self, "insert, hooks", store, &table) { Hooked(name: "n", number: $0) }
      }
    }
    table.show(per: count)
  }

  private static func insert<R: Record>(
    _ type: R.Type, _ name: String, _ store: Store, _ table: inout Table, _ make: (Int) -> R
  ) throws {
    do {
      try store.write { tx in
        try table.add(name) {
          for number in 0..<count {
            var record = make(number)
            try tx.save(&record)
          }
        }
        throw Rollback()
      }
    } catch is Rollback {}
  }

  /// The least time of each name, in the order of their first appearance.
  private struct Table {
    private var names: [String] = []
    private var least: [String: UInt64] = [:]

    mutating func add(_ name: String, _ work: () throws -> Void) rethrows {
      let start = DispatchTime.now().uptimeNanoseconds
      try work()
      let time = DispatchTime.now().uptimeNanoseconds - start
      if least[name] == nil { names.append(name) }
      least[name] = min(least[name] ?? .max, time)
    }

    func show(per count: Int) {
      for name in names {
        let time = Double(least[name] ?? 0) / Double(count)
        print(
          name.padding(toLength: 36, withPad: " ", startingAt: 0), String(format: "%8.1f ns", time))
      }
    }
  }
}
