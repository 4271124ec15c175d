#if BENCH_GRDB
  import Foundation
  import GRDB
  import Workload

  /// The peers of GRDB, with the tables of the peer in C and `Codable` records, as its manual advises.
  enum GRDBPeer {
    static func store(_ shape: String) -> (any StoreEngine.Type)? {
      let stores: [String: any StoreEngine.Type] = [
        "events": GRDBEvents.self, "orders": GRDBOrders.self, "documents": GRDBDocuments.self,
        "wide": GRDBWide.self, "scores": GRDBScores.self, "tags": GRDBTags.self,
        "graph": GRDBGraph.self, "readings": GRDBReadings.self,
      ]
      return stores[shape]
    }
  }

  /// What every shape in GRDB has.
  protocol GRDBShape: ShapeStore {
    var queue: DatabaseQueue { get }
  }

  typealias GRDBRecord = FetchableRecord & HashedRow & MutablePersistableRecord

  extension GRDBShape {
    static var peer: String { "grdb" }

    func close() { try? queue.close() }

    func settle() throws {
      _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }
  }

  /// What all shapes do alike.
  extension DatabaseQueue {
    convenience init(benchmark path: String, _ schema: String) throws {
      var configuration = Configuration()
      configuration.prepareDatabase { db in
        try db.execute(
          sql: """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;
            PRAGMA mmap_size = 1073741824; PRAGMA temp_store = MEMORY;
            """)
      }
      try self.init(path: path, configuration: configuration)
      try write { try $0.execute(sql: schema) }
    }

    /// Everything in one transaction, or each item in one.
    func change<Item>(
      _ items: [Item], each: Bool = false, _ body: @escaping (Database, Item) throws -> Void
    ) -> () throws -> QueryResult {
      {
        if each {
          for item in items { try self.write { try body($0, item) } }
        } else {
          try self.write { db in for item in items { try body(db, item) } }
        }
        return QueryResult(rows: UInt64(items.count), checksum: 0)
      }
    }

    /// One read, with a query for each of the values.
    func each<Value>(
      _ values: [Value],
      _ body: @escaping (Database, Value, inout QueryResult) throws -> Void
    ) -> () throws -> QueryResult {
      {
        try self.read { db in
          var result = QueryResult()
          for value in values { try body(db, value, &result) }
          return result
        }
      }
    }

    func fetch<R: FetchableRecord & HashedRow, Value>(
      _ values: [Value], _ request: @escaping (Value) -> QueryInterfaceRequest<R>
    ) -> () throws -> QueryResult {
      each(values) { db, value, result in
        for record in try request(value).fetchAll(db) { record.add(to: &result, .lengths) }
      }
    }

    func find<R: GRDBRecord, Key: DatabaseValueConvertible>(
      _ type: R.Type, _ keys: [Key]
    ) -> () throws -> QueryResult {
      each(keys) { db, key, result in
        try R.find(db, key: key).add(to: &result, .lengths)
      }
    }

    func update<R: GRDBRecord, Key: DatabaseValueConvertible, Value>(
      _ type: R.Type, _ changes: [(Key, Value)], _ change: @escaping (inout R, Value) -> Void
    ) -> () throws -> QueryResult {
      self.change(changes) { db, item in
        var record = try R.find(db, key: item.0)
        try record.updateChanges(db) { change(&$0, item.1) }
      }
    }

    func delete<R: GRDBRecord, Key: DatabaseValueConvertible>(
      _ type: R.Type, _ keys: [Key]
    ) -> () throws -> QueryResult {
      change(keys) { db, key in try R.deleteOne(db, key: key) }
    }

    /// Groups with the number of their records.
    func groups(_ sql: String) -> () throws -> QueryResult {
      each([()]) { db, _, result in
        let rows = try Row.fetchCursor(db, sql: sql)
        while let row = try rows.next() {
          let value: DatabaseValue = row[0]
          if case .int64(let group) = value.storage {
            result.add(group: Int(group), count: row[1])
          } else {
            result.add(group: row[0] as String, count: row[1])
          }
        }
      }
    }

    func scan<R: FetchableRecord & TableRecord & HashedRow>(
      _ type: R.Type, _ depth: HashDepth = .lengths
    ) throws -> QueryResult {
      try read { db in
        var result = QueryResult()
        let records = try R.fetchCursor(db)
        while let record = try records.next() { record.add(to: &result, depth) }
        return result
      }
    }
  }
#endif
