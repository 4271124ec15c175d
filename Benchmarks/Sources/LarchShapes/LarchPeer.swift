import Larch
package import Workload

/// Larch with records of every shape, as its users write them.
///
/// These files are compiled twice: here, and through the link `LarchShapesMemberwise` as a module of
/// its own, in which every record is `MemberwiseCoded`. So both columns run the same lines. A third time,
/// through `LarchShapesLogged`, also the commits are logged.
package enum LarchPeer {
  #if LOGGED
    package static let name = "larch-log"
  #elseif MEMBERWISE
    package static let name = "larch-m"
  #else
    package static let name = "larch"
  #endif

  static var options: Store.Options {
    var options = Store.Options()
    #if LOGGED
      options.durability = .logged
    #endif
    return options
  }

  package static var events: any StoreEngine.Type { EventStore.self }
  package static var orders: any StoreEngine.Type { OrderStore.self }
  package static var documents: any StoreEngine.Type { DocumentStore.self }
  package static var wide: any StoreEngine.Type { WideStore.self }
  package static var scores: any StoreEngine.Type { ScoreStore.self }
  package static var tags: any StoreEngine.Type { TagStore.self }
  package static var graph: any StoreEngine.Type { GraphStore.self }
  package static var readings: any StoreEngine.Type { ReadingStore.self }
}

#if MEMBERWISE
  extension Event: MemberwiseCoded {}
  extension Order: MemberwiseCoded {}
  extension Order.Address: MemberwiseCoded {}
  extension Order.Line: MemberwiseCoded {}
  extension Document: MemberwiseCoded {}
  extension Wide: MemberwiseCoded {}
  extension Score: MemberwiseCoded {}
  extension Item: MemberwiseCoded {}
  extension Place: MemberwiseCoded {}
  extension Member: MemberwiseCoded {}
  extension Circle: MemberwiseCoded {}
  extension Reading: MemberwiseCoded {}
#endif

/// A step, with its values in the form that Larch takes.
typealias Run = () throws -> QueryResult

/// What all shapes do alike. Inlined into the stores, whose records are concrete as a user's are.
extension Store {
  @inline(__always)
  func insert<R: Record>(_ records: [R]) -> Run {
    var records = records
    return {
      try self.write { tx in
        for index in records.indices { try tx.insert(&records[index]) }
      }
      return QueryResult(rows: UInt64(records.count), checksum: 0)
    }
  }

  @inline(__always)
  func insertEach<R: Record>(_ records: [R]) -> Run {
    var records = records
    return {
      for index in records.indices {
        try self.write { tx in try tx.insert(&records[index]) }
      }
      return QueryResult(rows: UInt64(records.count), checksum: 0)
    }
  }

  @inline(__always)
  func find<R: Record & HashedRow>(_ type: R.Type, _ ids: [R.ID]) -> Run {
    {
      try self.read { tx in
        var result = QueryResult()
        for id in ids {
          guard let record = try tx.find(type, id) else { throw missing(type, id) }
          record.add(to: &result, .lengths)
        }
        return result
      }
    }
  }

  /// A query for each of the values, all in one read; the queries are made in it, as a user would.
  @inline(__always)
  func fetch<R: Record & HashedRow, Value>(
    _ values: [Value], _ query: @escaping (Value) -> Query<R>
  ) -> Run {
    {
      try self.read { tx in
        var result = QueryResult()
        for value in values {
          for record in try tx.fetch(query(value)) { record.add(to: &result, .lengths) }
        }
        return result
      }
    }
  }

  /// A read for all of the values, with a call for each.
  @inline(__always)
  func each<Value>(
    _ values: [Value],
    _ body: @escaping (ReadTransaction, Value, inout QueryResult) throws -> Void
  ) -> Run {
    {
      try self.read { tx in
        var result = QueryResult()
        for value in values { try body(tx, value, &result) }
        return result
      }
    }
  }

  /// Each record fetched, changed and stored, in one transaction.
  @inline(__always)
  func update<R: Record, Value>(
    _ type: R.Type, _ changes: [(R.ID, Value)],
    _ change: @escaping (inout R, Value) -> Void
  ) -> Run {
    {
      try self.write { tx in
        for (id, value) in changes {
          guard var record = try tx.find(type, id) else { throw missing(type, id) }
          change(&record, value)
          try tx.update(record)
        }
      }
      return QueryResult(rows: UInt64(changes.count), checksum: 0)
    }
  }

  @inline(__always)
  func delete<R: Record>(_ type: R.Type, _ ids: [R.ID]) -> Run {
    {
      var deleted: UInt64 = 0
      try self.write { tx in
        deleted = 0
        for id in ids where try tx.delete(type, id) { deleted += 1 }
      }
      return QueryResult(rows: deleted, checksum: 0)
    }
  }

  @inline(__always)
  func scan<R: Record & HashedRow>(
    _ type: R.Type, _ depth: HashDepth = .lengths
  ) throws -> QueryResult {
    try read { tx in
      var result = QueryResult()
      for record in try tx.all(type) { record.add(to: &result, depth) }
      return result
    }
  }
}

func missing<R: Record>(_ type: R.Type, _ id: R.ID) -> BenchmarkError {
  BenchmarkError("\(type) \(id) is not in the store")
}
