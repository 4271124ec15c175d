internal import Larch
internal import LarchInspection

/// Names for the ids of a store that may differ in the next run, and an order of records that does
/// not depend on these ids.
struct DumpNames {
  /// An id of a record, or of one end of a link.
  struct Identity: Hashable {
    let id: MarkedID
    /// If false, the program chose the id, and it is shown unchanged.
    let isNamed: Bool

    init(_ text: String, of collection: StoreInspector.Collection, _ inspector: StoreInspector) {
      let marked = inspector.markedID(text, of: collection)
      id = marked ?? MarkedID(collection: collection.name, text: text)
      isNamed = marked != nil
    }
  }

  struct Record {
    let identity: Identity
    let json: MarkedText
  }

  struct Link {
    let first: Identity
    let second: Identity
  }

  /// The records of each collection, in the order of the dump.
  private(set) var records: [String: [Record]] = [:]
  /// The links of each many-to-many association, by its key.
  private(set) var links: [String: [Link]] = [:]
  private var names: [MarkedID: String] = [:]
  /// In the order in which ids got their names.
  private var ranks: [MarkedID: Int] = [:]
  /// The number of names of each kind.
  private var counts: [String: Int] = [:]

  init(_ inspector: StoreInspector) throws {
    let collections = inspector.collections.sorted { $0.name < $1.name }
    for collection in collections {
      var found: [Record] = []
      try inspector.forEachMarkedRecord(in: collection) { id, json in
        found.append(Record(identity: Identity(id, of: collection, inspector), json: json))
      }
      records[collection.name] = found
    }
    for association in inspector.associations where association.isLists {
      guard let first = collections.first(where: { $0.name == association.first }),
        let second = collections.first(where: { $0.name == association.second })
      else { continue }
      var found: [Link] = []
      try inspector.forEachLink(of: association) { id, other in
        found.append(
          Link(
            first: Identity(id, of: first, inspector),
            second: Identity(other, of: second, inspector))
        )
      }
      links[association.key] = found
    }
    let places = DumpGraph(collections.map(\.name), records, links).places
    for collection in collections {
      guard var ordered = records[collection.name], inspector.hasMarkedIDs(collection) else {
        continue
      }
      ordered.sort { places[$0.identity.id, default: 0] < places[$1.identity.id, default: 0] }
      records[collection.name] = ordered
      for id in ordered.map(\.identity.id) where names[id] == nil { give(id, collection.name) }
    }
    // An id without a record gets its name where it first appears.
    for collection in collections {
      for record in records[collection.name] ?? [] { learn(record.json.ids) }
    }
    for association in inspector.associations {
      for link in links[association.key] ?? [] {
        learn([link.first, link.second].filter(\.isNamed).map(\.id))
      }
    }
  }

  /// Gives names to ids that have none, in order.
  mutating func learn(_ ids: [MarkedID]) {
    for id in ids where names[id] == nil {
      // No record has it: a UUID that is not an id, or an id whose record does not exist.
      give(id, id.collection.map { $0 + "#missing" } ?? "UUID", separator: id.collection == nil)
    }
  }

  private mutating func give(_ id: MarkedID, _ kind: String, separator: Bool = true) {
    counts[kind, default: 0] += 1
    names[id] = kind + (separator ? "#" : "") + String(counts[kind, default: 0])
    ranks[id] = ranks.count
  }

  /// The name of an id; its text if the program chose it.
  func name(_ id: MarkedID) -> String { names[id] ?? id.text }

  /// The position of an id among all with names.
  func rank(_ id: MarkedID) -> Int { ranks[id] ?? .max }
}
