import Testing

@testable import Larch

/// A record whose references tests can set and read by position, and whose ids represent numbers.
protocol GraphRecord: Record {
  init(number: Int)
  static func id(_ number: Int) -> ID
  static func number(ofID text: String) -> Int?
  /// The ids that one of its properties holds.
  func ids(in slot: Int) -> [Int]
  mutating func set(_ ids: [Int], in slot: Int)
}

extension GraphRecord {
  var number: Int? { Self.number(ofID: "\(id)") }
}

extension GraphRecord where ID == Int {
  static func id(_ number: Int) -> Int { number }
  static func number(ofID text: String) -> Int? { Int(text) }
}

/// A store of records with known associations, compared with a model of it.
struct GraphStore {
  /// Where the pairs of an association are.
  enum Place {
    case slot(Int)
    case lists
  }

  let store: Store
  let types: [any GraphRecord.Type]
  let places: [Place]
  let associations: [DeletionModel.Association]

  /// The names that plans and errors have for the collections.
  var names: [String] { types.map { $0.collectionName } }

  init(
    _ types: [any GraphRecord.Type], _ places: [Place],
    _ associations: [DeletionModel.Association]
  ) throws {
    store =
      switch types.count {
      case 1: try Store.temporary(for: types[0])
      case 2: try Store.temporary(for: types[0], types[1])
      case 3: try Store.temporary(for: types[0], types[1], types[2])
      default: try Store.temporary(for: types[0], types[1], types[2], types[3])
      }
    self.types = types
    self.places = places
    self.associations = associations
  }

  // MARK: Writing

  /// Saves all records and links of a model.
  func save(_ model: DeletionModel, _ tx: WriteTransaction) throws {
    for node in model.nodes { try save(node, model, tx) }
    for pair in model.pairs {
      guard case .lists = places[pair.association] else { continue }
      try link(pair, tx)
    }
  }

  func save(_ node: DeletionModel.Node, _ model: DeletionModel, _ tx: WriteTransaction) throws {
    func save<R: GraphRecord>(_ type: R.Type) throws {
      var record = R(number: node.id)
      for (number, place) in places.enumerated()
      where associations[number].first == node.collection {
        guard case .slot(let slot) = place else { continue }
        let ids = model.pairs.filter { $0.association == number && $0.first == node.id }
        record.set(ids.map(\.second).sorted(), in: slot)
      }
      try tx.save(&record)
    }
    try save(types[node.collection])
  }

  func link(_ pair: DeletionModel.Pair, _ tx: WriteTransaction) throws {
    let association = associations[pair.association]
    let handle = try #require(tx.context.catalog.association(association.key))
    let lists = try #require(handle.lists)
    let first = try key(pair.first, types[association.first])
    let second = try key(pair.second, types[association.second])
    try first.withUnsafeBytes { first in
      try second.withUnsafeBytes { second in
        let maintainer = tx.writer.maintainer
        try maintainer.add(second, toList: first, in: lists.forward)
        try maintainer.add(first, toList: second, in: lists.inverse)
      }
    }
  }

  private func key<R: GraphRecord>(_ number: Int, _ type: R.Type) throws -> [UInt8] {
    var writer = KeyWriter()
    try R.id(number)._writeID(to: &writer)
    return [UInt8](writer.bytes)
  }

  // MARK: Deleting

  func delete(_ node: DeletionModel.Node, _ tx: WriteTransaction) throws -> Bool {
    func delete<R: GraphRecord>(_ type: R.Type) throws -> Bool {
      try tx.delete(type, R.id(node.id))
    }
    return try delete(types[node.collection])
  }

  /// Deletes records by a query of their ids.
  func delete(_ ids: [Int], of collection: Int, _ tx: WriteTransaction) throws -> Int {
    func delete<R: GraphRecord>(_ type: R.Type) throws -> Int {
      let ids = ids.map { R.id($0) }
      return try tx.delete(type.where { ids.contains($0.id) })
    }
    return try delete(types[collection])
  }

  func plan(_ node: DeletionModel.Node, _ tx: ReadTransaction) throws -> DeletionPlan {
    func plan<R: GraphRecord>(_ type: R.Type) throws -> DeletionPlan {
      try tx.deletionPlan(for: type, R.id(node.id))
    }
    return try plan(types[node.collection])
  }

  func plan(_ ids: [Int], of collection: Int, _ tx: ReadTransaction) throws -> DeletionPlan {
    func plan<R: GraphRecord>(_ type: R.Type) throws -> DeletionPlan {
      let ids = ids.map { R.id($0) }
      return try tx.deletionPlan(for: type.where { ids.contains($0.id) })
    }
    return try plan(types[collection])
  }

  func erase(_ collection: Int, _ tx: WriteTransaction) throws -> Int {
    func erase<R: GraphRecord>(_ type: R.Type) throws -> Int { try tx.erase(type) }
    return try erase(types[collection])
  }

  // MARK: Reading

  /// All contents of the store.
  func contents(_ tx: ReadTransaction) throws -> DeletionModel {
    var model = DeletionModel(associations)
    for (collection, type) in types.enumerated() { try read(type, collection, tx, &model) }
    for (number, place) in places.enumerated() {
      guard case .lists = place else { continue }
      let handle = try #require(tx.context.catalog.association(associations[number].key))
      let lists = try #require(handle.lists)
      let first = types[associations[number].first]
      let second = types[associations[number].second]
      let forward = try pairs(lists.forward, first, second, tx).map {
        DeletionModel.Pair(association: number, first: $0.0, second: $0.1)
      }
      let inverse = try pairs(lists.inverse, second, first, tx).map {
        DeletionModel.Pair(association: number, first: $0.1, second: $0.0)
      }
      #expect(Set(forward) == Set(inverse))
      model.pairs.formUnion(forward)
    }
    return model
  }

  private func read<R: GraphRecord>(
    _ type: R.Type, _ collection: Int, _ tx: ReadTransaction, _ model: inout DeletionModel
  ) throws {
    for record in try tx.all(type) {
      let holder = try #require(record.number)
      model.nodes.insert(.init(collection: collection, id: holder))
      for (number, place) in places.enumerated() where associations[number].first == collection {
        guard case .slot(let slot) = place else { continue }
        for id in record.ids(in: slot) {
          model.pairs.insert(.init(association: number, first: holder, second: id))
        }
      }
    }
  }

  private func pairs<Key: GraphRecord, Member: GraphRecord>(
    _ database: LMDBDatabase, _: Key.Type, _: Member.Type, _ tx: ReadTransaction
  ) throws -> [(Int, Int)] {
    try tx.writePending(for: database)
    var cursor = try LMDBCursor(database, in: try tx.context.transaction())
    var pairs: [(Int, Int)] = []
    while let entry = try cursor.next() {
      let key = Key.number(ofID: Key.ID.idKind.text(of: entry.key))
      let member = Member.number(ofID: Member.ID.idKind.text(of: entry.value))
      pairs.append((try #require(key), try #require(member)))
    }
    return pairs
  }

  /// A plan in the form of the model. Duplicate entries are found by the counts.
  func outcome(_ plan: DeletionPlan) throws -> DeletionModel.Outcome {
    var outcome = DeletionModel.Outcome()
    func node(_ collection: String?, _ id: String?) throws -> DeletionModel.Node {
      let place = try #require(names.firstIndex { $0 == collection })
      let text = try #require(id)
      let type = types[place]
      let number = type.number(ofID: text)
      return DeletionModel.Node(collection: place, id: try #require(number))
    }
    func association(_ key: String?) throws -> Int {
      try #require(associations.firstIndex { $0.key == key })
    }
    for entry in plan.deleted { outcome.deleted.insert(try node(entry.collection, entry.id)) }
    for entry in plan.nullified {
      outcome.nullified.insert(
        DeletionModel.Pair(
          association: try association(entry.association),
          first: try node(entry.collection, entry.id).id,
          second: try node(entry.otherCollection, entry.otherID).id))
    }
    for entry in plan.refused {
      outcome.refused.insert(
        DeletionModel.Refusal(
          association: try association(entry.association),
          node: try node(entry.collection, entry.id),
          survivor: try node(entry.otherCollection, entry.otherID)))
    }
    #expect(plan.deleted.count == outcome.deleted.count)
    #expect(plan.nullified.count == outcome.nullified.count)
    #expect(plan.isAllowed == outcome.refused.isEmpty)
    for (collection, type) in types.enumerated() {
      func numbers<R: GraphRecord>(_ type: R.Type) -> [Int?] {
        plan.ids(type).map { R.number(ofID: "\($0)") }
      }
      let deleted = outcome.deleted.filter { $0.collection == collection }
      #expect(Set(numbers(type)) == Set(deleted.map(\.id)))
    }
    return outcome
  }
}
