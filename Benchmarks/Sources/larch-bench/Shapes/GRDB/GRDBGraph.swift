#if BENCH_GRDB
  import GRDB
  import Workload

  private struct Place: Codable, GRDBRecord {
    static let databaseTableName = "place"

    var id: Int64?
    var name: String
    var parent: Int64?

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }

    init(_ place: WorkloadPlace) { (name, parent) = (place.name, place.parent) }

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      var row = RowHash()
      row.add(id ?? 0)
      row.add(name, depth)
      if let parent { row.add(parent) } else { row.addNil() }
      result.add(row)
    }
  }

  private struct MemberLink: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "membership"
    static let persistenceConflictPolicy = PersistenceConflictPolicy(insert: .ignore)

    var member: Int64
    var circle: Int64
  }

  private struct Circle: Codable, FetchableRecord, PersistableRecord, HashedRow {
    static let databaseTableName = "circle"
    static let links = hasMany(MemberLink.self, using: ForeignKey(["circle"]))

    var id: Int64
    var name: String

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      var row = RowHash()
      row.add(id)
      row.add(name, depth)
      result.add(row)
    }
  }

  final class GRDBGraph: GRDBShape {
    let queue: DatabaseQueue

    init(path: String) throws {
      queue = try DatabaseQueue(benchmark: path, SQLiteGraph.schema)
    }

    func scan() throws -> QueryResult { try queue.scan(Place.self) }

    func fingerprint() throws -> QueryResult {
      var result = try queue.scan(Place.self, .bytes)
      try queue.read { db in
        for link in try MemberLink.fetchAll(db) {
          result.add(link: link.member, link.circle)
          result.add(link: link.circle, link.member)
        }
      }
      return result
    }

    func prepare(_ step: GraphStep) throws -> () throws -> QueryResult {
      switch step {
      case .insert(let places):
        return queue.change(places.map(Place.init)) { db, place in _ = try place.inserted(db) }
      case .insertEach(let places):
        return queue.change(places.map(Place.init), each: true) { db, place in
          _ = try place.inserted(db)
        }
      case .insertSchool(let members, let groups): return school(members, groups)
      case .find(let ids): return queue.find(Place.self, ids)
      case .children(let ids):
        return queue.fetch(ids) { Place.filter(Column("parent") == $0) }
      case .countOfChildren(let ids):
        return queue.each(ids) { db, id, result in
          result.add(number: try Place.filter(Column("parent") == id).fetchCount(db))
        }
      case .path(let ids): return recursive("place.id = found.parent", ids)
      case .branch(let ids): return recursive("place.parent = found.id", ids)
      case .link(let links):
        return queue.change(links) { db, link in
          try MemberLink(member: link.member, circle: link.group).insert(db)
        }
      case .linkEach(let links):
        return queue.change(links, each: true) { db, link in
          try MemberLink(member: link.member, circle: link.group).insert(db)
        }
      case .unlink(let links):
        return queue.change(links) { db, link in
          try MemberLink.deleteOne(db, key: ["member": link.member, "circle": link.group])
        }
      case .groups(let members):
        return queue.fetch(members) { member in
          Circle.joining(required: Circle.links.filter(Column("member") == member))
        }
      case .countOfMembers(let groups):
        return queue.each(groups) { db, group, result in
          result.add(number: try MemberLink.filter(Column("circle") == group).fetchCount(db))
        }
      case .update(let moves):
        return queue.update(Place.self, moves.map { ($0.id, $0.parent) }) { $0.parent = $1 }
      case .delete(let ids): return queue.delete(Place.self, ids)
      }
    }

    private func school(_ members: Int, _ groups: Int) -> () throws -> QueryResult {
      { [queue] in
        try queue.write { db in
          for number in 1...members {
            try db.execute(
              sql: "INSERT INTO member (name) VALUES (?)", arguments: ["Member \(number)"])
          }
          for number in 1...groups {
            try Circle(id: Int64(number), name: "Group \(number)").insert(db)
          }
        }
        return QueryResult()
      }
    }

    private func recursive(_ join: String, _ ids: [Int64]) -> () throws -> QueryResult {
      let sql =
        "WITH RECURSIVE found AS (SELECT id, name, parent FROM place WHERE id = ?"
        + " UNION ALL SELECT place.id, place.name, place.parent FROM found JOIN place ON \(join))"
        + " SELECT id, name, parent FROM found"
      return queue.each(ids) { db, id, result in
        for place in try Place.fetchAll(db, sql: sql, arguments: [id]) {
          place.add(to: &result, .lengths)
        }
      }
    }
  }
#endif
