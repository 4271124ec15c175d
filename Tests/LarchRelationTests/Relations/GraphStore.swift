import Testing

@testable import Larch

/// A record whose references the tests can set and read by their places.
protocol GraphRecord: Record where ID == Int {
  init(id: Int)
  /// The ids that one of its properties holds.
  func ids(in slot: Int) -> [Int]
  mutating func set(_ ids: [Int], in slot: Int)
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
      default: try Store.temporary(for: types[0], types[1], types[2])
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
      var record = R(id: node.id)
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

  func link(_ pair: DeletionModel.Pair, isRemoved: Bool = false, _ tx: WriteTransaction) throws {
    let key = associations[pair.association].key
    let handle = try #require(tx.context.catalog.association(key))
    let lists = try #require(handle.lists)
    try withKeys(pair) { first, second in
      let maintainer = tx.writer.maintainer
      if isRemoved {
        try maintainer.remove(second, fromList: first, in: lists.forward)
        try maintainer.remove(first, fromList: second, in: lists.inverse)
      } else {
        try maintainer.add(second, toList: first, in: lists.forward)
        try maintainer.add(first, toList: second, in: lists.inverse)
      }
    }
  }

  private func withKeys(
    _ pair: DeletionModel.Pair,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    func key(_ id: Int) -> [UInt8] {
      var writer = KeyWriter()
      writer.append(int64: Int64(id))
      return [UInt8](writer.bytes)
    }
    try key(pair.first).withUnsafeBytes { first in
      try key(pair.second).withUnsafeBytes { try body(first, $0) }
    }
  }

  // MARK: Deleting

  func delete(_ node: DeletionModel.Node, _ tx: WriteTransaction) throws -> Bool {
    func delete<R: GraphRecord>(_ type: R.Type) throws -> Bool { try tx.delete(type, node.id) }
    return try delete(types[node.collection])
  }

  /// Deletes records by a query of their ids.
  func delete(_ ids: [Int], of collection: Int, _ tx: WriteTransaction) throws -> Int {
    func delete<R: GraphRecord>(_ type: R.Type) throws -> Int {
      try tx.delete(type.where { $0.id.isIn(ids) })
    }
    return try delete(types[collection])
  }

  func plan(_ node: DeletionModel.Node, _ tx: ReadTransaction) throws -> DeletionPlan {
    func plan<R: GraphRecord>(_ type: R.Type) throws -> DeletionPlan {
      try tx.deletionPlan(for: type, node.id)
    }
    return try plan(types[node.collection])
  }

  func plan(_ ids: [Int], of collection: Int, _ tx: ReadTransaction) throws -> DeletionPlan {
    func plan<R: GraphRecord>(_ type: R.Type) throws -> DeletionPlan {
      try tx.deletionPlan(for: type.where { $0.id.isIn(ids) })
    }
    return try plan(types[collection])
  }

  // MARK: Reading

  /// Everything that the store holds.
  func contents(_ tx: ReadTransaction) throws -> DeletionModel {
    var model = DeletionModel(associations)
    for (collection, type) in types.enumerated() { try read(type, collection, tx, &model) }
    for (number, place) in places.enumerated() {
      guard case .lists = place else { continue }
      let handle = try #require(tx.context.catalog.association(associations[number].key))
      let lists = try #require(handle.lists)
      let forward = try pairs(lists.forward, tx).map {
        DeletionModel.Pair(association: number, first: $0.0, second: $0.1)
      }
      let inverse = try pairs(lists.inverse, tx).map {
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
      model.nodes.insert(.init(collection: collection, id: record.id))
      for (number, place) in places.enumerated() where associations[number].first == collection {
        guard case .slot(let slot) = place else { continue }
        for id in record.ids(in: slot) {
          model.pairs.insert(.init(association: number, first: record.id, second: id))
        }
      }
    }
  }

  private func pairs(
    _ database: LMDBDatabase, _ tx: ReadTransaction
  ) throws -> [(Int, Int)] {
    try tx.writeGathered(for: database)
    var cursor = try LMDBCursor(database, in: try tx.context.transaction())
    var pairs: [(Int, Int)] = []
    while let entry = try cursor.next() {
      pairs.append(
        (Int(WriteContext.number(of: entry.key)), Int(WriteContext.number(of: entry.value))))
    }
    return pairs
  }

  /// What a plan says, as the model says it. Entries that come twice are found by the counts.
  func outcome(_ plan: DeletionPlan) throws -> DeletionModel.Outcome {
    var outcome = DeletionModel.Outcome()
    func node(_ collection: String, _ id: String) throws -> DeletionModel.Node {
      DeletionModel.Node(
        collection: try #require(names.firstIndex(of: collection)), id: try #require(Int(id)))
    }
    func association(_ key: String?) throws -> Int {
      try #require(associations.firstIndex { $0.key == key })
    }
    for entry in plan.deleted { outcome.deleted.insert(try node(entry.collection, entry.id)) }
    for entry in plan.nullified {
      outcome.nullified.insert(
        DeletionModel.Pair(
          association: try association(entry.association), first: try #require(Int(entry.id)),
          second: try #require(entry.otherID.flatMap { Int($0) })))
    }
    for entry in plan.refused {
      outcome.refused.insert(
        DeletionModel.Refusal(
          association: try association(entry.association),
          node: try node(entry.collection, entry.id),
          survivor: try node(try #require(entry.otherCollection), try #require(entry.otherID))))
    }
    #expect(plan.deleted.count == outcome.deleted.count)
    #expect(plan.nullified.count == outcome.nullified.count)
    #expect(plan.isAllowed == outcome.refused.isEmpty)
    for (collection, type) in types.enumerated() {
      func ids<R: GraphRecord>(_ type: R.Type) -> [Int] { plan.ids(type) }
      #expect(
        ids(type)
          == outcome.deleted.filter { $0.collection == collection }.map(\.id).sorted())
    }
    return outcome
  }
}
