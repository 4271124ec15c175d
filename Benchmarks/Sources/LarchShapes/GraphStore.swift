import Larch
package import Workload

struct Place: Record {
  var id = RecordID<Place>()
  var name: String
  var parentID: Place.ID?

  static let places = HasMany<Place, Place>(\.parentID)
  static let schema = Schema<Place> { places }
}

struct Member: Record {
  var id = RecordID<Member>()
  var name: String

  static let circles = ManyToMany<Member, Circle>(named: "membership")
  static let schema = Schema<Member> { circles }
}

struct Circle: Record {
  var id = RecordID<Circle>()
  var name: String

  static let members = ManyToMany<Circle, Member>(named: "membership")
  static let schema = Schema<Circle> { members }
}

package final class GraphStore: ShapeStore {
  package static var peer: String { LarchPeer.name }

  private let store: Store

  package init(path: String) throws {
    store = try Store(
      at: path, for: Place.self, Member.self, Circle.self, options: LarchPeer.options)
  }

  package func close() { store.close() }
  package func scan() throws -> QueryResult { try store.scan(Place.self) }

  package func fingerprint() throws -> QueryResult {
    var result = try store.scan(Place.self, .bytes)
    try store.read { tx in
      for member in try tx.all(Member.self) {
        for circle in try tx.ids(member.related(Member.circles)) {
          result.add(link: member.id.rawValue, circle.rawValue)
        }
      }
      for circle in try tx.all(Circle.self) {
        for member in try tx.ids(circle.related(Circle.members)) {
          result.add(link: circle.id.rawValue, member.rawValue)
        }
      }
    }
    return result
  }

  package func prepare(_ step: GraphStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let places): return store.insert(places.map(Place.init))
    case .insertEach(let places): return store.insertEach(places.map(Place.init))
    case .insertSchool(let members, let groups): return school(members, groups)
    case .find(let ids): return store.find(Place.self, ids.map { RecordID($0) })
    case .children(let ids):
      return store.fetch(ids.map { Place.ID($0) }) { id in Place.where { $0.parentID == id } }
    case .countOfChildren(let ids):
      return store.each(ids.map { Place.ID($0) }) { tx, id, result in
        result.add(number: try tx.count(Place.where { $0.parentID == id }))
      }
    case .path(let ids): return path(ids.map { RecordID($0) })
    case .branch(let ids): return branch(ids.map { RecordID($0) })
    case .update(let moves):
      let changes = moves.map { (Place.ID($0.id), Place.ID($0.parent)) }
      return store.update(Place.self, changes) { $0.parentID = $1 }
    case .delete(let ids): return store.delete(Place.self, ids.map { RecordID($0) })
    case .link(let links):
      let links = links.map { (member($0.member), Circle.ID($0.group)) }
      return { [store] in
        try store.write { tx in
          for (member, circle) in links {
            try tx.add(circle, to: member.related(Member.circles))
          }
        }
        return QueryResult(rows: UInt64(links.count), checksum: 0)
      }
    case .linkEach(let links):
      let links = links.map { (member($0.member), Circle.ID($0.group)) }
      return { [store] in
        for (member, circle) in links {
          try store.write { tx in try tx.add(circle, to: member.related(Member.circles)) }
        }
        return QueryResult(rows: UInt64(links.count), checksum: 0)
      }
    case .unlink(let links):
      let links = links.map { (member($0.member), Circle.ID($0.group)) }
      return { [store] in
        try store.write { tx in
          for (member, circle) in links {
            try tx.remove(circle, from: member.related(Member.circles))
          }
        }
        return QueryResult(rows: UInt64(links.count), checksum: 0)
      }
    case .groups(let members):
      return store.each(members.map(member)) { tx, member, result in
        for circle in try tx.fetch(member.related(Member.circles)) {
          var row = RowHash()
          row.add(circle.id.rawValue)
          row.add(circle.name, .lengths)
          result.add(row)
        }
      }
    case .countOfMembers(let groups):
      let circles = groups.map { Circle(id: RecordID($0), name: "") }
      return store.each(circles) { tx, circle, result in
        result.add(number: try tx.count(circle.related(Circle.members)))
      }
    }
  }

  /// A member as one that is at hand; only its id matters.
  private func member(_ id: Int64) -> Member { Member(id: RecordID(id), name: "") }

  private func school(_ members: Int, _ groups: Int) -> Run {
    { [store] in
      try store.write { tx in
        for number in 1...members {
          var member = Member(name: "Member \(number)")
          try tx.insert(&member)
        }
        for number in 1...groups {
          var circle = Circle(name: "Group \(number)")
          try tx.insert(&circle)
        }
      }
      return QueryResult()
    }
  }

  private func path(_ ids: [Place.ID]) -> Run {
    store.each(ids) { tx, id, result in
      var next: Place.ID? = id
      while let id = next {
        guard let place = try tx.find(Place.self, id) else { throw missing(Place.self, id) }
        place.add(to: &result, .lengths)
        next = place.parentID
      }
    }
  }

  /// Level by level.
  private func branch(_ ids: [Place.ID]) -> Run {
    store.each(ids) { tx, id, result in
      guard let top = try tx.find(Place.self, id) else { throw missing(Place.self, id) }
      top.add(to: &result, .lengths)
      var level = [id]
      while !level.isEmpty {
        let places = try tx.fetch(Place.where { level.contains($0.parentID) })
        for place in places { place.add(to: &result, .lengths) }
        level = places.map(\.id)
      }
    }
  }
}

extension Place {
  init(_ place: WorkloadPlace) {
    name = place.name
    parentID = place.parent.map { RecordID($0) }
  }
}

extension Place: HashedRow {
  @inline(__always)
  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id.rawValue)
    row.add(name, depth)
    if let parentID { row.add(parentID.rawValue) } else { row.addNil() }
    result.add(row)
  }
}
