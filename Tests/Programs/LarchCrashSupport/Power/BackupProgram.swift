internal import Larch

/// A store that is backed up twice to the same path, and backups that are restored to a new path
/// and over the store.
struct BackupProgram: PowerProgram {
  private enum Kind {
    static let backup: UInt32 = 2
    static let restored: UInt32 = 3
    /// The store is about to be replaced by the backup of this mark.
    static let replacing: UInt32 = 4
    static let replaced: UInt32 = 5
  }

  private var states: WriterStates

  init(seed: UInt64) { states = WriterStates(seed: seed) }

  private func backupPath(_ directory: String) -> String { directory + "/backup.larch" }
  private func restoredPath(_ directory: String) -> String { directory + "/restored.larch" }

  mutating func run(in directory: String, mark: @escaping @Sendable (PowerMark) -> Void) throws {
    let backup = backupPath(directory)
    let store = try WriterStates.open(storePath(directory))
    defer { store.close() }
    var number = 0
    mark(PowerMark(kind: PowerMark.acknowledged, number: number))
    func write(_ count: Int) throws {
      for _ in 0..<count {
        number = try states.write(to: store)
        mark(PowerMark(kind: PowerMark.acknowledged, number: number))
      }
    }
    try write(6)
    try store.backup(to: backup)
    mark(PowerMark(kind: Kind.backup, number: number))
    try write(3)
    try store.backup(to: backup, replacing: true)
    let copied = number
    mark(PowerMark(kind: Kind.backup, number: copied))
    try Store.restore(from: backup, to: restoredPath(directory))
    mark(PowerMark(kind: Kind.restored, number: copied))
    try write(2)
    store.close()
    mark(PowerMark(kind: Kind.replacing, number: copied))
    try Store.restore(from: backup, to: storePath(directory), replacing: true)
    mark(PowerMark(kind: Kind.replaced, number: copied))
  }

  mutating func check(_ directory: String, after marks: [PowerMark]) throws {
    func newest(_ kind: UInt32) -> Int? { marks.last { $0.kind == kind }?.number }
    let acknowledged = newest(PowerMark.acknowledged)
    let found = try states.number(at: storePath(directory))
    var allowed: [Int?] = acknowledged.map { [$0, $0 + 1] } ?? [nil, 0]
    if let replacing = newest(Kind.replacing) { allowed = [acknowledged, replacing] }
    if let replaced = newest(Kind.replaced) { allowed = [replaced] }
    try expect("the store", found, allowed)
    // A backup is the complete state of the store, or it does not exist.
    let copy = try states.number(at: backupPath(directory))
    switch newest(Kind.backup) {
    case nil: try expect("the backup", copy, [nil, acknowledged])
    case 6 where acknowledged == 9: try expect("the backup", copy, [6, 9])
    case let number: try expect("the backup", copy, [number])
    }
    let restored = try states.number(at: restoredPath(directory))
    if let number = newest(Kind.restored) {
      try expect("what was restored", restored, [number])
    } else {
      try expect("what was restored", restored, [nil, newest(Kind.backup)])
    }
    let store = try WriterStates.open(storePath(directory))
    defer { store.close() }
    try store.write { tx throws in
      var entry = Entry(id: "later", owner: 1, text: "later")
      try tx.save(&entry)
    }
  }

  private func expect(_ what: String, _ found: Int?, _ allowed: [Int?]) throws {
    guard allowed.contains(found) else {
      let text = allowed.map { $0.map { "\($0)" } ?? "none" }.joined(separator: " or ")
      throw Mismatch("\(what) is at \(found.map { "\($0)" } ?? "none"), not at \(text)")
    }
  }
}
