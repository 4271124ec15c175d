#if BENCH_GRDB
  import GRDB
  import Workload

  private struct Document: Codable, GRDBRecord {
    static let databaseTableName = "document"

    var id: String
    var area: String
    var title: String
    var body: String
    var revision: Int

    init(_ document: WorkloadDocument) {
      (id, area, title) = (document.id, document.area, document.title)
      (body, revision) = (document.body, document.revision)
    }

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      var row = RowHash()
      row.add(id, depth)
      row.add(area, depth)
      row.add(title, depth)
      row.add(body, depth)
      row.add(revision)
      result.add(row)
    }
  }

  final class GRDBDocuments: GRDBShape {
    let queue: DatabaseQueue

    init(path: String) throws {
      queue = try DatabaseQueue(benchmark: path, SQLiteDocuments.schema)
    }

    func scan() throws -> QueryResult { try queue.scan(Document.self) }
    func fingerprint() throws -> QueryResult { try queue.scan(Document.self, .bytes) }

    func prepare(_ step: DocumentStep) throws -> () throws -> QueryResult {
      let id = Column("id")
      switch step {
      case .insert(let documents):
        return queue.change(documents.map(Document.init)) { db, document in
          _ = try document.inserted(db)
        }
      case .insertEach(let documents):
        return queue.change(documents.map(Document.init), each: true) { db, document in
          _ = try document.inserted(db)
        }
      case .find(let ids): return queue.find(Document.self, ids)
      case .page(let ids, let limit):
        return queue.fetch(ids) { Document.filter(id > $0).order(id).limit(limit) }
      case .range(let prefixes): return queue.fetch(prefixes) { Self.with($0) }
      case .countOfPrefix(let prefixes):
        return queue.each(prefixes) { db, prefix, result in
          result.add(number: try Self.with(prefix).fetchCount(db))
        }
      case .idsOfPrefix(let prefixes):
        return queue.each(prefixes) { db, prefix, result in
          for id in try Self.with(prefix).select(id, as: String.self).fetchAll(db) {
            var row = RowHash()
            row.add(id, .lengths)
            result.add(row)
          }
        }
      case .countsByArea:
        return queue.groups("SELECT area, count(*) FROM document GROUP BY area")
      case .sum(let areas):
        return queue.each(areas) { db, area, result in
          let sum = Document.filter(Column("area") == area)
            .select(sum(Column("revision")), as: Int.self)
          result.add(number: try sum.fetchOne(db) ?? 0)
        }
      case .update(let changes):
        return queue.update(Document.self, changes.map { ($0.id, $0.body) }) { $0.body = $1 }
      case .delete(let ids): return queue.delete(Document.self, ids)
      }
    }

    /// A prefix as a range; all end with a slash, which "0" follows.
    private static func with(_ prefix: String) -> QueryInterfaceRequest<Document> {
      Document.filter(Column("id") >= prefix && Column("id") < String(prefix.dropLast()) + "0")
    }
  }
#endif
