#if BENCH_GRDB
  import GRDB
  import Workload

  private struct Tag: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "tag"

    var item: Int64
    var position: Int
    var tag: String
  }

  private struct Item: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "item"
    static let tags = hasMany(Tag.self, using: ForeignKey(["item"]))

    var id: Int64?
    var title: String

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
  }

  /// An item with its tags, fetched with two statements for any number of items.
  private struct FullItem: Decodable, FetchableRecord, HashedRow {
    var item: Item
    var tags: [Tag]

    static func request(_ items: QueryInterfaceRequest<Item>) -> QueryInterfaceRequest<FullItem> {
      items.including(all: Item.tags.order(Column("position")).forKey("tags"))
        .asRequest(of: FullItem.self)
    }

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      let id = item.id ?? 0
      var row = RowHash()
      row.add(id)
      row.add(item.title, depth)
      result.add(row)
      for tag in tags {
        var row = RowHash()
        row.add(id)
        row.add(tag.position)
        row.add(tag.tag, depth)
        result.add(row)
      }
    }
  }

  final class GRDBTags: GRDBShape {
    let queue: DatabaseQueue

    init(path: String) throws {
      queue = try DatabaseQueue(benchmark: path, SQLiteTags.schema)
    }

    func scan() throws -> QueryResult { try all(.lengths) }
    func fingerprint() throws -> QueryResult { try all(.bytes) }

    private func all(_ depth: HashDepth) throws -> QueryResult {
      try queue.read { db in
        var result = QueryResult()
        for item in try FullItem.request(Item.all()).fetchAll(db) { item.add(to: &result, depth) }
        return result
      }
    }

    func prepare(_ step: TagStep) throws -> () throws -> QueryResult {
      let (id, tag) = (Column("id"), Column("tag"))
      switch step {
      case .insert(let items): return insert(items, each: false)
      case .insertEach(let items): return insert(items, each: true)
      case .find(let ids): return fetch(ids) { Item.filter(key: $0) }
      case .page(let tags, let limit):
        return fetch(tags) { name in
          let items = Tag.filter(tag == name).select(Column("item"))
          return Item.filter(items.contains(id)).order(id).limit(limit)
        }
      case .withBoth(let pairs):
        return fetch(pairs) { pair in
          pair.reduce(Item.all()) { items, name in
            items.filter(Tag.filter(tag == name).select(Column("item")).contains(id))
          }
        }
      case .count(let tags):
        return queue.each(tags) { db, name, result in
          result.add(number: try Tag.filter(tag == name).fetchCount(db))
        }
      case .countOfAny(let pairs):
        return queue.each(pairs) { db, pair, result in
          let items = Tag.filter(pair.contains(tag)).select(count(distinct: Column("item")))
          result.add(number: try Int.fetchOne(db, items) ?? 0)
        }
      case .update(let changes):
        return queue.change(changes) { db, change in
          guard let full = try FullItem.request(Item.filter(key: change.id)).fetchOne(db) else {
            throw BenchmarkError("grdb: no item \(change.id)")
          }
          var tag = full.tags[change.position]
          tag.tag = change.new
          try tag.update(db)
        }
      case .delete(let ids):
        return queue.change(ids) { db, id in
          try Tag.filter(Column("item") == id).deleteAll(db)
          try Item.deleteOne(db, key: id)
        }
      }
    }

    private func fetch<Value>(
      _ values: [Value], _ items: @escaping (Value) -> QueryInterfaceRequest<Item>
    ) -> () throws -> QueryResult {
      queue.fetch(values) { FullItem.request(items($0)) }
    }

    private func insert(_ items: [WorkloadItem], each: Bool) -> () throws -> QueryResult {
      let rows = items.map { item in
        (
          Item(title: item.title),
          item.tags.enumerated().map { Tag(item: item.id, position: $0, tag: $1) }
        )
      }
      return queue.change(rows, each: each) { db, row in
        _ = try row.0.inserted(db)
        for tag in row.1 { try tag.insert(db) }
      }
    }
  }
#endif
