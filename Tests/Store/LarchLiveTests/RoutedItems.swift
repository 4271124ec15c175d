import LarchTestSupport

@testable import Larch

/// With indexes of each kind: whole keys, several fields, texts, folded texts, elements, optional
/// fields, a computed property, and one over a part of the records.
struct RoutedItem: Record, Equatable {
  var id: String
  var group: Int
  var half: Double?
  var name: String
  var nick: String?
  var label: String
  var tags: [Int]
  var isOpen: Bool
  /// In no index.
  var note: Int

  var length: Int { name.count }

  static let schema = Schema<RoutedItem> {
    Index(\.group)
    Index(\.isOpen, \.half)
    Index(\.name)
    Index(\.nick, \.group)
    Index(\.label, options: .caseInsensitive)
    Index(\.tags)
    Index(\.length, name: "length")
    Index(\.note, where: { $0.isOpen })
  }

  /// Texts whose keys are cut, and which differ only after the cut.
  static let long = ["x", "y", "y\u{301}"].map { String(repeating: "long ", count: 40) + $0 }
  static let names = ["a", "ab", "abc", "b", "ä", "a\u{308}", "B", "", "é", "ba"] + long
  static let labels = ["One", "one", "ONE", "Two", "two", "Ünder", "ünder", "three"]

  static func random(_ random: inout SeededGenerator) -> RoutedItem {
    RoutedItem(
      id: "i\(Int.random(in: 0..<60, using: &random))",
      group: Int.random(in: 0..<12, using: &random),
      half: [nil, .nan, -0.0, 0, 0.5, -.infinity, 7, 8].randomElement(using: &random)!,
      name: names.randomElement(using: &random)!,
      nick: Bool.random(using: &random) ? nil : names.randomElement(using: &random)!,
      label: labels.randomElement(using: &random)!,
      tags: (0..<Int.random(in: 0..<4, using: &random)).map { _ in
        Int.random(in: 0..<9, using: &random)
      },
      isOpen: Bool.random(using: &random), note: Int.random(in: 0..<5, using: &random))
  }
}

/// An observer whose value is compared with a fetch, and which says what may wake it.
struct RoutedObserver {
  let name: String
  let poll: () throws -> Observed<String>?
  let expected: () throws -> String
  /// How many commits have woken it, and how often it has read or brought up to date its value.
  let wakes: () -> Int
  let reads: () -> Int
  /// Whether a record before or after a change may wake it.
  let isConcerned: (RoutedItem) -> Bool

  init<Q: Request>(
    _ name: String, _ store: Store, _ request: Q, _ isConcerned: @escaping (RoutedItem) -> Bool
  ) where Q.Row: Sendable {
    self.init(name, store, store.observe(request), isConcerned) { try $0.fetch(request) }
  }

  init<Value: Sendable>(
    _ name: String, _ store: Store,
    reading read: @escaping @Sendable (ReadTransaction) throws -> Value,
    _ isConcerned: @escaping (RoutedItem) -> Bool
  ) {
    self.init(name, store, store.observe(read), isConcerned, read)
  }

  private init<Value: Sendable>(
    _ name: String, _ store: Store, _ observation: StoreObservation<Value>,
    _ isConcerned: @escaping (RoutedItem) -> Bool,
    _ read: @escaping (ReadTransaction) throws -> Value
  ) {
    let observer = observation.makeAsyncIterator().polled
    self.name = name
    self.isConcerned = isConcerned
    poll = {
      try observer.poll().map { Observed(value: "\($0.value)", version: $0.version) }
    }
    expected = { try store.read { "\(try read($0))" } }
    wakes = { observer.wakes }
    reads = { observer.reads + observer.patches }
  }

  /// An observer of any kind. The ranges are described in Swift, beside each query.
  static func random(_ store: Store, _ random: inout SeededGenerator) -> RoutedObserver {
    let group = Int.random(in: 0..<12, using: &random)
    let id = "i\(Int.random(in: 0..<60, using: &random))"
    let name = RoutedItem.names.randomElement(using: &random)!
    let label = RoutedItem.labels.randomElement(using: &random)!
    let half: Double = [-.infinity, 0, 0.5, 7].randomElement(using: &random)!
    let tag = Int.random(in: 0..<9, using: &random)
    let limit = Int.random(in: 1..<4, using: &random)
    let isOpen = Bool.random(using: &random)
    /// Of a long text, the key has the beginning.
    let isNamed: (String?) -> Bool = {
      $0 == name || name.count > 100 && ($0?.count ?? 0) > 100
    }
    switch Int.random(in: 0..<27, using: &random) {
    case 0:
      return RoutedObserver("record \(id)", store, reading: { try $0.find(RoutedItem.self, id) }) {
        $0.id == id
      }
    case 1:
      return RoutedObserver("id \(id)", store, RoutedItem.where { $0.id == id && $0.group > 3 }) {
        $0.id == id
      }
    case 2:
      return RoutedObserver(
        "ids from \(id)", store, RoutedItem.where { $0.id >= id && $0.id < "i5" }
      ) {
        $0.id >= id && $0.id < "i5"
      }
    case 3:
      let ids = [id, "i7", "i\(group)"]
      return RoutedObserver("ids \(ids)", store, RoutedItem.where { ids.contains($0.id) }) {
        ids.contains($0.id)
      }
    case 4, 5, 6:
      return RoutedObserver("group \(group)", store, RoutedItem.where { $0.group == group }) {
        $0.group == group
      }
    case 7:
      return RoutedObserver(
        "groups from \(group)", store,
        RoutedItem.where { $0.group >= group && $0.group < group + 2 }
      ) { $0.group >= group && $0.group < group + 2 }
    case 8:
      return RoutedObserver(
        "open \(isOpen) above \(half)", store,
        RoutedItem.where { $0.isOpen == isOpen && $0.half > half }
      ) { $0.isOpen == isOpen && ($0.half ?? .nan) > half }
    case 9:
      return RoutedObserver(
        "open \(isOpen) nil", store, RoutedItem.where { $0.isOpen == isOpen && $0.half == nil }
      ) {
        $0.isOpen == isOpen && $0.half == nil
      }
    case 10:
      return RoutedObserver("name \(name)", store, RoutedItem.where { $0.name == name }) {
        isNamed($0.name)
      }
    case 11:
      let prefix = ["a", "ab", "b", "long "].randomElement(using: &random)!
      return RoutedObserver(
        "prefix \(prefix)", store, RoutedItem.where { $0.name.hasPrefix(prefix) }
      ) {
        // Composed letters begin with other bytes.
        $0.name.utf8.starts(with: prefix.utf8)
      }
    case 12:
      return RoutedObserver(
        "nick \(name)", store, RoutedItem.where { $0.nick == name && $0.note < 3 }
      ) {
        isNamed($0.nick)
      }
    case 13:
      return RoutedObserver(
        "nick nil, \(group)", store, RoutedItem.where { $0.nick == nil && $0.group == group }
      ) {
        // Either index is right.
        $0.group == group
      }
    case 14:
      return RoutedObserver(
        "label \(label)", store,
        RoutedItem.where { $0.label.equals(label, options: .caseInsensitive) }
      ) { $0.label.lowercased() == label.lowercased() }
    case 15:
      return RoutedObserver("tag \(tag)", store, RoutedItem.where { $0.tags.contains(tag) }) {
        $0.tags.contains(tag)
      }
    case 16:
      return RoutedObserver(
        "group \(group) or name \(name)", store,
        RoutedItem.where { $0.group == group || $0.name == name }
      ) { $0.group == group || isNamed($0.name) }
    case 17:
      return RoutedObserver(
        "either", store,
        RoutedItem.where {
          ($0.group == group && $0.note > 1) || $0.id == id || $0.tags.contains(tag)
        }
      ) { $0.group == group || $0.id == id || $0.tags.contains(tag) }
    case 18:
      let groups = [group, 3, 5]
      return RoutedObserver(
        "groups \(groups)", store, RoutedItem.where { groups.contains($0.group) }.sorted(by: \.note)
      ) {
        groups.contains($0.group)
      }
    case 19:
      return RoutedObserver(
        "window of \(group)", store,
        RoutedItem.where { $0.group == group }.sorted(by: \.note, .descending).limit(limit)
      ) { $0.group == group }
    case 20:
      return RoutedObserver(
        "page of \(group)", store,
        RoutedItem.where { $0.group >= group }.sorted(by: \.group).limit(limit).offset(1)
      ) { $0.group >= group }
    case 21:
      return RoutedObserver(
        "notes of \(group)", store, RoutedItem.where { $0.group == group }.select(\.note)
      ) {
        $0.group == group
      }
    case 22:
      return RoutedObserver(
        "figures", store,
        reading: { tx in
          [
            try tx.count(RoutedItem.where { $0.group == group }),
            try tx.find(RoutedItem.self, id)?.note ?? -1,
            try tx.sum(\.note, of: RoutedItem.where { $0.tags.contains(tag) }),
          ]
        }
      ) { $0.group == group || $0.id == id || $0.tags.contains(tag) }
    case 25:
      return RoutedObserver(
        "a part and all", store,
        reading: { tx in
          [
            try tx.count(RoutedItem.where { $0.group == group }),
            try tx.sum(\.note, of: RoutedItem.all) + (try tx.find(RoutedItem.self, id)?.note ?? 0),
          ]
        }
      ) { _ in true }
    case 23:
      return RoutedObserver("no range", store, RoutedItem.where { $0.note == tag }) { _ in true }
    case 24:
      return RoutedObserver("computed", store, RoutedItem.where { $0.length == group }) { _ in true
      }
    default:
      return RoutedObserver("window of all", store, RoutedItem.all.sorted(by: \.name).limit(limit))
      { _ in
        true
      }
    }
  }
}
