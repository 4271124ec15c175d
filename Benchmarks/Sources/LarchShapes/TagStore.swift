import Larch
package import Workload

struct Item: Record {
  var id = RecordID<Item>()
  var title: String
  var tags: [String]

  static let schema = Schema<Item> {
    Index(\.tags)
  }
}

package final class TagStore: ShapeStore {
  package static var peer: String { LarchPeer.name }

  private let store: Store

  package init(path: String) throws {
    store = try Store(at: path, for: Item.self, options: LarchPeer.options)
  }

  package func close() { store.close() }
  package func scan() throws -> QueryResult { try store.scan(Item.self) }
  package func fingerprint() throws -> QueryResult { try store.scan(Item.self, .bytes) }

  package func prepare(_ step: TagStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let items): return store.insert(items.map(Item.init))
    case .insertEach(let items): return store.insertEach(items.map(Item.init))
    case .find(let ids): return store.find(Item.self, ids.map { RecordID($0) })
    case .page(let tags, let limit):
      return store.fetch(tags) { tag in Item.where { $0.tags.contains(tag) }.limit(limit) }
    case .count(let tags):
      return store.each(tags) { tx, tag, result in
        result.add(number: try tx.count(Item.where { $0.tags.contains(tag) }))
      }
    case .countOfAny(let pairs):
      return store.each(pairs) { tx, pair, result in
        result.add(number: try tx.count(Item.where { $0.tags.containsAny(of: pair) }))
      }
    case .withBoth(let pairs):
      return store.fetch(pairs) { pair in Item.where { $0.tags.containsAll(of: pair) } }
    case .update(let changes):
      let changes = changes.map { (RecordID<Item>($0.id), $0) }
      return store.update(Item.self, changes) { $0.tags[$1.position] = $1.new }
    case .delete(let ids): return store.delete(Item.self, ids.map { RecordID($0) })
    }
  }
}

extension Item {
  init(_ item: WorkloadItem) {
    title = item.title
    tags = item.tags
  }
}

extension Item: HashedRow {
  @inline(__always)
  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id.rawValue)
    row.add(title, depth)
    result.add(row)
    for (position, tag) in tags.enumerated() {
      var row = RowHash()
      row.add(id.rawValue)
      row.add(position)
      row.add(tag, depth)
      result.add(row)
    }
  }
}
