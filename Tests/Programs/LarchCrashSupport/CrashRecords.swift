package import Larch

/// A record whose id the store assigns, with an index of every kind.
package struct Item: Record {
  package var id = RecordID<Item>()
  /// Its writer: each writer changes only its own records, so that it has its own model.
  package var owner: Int
  /// Rises with each insert of its owner, and so must the ids that the store assigns.
  package var serial: Int
  package var code: String
  package var group: String
  package var rank: Int
  package var labels: [String]

  package init(
    owner: Int, serial: Int, code: String, group: String, rank: Int, labels: [String]
  ) {
    self.owner = owner
    self.serial = serial
    self.code = code
    self.group = group
    self.rank = rank
    self.labels = labels
  }

  package var title: String { "\(group) \(rank % 7)" }

  package static let schema = Schema<Item> {
    Unique(\.code)
    Index(\.group, \.rank)
    Index(\.labels)
    Index(\.group, options: .caseInsensitive, name: "folded")
    Index(\.title, name: "title")
    Index(\.rank, name: "even", where: { $0.rank % 2 == 0 })
  }

  /// Everything except the id, which depends on the other writers.
  package var content: String {
    "\(owner)/\(serial) \(code) \(group) \(rank) \(labels.joined(separator: ","))"
  }
}

/// A record with a chosen id, whose unique string is longer than a key.
package struct Entry: Record {
  package var id: String
  package var owner: Int
  package var text: String
  package var value: Int?

  package init(id: String, owner: Int, text: String, value: Int? = nil) {
    self.id = id
    self.owner = owner
    self.text = text
    self.value = value
  }

  package static let schema = Schema<Entry> {
    Unique(\.text)
    Index(\.value)
  }

  package var content: String { "\(owner) \(id) \(value.map(String.init) ?? "-") \(text)" }
}

/// The progress of a writer. Each of its transactions changes it, so that a snapshot shows the
/// state of the model that it must equal.
package struct Progress: Record {
  package var id: Int
  package var transactions = 0
  package var nextSerial = 0
  package var itemCount = 0
  package var rankSum = 0
  package var entryCount = 0

  package init(id: Int) { self.id = id }
}

extension Store {
  /// Opens a store for the crash tests.
  package static func forCrashes(
    at path: String, _ change: (inout Options) -> Void = { _ in }
  ) throws -> Store {
    var options = Options()
    change(&options)
    return try Store(at: path, for: Item.self, Entry.self, Progress.self, options: options)
  }

  package static func forCrashes(at path: String, mirror: ServerLog) throws -> Store {
    var options = Options()
    options.durability = .relaxed
    return try Store(
      at: path, mirror: mirror, for: Item.self, Entry.self, Progress.self, options: options)
  }
}
