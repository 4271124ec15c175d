internal import Foundation
internal import Larch
internal import LarchTestSupport

/// What the stores of these runs hold; every record follows from its id alone.
private struct Item: Record {
  var id = RecordID<Item>()
  var name: String
  var size: Int
  var tags: [String]
  var labelID: String?

  static let marks = ManyToMany<Item, Label>(named: "marks")
  static let schema = Schema<Item> {
    marks
    Unique(\.name)
    Index(\.size, \.name)
    Index(\.tags)
  }

  static func numbered(_ number: Int64) -> Item {
    var random = SeededGenerator(seed: UInt64(bitPattern: number))
    let length = Int(random.next() % 60) + (number % 50 == 0 ? 5000 : 0)
    return Item(
      id: RecordID(number), name: "item \(number) " + String(repeating: "n", count: length),
      size: Int(random.next() % 20), tags: (0..<Int(random.next() % 3)).map { "tag\($0)" },
      labelID: number % 4 == 0 ? nil : "label\(number)")
  }

  var isRight: Bool {
    let expected = Item.numbered(id.rawValue)
    return name == expected.name && size == expected.size && tags == expected.tags
      && labelID == expected.labelID
  }
}

private struct Label: Record {
  var id: String
  var value: Double?

  static let schema = Schema<Label> { HasMany(\Item.labelID, onDelete: DeleteRule.none) }

  var isRight: Bool { Label.value(of: id) == value }

  static func value(of id: String) -> Double? {
    guard let number = Int(id.dropFirst(5)) else { return nil }
    return number % 3 == 0 ? nil : Double(number) / 2
  }

  static func numbered(_ number: Int) -> Label {
    Label(id: "label\(number)", value: value(of: "label\(number)"))
  }
}

private func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

private func quick(isVerified: Bool) -> Store.Options {
  var options = Store.Options()
  options.durability = .none
  options.isVerified = isVerified
  return options
}

private func number(of label: Label) -> Int { Int(label.id.dropFirst(5)) ?? 0 }

/// `make-store <file> <seed>`: a store that was written, changed and written again.
func makeStore(_ arguments: [String]) throws {
  guard arguments.count == 2, let seed = UInt64(arguments[1]) else { throw UsageError() }
  let store = try Store(
    at: arguments[0], for: Item.self, Label.self, options: quick(isVerified: false))
  defer { store.close() }
  var random = SeededGenerator(seed: seed)
  for round in 0..<6 {
    try store.write { tx in
      for _ in 0..<60 {
        var item = Item.numbered(Int64(random.next() % 200) + 1)
        try tx.save(&item)
        var label = Label.numbered(Int(random.next() % 200))
        try tx.save(&label)
        try tx.add(label.id, to: item.related(Item.marks))
        if number(of: label) % 5 == 0 {
          try tx.add(
            contentsOf: (0..<200).map { "label\($0)" }.filter {
              try tx.exists(Label.self, $0)
            }, to: item.related(Item.marks))
        }
        try tx.delete(Item.self, RecordID(Int64(random.next() % 200) + 1))
      }
      if round == 3, seed % 2 == 0 { try tx.erase(Label.self) }
    }
  }
}

/// `open-store <verified|plain> <template> <seed> <from> <count> <dir>`: one damaged copy for each
/// number, opened as a store and used in full. Every record that is read must be as it was written.
func openStore(_ arguments: [String]) throws {
  guard arguments.count == 6, let seed = UInt64(arguments[2]), let from = UInt64(arguments[3]),
    let count = UInt64(arguments[4]), ["verified", "plain"].contains(arguments[0])
  else { throw UsageError() }
  let template = [UInt8](try Data(contentsOf: URL(fileURLWithPath: arguments[1])))
  let path = arguments[5] + "/damaged-\(getpid()).larch"
  defer {
    unlink(path)
    unlink(path + "-lock")
  }
  for number in from..<(from + count) {
    let kinds = FileDamage.allCases
    let kind = kinds[Int(number % UInt64(kinds.count))]
    var random = SeededGenerator(seed: seed &+ number &* 0x9E37_79B9)
    var bytes = template
    kind.apply(to: &bytes, pageSize: 4_096, using: &random)
    unlink(path)
    unlink(path + "-lock")
    guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
      throw UsageError()
    }
    say("\(number) start \(kind.rawValue)")
    let store: Store
    do {
      store = try Store(
        at: path, for: Item.self, Label.self,
        options: quick(isVerified: arguments[0] == "verified"))
    } catch let error as LarchError {
      say("\(number) refused \(error.code)")
      continue
    }
    let wrong = use(store, number)
    store.close()
    say(wrong.map { "\(number) wrong \($0)" } ?? "\(number) opened")
  }
}

/// Reads, verifies and writes; what is wrong comes back, what throws is as it should be.
private func use(_ store: Store, _ number: UInt64) -> String? {
  var wrong: String?
  func attempt(_ work: () throws -> Void) {
    do {
      try work()
    } catch let error as LarchError {
      if error.message.isEmpty { wrong = "an error without a sentence" }
    } catch {
      wrong = "an error of another type: \(error)"
    }
  }
  attempt {
    try store.read { tx in
      for item in try tx.all(Item.self) where !item.isRight { wrong = "item \(item.id)" }
    }
  }
  attempt {
    try store.read { tx in
      for label in try tx.all(Label.self) where !label.isRight { wrong = "label \(label.id)" }
    }
  }
  attempt {
    try store.read { tx in
      for id in [1, 50, 100, 150] as [RecordID<Item>] {
        if let item = try tx.find(Item.self, id), !item.isRight || item.id != id {
          wrong = "item \(id) by id"
        }
      }
    }
  }
  attempt {
    try store.read { tx in
      for item in try tx.all(Item.self) {
        // A list may be damaged; what it leads to is right or an error.
        attempt {
          for label in try tx.fetch(item.related(Item.marks)) where !label.isRight {
            wrong = "label \(label.id) of item \(item.id)"
          }
        }
      }
    }
  }
  attempt { _ = try store.verify() }
  attempt {
    try store.write { tx in
      for step in 0..<30 {
        var item = Item.numbered(Int64((number &* 31 &+ UInt64(step * 7)) % 250) + 1)
        // One record that cannot be changed must not keep the others from it.
        do { try tx.save(&item) } catch let error as LarchError where error.code != .storage {}
        if step % 5 == 0 { _ = try? tx.delete(Item.self, RecordID(Int64(step * 3 + 1))) }
        var label = Label.numbered(step * 5)
        do {
          try tx.save(&label)
          let marks = item.related(Item.marks)
          if step % 2 == 0 { try tx.add(label.id, to: marks) }
          if step % 3 == 0 { try tx.remove("label\(step)", from: marks) }
        } catch let error as LarchError where error.code != .storage {}
      }
    }
  }
  attempt {
    try store.read { tx in
      for item in try tx.all(Item.self) where !item.isRight { wrong = "item \(item.id) later" }
    }
  }
  attempt { try store.rebuild() }
  return wrong
}
