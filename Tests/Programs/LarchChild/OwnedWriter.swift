internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// `owned-writer <store> <name> <seed> <steps>`: writes records in every way in which an id can be
/// assigned and undone, beside other processes that do the same. Prints its stored records at the
/// end.
func ownedWriter(_ arguments: [String]) throws {
  guard arguments.count == 4, let seed = UInt64(arguments[2]), let steps = Int(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let writer = try OwnedWriter(arguments[0], arguments[1], seed)
  for _ in 0..<steps { try writer.step() }
  try writer.finish()
}

/// `undone-id <store>`: assigns an id in a write that is undone, prints it and waits to be ended.
func undoneID(_ arguments: [String]) throws {
  guard arguments.count == 1 else { throw UsageError() }
  limitLifetime()
  let store = try Owned.open(at: arguments[0])
  var record = Owned(owner: "child")
  try? store.write { tx in
    try tx.save(&record)
    throw Mismatch("undone")
  }
  print(record.id.rawValue)
  fflush(nil)
  while true { sleep(1000) }
}

private final class OwnedWriter {
  private struct Undone: Error {}

  private let path: String
  private let name: String
  private var random: SeededGenerator
  private var store: Store
  /// Another store of the process on the same file.
  private var other: Store
  private var number = 0
  /// What is stored, by id.
  private var stored: [Int64: Owned] = [:]
  /// The record if it has an id from an undone write and is not stored.
  private var held: [Owned] = []

  init(_ path: String, _ name: String, _ seed: UInt64) throws {
    self.path = path
    self.name = name
    random = SeededGenerator(seed: seed)
    store = try Owned.open(at: path)
    other = try Owned.open(at: path, runsTwice: true)
  }

  private func new() -> Owned {
    number += 1
    return Owned(owner: "\(name)-\(number)")
  }

  private func keep(_ record: Owned) throws {
    let id = record.id.rawValue
    if let other = stored[id] { throw Mismatch("\(record) has the id of \(other)") }
    stored[id] = record
  }

  func step() throws {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<4: try insert()
    case 4..<8: undo()
    case 8..<11: try saveHeld()
    case 11..<13: try undoSavepoint()
    case 13..<15: try changeItsWays()
    case 15..<17: try group()
    case 17: try delete()
    case 18: try change()
    default: try reopen()
    }
  }

  private func insert() throws {
    var records = (0..<Int.random(in: 1...5, using: &random)).map { _ in new() }
    try store.write { tx throws in
      for place in records.indices { try tx.save(&records[place]) }
    }
    for record in records { try keep(record) }
  }

  private func undo() {
    var records = (0..<Int.random(in: 1...3, using: &random)).map { _ in new() }
    let store = Bool.random(using: &random) ? store : other
    try? store.write { tx throws in
      for place in records.indices { try tx.save(&records[place]) }
      throw Undone()
    }
    held += records
  }

  /// An undone record is inserted under its own id.
  private func saveHeld() throws {
    guard !held.isEmpty else { return try insert() }
    var record = held.remove(at: Int.random(in: held.indices, using: &random))
    let id = record.id
    try (Bool.random(using: &random) ? store : other).write { tx throws in
      try tx.insert(&record)
    }
    guard record.id == id else { throw Mismatch("\(id) became \(record.id)") }
    try keep(record)
  }

  private func undoSavepoint() throws {
    var (first, second, third) = (new(), new(), new())
    try store.write { tx throws in
      try tx.save(&first)
      try? tx.savepoint {
        try tx.save(&second)
        throw Undone()
      }
      try tx.save(&third)
    }
    held.append(second)
    try keep(first)
    try keep(third)
  }

  /// A closure that does something different at each run.
  private func changeItsWays() throws {
    var (outer, inner) = (new(), new())
    var runs = 0
    try other.write { tx throws in
      runs += 1
      if runs > 1 {
        inner = Owned(owner: inner.owner)
        try tx.save(&inner)
      }
      try tx.save(&outer)
    }
    try keep(outer)
    if inner.id.isAssigned { try keep(inner) }
  }

  /// Asynchronous writes that share a commit; some of them are undone.
  private func group() throws {
    let count = Int.random(in: 2...6, using: &random)
    let records = (0..<count).map { _ in (new(), Bool.random(using: &random)) }
    let ended = Guarded<[(Owned, isKept: Bool)]>([])
    let done = DispatchSemaphore(value: 0)
    let store = store
    for (record, isKept) in records {
      Task.detached {
        let saved = Guarded(record)
        do {
          try await store.write { tx throws in
            try saved.withLock { try tx.save(&$0) }
            if !isKept { throw Undone() }
          }
          ended.withLock { $0.append((saved.withLock { $0 }, true)) }
        } catch is Undone {
          ended.withLock { $0.append((saved.withLock { $0 }, false)) }
        } catch {
          print("a write failed: \(error)")
        }
        done.signal()
      }
    }
    for _ in 0..<count { done.wait() }
    let results = ended.withLock { $0 }
    guard results.count == count else { throw Mismatch("a write of a group failed") }
    for (record, isKept) in results {
      if isKept { try keep(record) } else { held.append(record) }
    }
  }

  private func delete() throws {
    guard let id = stored.keys.randomElement(using: &random), let record = stored[id] else {
      return
    }
    try store.write { tx throws in
      guard try tx.delete(record) else { throw Mismatch("\(record) is not there") }
    }
    stored[id] = nil
    held.append(record)
  }

  private func change() throws {
    guard let id = stored.keys.randomElement(using: &random), var record = stored[id] else {
      return
    }
    record.changes += 1
    try store.write { tx throws in
      guard try tx.find(Owned.self, record.id)?.owner == record.owner else {
        throw Mismatch("\(record) was overwritten")
      }
      try tx.save(&record)
    }
    stored[id] = record
  }

  private func reopen() throws {
    store.close()
    other.close()
    store = try Owned.open(at: path)
    other = try Owned.open(at: path, runsTwice: true)
  }

  func finish() throws {
    let stored = stored
    try store.read { tx throws in
      for (id, record) in stored {
        let found = try tx.find(Owned.self, record.id)
        guard found?.owner == record.owner, found?.changes == record.changes else {
          throw Mismatch("\(id): \(record.owner) is \(String(describing: found))")
        }
      }
    }
    for (id, record) in stored { print(id, record.owner) }
  }
}
