import Larch
package import Workload

struct Document: Record {
  var id: String
  var area: String
  var title: String
  var body: String
  var revision: Int

  static let schema = Schema<Document> {
    Index(\.area, \.revision)
  }
}

package final class DocumentStore: ShapeStore {
  package static var peer: String { LarchPeer.name }

  private let store: Store

  package init(path: String) throws {
    store = try Store(at: path, for: Document.self, options: LarchPeer.options)
  }

  package func close() { store.close() }
  package func scan() throws -> QueryResult { try store.scan(Document.self) }
  package func fingerprint() throws -> QueryResult { try store.scan(Document.self, .bytes) }

  package func prepare(_ step: DocumentStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let documents): return store.insert(documents.map(Document.init))
    case .insertEach(let documents): return store.insertEach(documents.map(Document.init))
    case .find(let ids): return store.find(Document.self, ids)
    case .page(let ids, let limit):
      return store.fetch(ids) { id in Document.where { $0.id > id }.limit(limit) }
    case .range(let prefixes):
      return store.fetch(prefixes) { prefix in Document.where { $0.id.hasPrefix(prefix) } }
    case .countOfPrefix(let prefixes):
      return store.each(prefixes) { tx, prefix, result in
        result.add(number: try tx.count(Document.where { $0.id.hasPrefix(prefix) }))
      }
    case .idsOfPrefix(let prefixes):
      return store.each(prefixes) { tx, prefix, result in
        for id in try tx.ids(Document.where { $0.id.hasPrefix(prefix) }) {
          var row = RowHash()
          row.add(id, .lengths)
          result.add(row)
        }
      }
    case .countsByArea:
      return store.each([()]) { tx, _, result in
        for group in try tx.counts(by: \Document.area) {
          result.add(group: group.value, count: group.count)
        }
      }
    case .sum(let areas):
      return store.each(areas) { tx, area, result in
        result.add(number: try tx.sum(\.revision, of: Document.where { $0.area == area }))
      }
    case .update(let changes):
      return store.update(Document.self, changes.map { ($0.id, $0.body) }) { $0.body = $1 }
    case .delete(let ids): return store.delete(Document.self, ids)
    }
  }
}

extension Document {
  init(_ document: WorkloadDocument) {
    id = document.id
    area = document.area
    title = document.title
    body = document.body
    revision = document.revision
  }
}

extension Document: HashedRow {
  @inline(__always)
  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id, depth)
    row.add(area, depth)
    row.add(title, depth)
    row.add(body, depth)
    row.add(revision)
    result.add(row)
  }
}
