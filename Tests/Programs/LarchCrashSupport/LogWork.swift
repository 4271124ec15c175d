package import Larch
internal import LarchTestSupport

/// Notes as one version of a program declares them.
package struct OldNote: Record {
  package var id: Int
  package var group: String
  package var words: [String]

  package static let collectionName = "Note"
  package static let schema = Schema<OldNote> { Index(\.group) }
}

/// The same notes as another version declares them.
package struct NewNote: Record {
  package var id: Int
  package var group: String
  package var words: [String]

  package static let collectionName = "Note"
  package static let schema = Schema<NewNote> {
    Index(\.words)
    Index(\.group, \.id)
    ManyToMany(NewNote.self, named: "near")
  }
}

/// Work at random through everything that writes a store whose commits are logged.
package struct LogWork {
  package let path: String
  package private(set) var store: Store
  /// How often the store was opened: each opening has another log.
  package private(set) var openings = 0
  private var random: SeededGenerator
  private var isNew = false
  private var migrations: [Migration] = []
  private let limits: CommitLogLimits
  private let durability: Store.Options.Durability

  /// - Parameter idle: the time after which a checkpoint begins by itself.
  package init(
    _ path: String, seed: UInt64, idle: Duration = .milliseconds(1),
    durability: Store.Options.Durability = .logged
  ) throws {
    self.path = path
    self.durability = durability
    random = SeededGenerator(seed: seed)
    var limits = CommitLogLimits.forPowerFailures
    limits.idle = idle
    self.limits = limits
    store = try Self.open(path, isNew: false, [], limits, durability: durability)
  }

  private static func open(
    _ path: String, isNew: Bool, _ migrations: [Migration], _ limits: CommitLogLimits,
    durability: Store.Options.Durability
  ) throws -> Store {
    var options = Store.Options()
    options.durability = durability
    options.logLimits = limits
    // Several steps of a build, each with a commit of its own.
    options.indexBatchSize = 7
    return isNew
      ? try Store(
        at: path, for: Item.self, Entry.self, Shelf.self, Volume.self, NewNote.self,
        migrations: migrations, options: options)
      : try Store(
        at: path, for: Item.self, Entry.self, Shelf.self, Volume.self, OldNote.self,
        migrations: migrations, options: options)
  }

  /// Opens a copy of the store with the types that it has now.
  package func openCopy(_ path: String, _ durability: Store.Options.Durability) throws -> Store {
    try Self.open(path, isNew: isNew, migrations, limits, durability: durability)
  }

  private mutating func reopen() throws {
    store.close()
    isNew.toggle()
    if isNew, random.below(2) == 0 {
      let number = migrations.count
      migrations.append(
        Migration("step \(number)") { tx in
          try tx.rewrite(NewNote.self) { fields in
            fields["group"] = .string("\(number) " + (fields["group"]?.string ?? "").suffix(12))
          }
        })
    }
    store = try Self.open(path, isNew: isNew, migrations, limits, durability: durability)
    openings += 1
  }

  /// Does one thing; most often a transaction.
  ///
  /// - Parameter isSingle: whether it is one commit at most.
  package mutating func step(isSingle: Bool = false) throws {
    switch isSingle ? 4 + random.below(28) : random.below(32) {
    case 0: try reopen()
    case 1:
      _ = try store.compact()
      openings += 1
    case 2: _ = try store.rebuild()
    case 3:
      let lines = (0..<(1 + random.below(30))).map { _ in
        #"{"id": "e\#(random.below(60))", "owner": 3, "text": "import \#(random.next())"}"#
      }
      _ = try store.importJSON(
        Entry.self, from: .text(lines.joined(separator: "\n")), onError: .skip, batchSize: 9)
    case 4: try store.write { tx throws in _ = try tx.erase(Entry.self) }
    case 5: try store.write { tx throws in _ = try tx.erase(Volume.self) }
    case 6:
      let rank = random.below(40)
      try store.write { tx throws in
        _ = try tx.delete(Item.where { $0.rank == rank || $0.group == "b" })
      }
    case 7:
      // Too large for the log.
      let (base, count) = (random.below(1000) * 1000, 40 + random.below(100))
      try store.write { tx throws in
        for number in base..<base + count {
          var entry = Entry(
            id: "large \(number)", owner: 9, text: String(repeating: "\(number) ", count: 60))
          try tx.save(&entry)
        }
      }
    case 8:
      struct Undone: Error {}
      var copy = self
      try? store.write { tx throws in
        try copy.change(tx, 4)
        throw Undone()
      }
      random = copy.random
    default:
      var copy = self
      try store.write { tx throws in try copy.change(tx, 1 + copy.random.below(5)) }
      random = copy.random
    }
  }

  private struct Undone: Error {}

  private mutating func change(_ tx: WriteTransaction, _ count: Int) throws {
    for _ in 0..<count {
      // A refused change must leave nothing.
      if random.below(4) == 0 {
        let isUndone = random.below(2) == 0
        do {
          try tx.savepoint {
            try change(tx, 1 + random.below(3))
            if isUndone { throw Undone() }
          }
        } catch is Undone {}
      } else {
        do {
          try tx.savepoint { try changeOne(tx) }
        } catch let error as LarchError
          where [.uniqueConflict, .danglingReference, .unsavedReference].contains(error.code)
        {}
      }
    }
  }

  private mutating func changeOne(_ tx: WriteTransaction) throws {
    let (small, number) = (random.below(12), random.below(300))
    switch random.below(12) {
    case 0, 1:
      var item = Item(
        owner: small, serial: number, code: "code \(random.below(80))",
        group: ["a", "b", "c"][random.below(3)], rank: random.below(40),
        labels: (0..<random.below(4)).map { _ in "label \(random.below(9))" })
      try tx.insert(&item)
    case 2:
      if let item = try tx.first(Item.where { $0.rank >= random.below(40) }) {
        var changed = item
        changed.labels.append("more")
        changed.rank = random.below(40)
        try tx.update(changed)
      }
    case 3:
      if let item = try tx.first(Item.where { $0.rank >= random.below(40) }) {
        try tx.delete(Item.self, item.id)
      }
    case 4, 5:
      // Some have overflow pages.
      let length = random.below(5) == 0 ? 500 + random.below(700) : random.below(20)
      var entry = Entry(
        id: "e\(random.below(60))", owner: small,
        text: "\(number)" + String(repeating: " text", count: length),
        value: random.below(3) == 0 ? nil : number)
      try tx.save(&entry)
    case 6: try tx.delete(Entry.self, "e\(random.below(60))")
    case 7:
      var shelf = Shelf(id: small, room: "room \(number % 5)")
      try tx.save(&shelf)
    case 8: try tx.delete(Shelf.self, small)
    case 9:
      var volume = Volume(id: number % 40, shelfID: small, body: "body \(number)")
      if try tx.find(Shelf.self, small) != nil { try tx.save(&volume) }
    case 10:
      let id = number % 40
      if let shelf = try tx.find(Shelf.self, small), try tx.find(Volume.self, id) != nil {
        if random.below(3) == 0 {
          try tx.remove(id, from: shelf.related(Shelf.shown))
        } else {
          try tx.add(id, to: shelf.related(Shelf.shown))
        }
      }
    default:
      let words = (0..<random.below(5)).map { _ in "word \(random.below(20))" }
      if isNew {
        var note = NewNote(id: number % 50, group: "group \(small)", words: words)
        try tx.save(&note)
      } else {
        var note = OldNote(id: number % 50, group: "group \(small)", words: words)
        try tx.save(&note)
      }
    }
  }
}
