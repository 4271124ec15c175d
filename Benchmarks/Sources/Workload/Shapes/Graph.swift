/// A tree of places, and members of groups: many to many.
package struct Graph: Shape {
  package static let number: UInt64 = 7

  /// Places.
  package let count: Int
  package let members: Int
  package let groups: Int
  package let links: Int

  package init(size: Int) {
    count = max(1, size / 2)
    members = max(1, size / 10)
    groups = max(1, size / 100)
    links = max(1, size / 2)
  }

  /// A place, whose parent is one before it: a place is some eleven levels deep.
  package func record(_ index: Int) -> WorkloadPlace {
    var stream = RandomStream(shape: Self.number, record: index)
    let name = stream.pick(Vocabulary.cities)
    let parent = index == 1 ? nil : Int64(1 + stream.below(index - 1))
    return WorkloadPlace(id: Int64(index), name: name, parent: parent)
  }

  package func memberships(_ number: Int, _ operation: UInt64) -> [Membership] {
    var stream = stream(operation)
    return (0..<number).map { _ in
      Membership(member: 1 + Int64(stream.below(members)), group: 1 + Int64(stream.below(groups)))
    }
  }

  /// Every link once.
  package var allLinks: [Membership] {
    var seen: Set<Membership> = []
    return memberships(links, 1).filter { seen.insert($0).inserted }
  }

  package func members(_ number: Int, _ operation: UInt64) -> [Int64] {
    memberships(number, operation).map(\.member)
  }

  package func groups(_ number: Int, _ operation: UInt64) -> [Int64] {
    memberships(number, operation).map(\.group)
  }

  /// Links that are not loaded, the first of which is number `first` of them.
  package func newLinks(_ number: Int, from first: Int) -> [Membership] {
    var seen = Set(allLinks)
    let new = memberships(10 * (first + number), 9).filter { seen.insert($0).inserted }
    return Array(new.dropFirst(first - 1).prefix(number))
  }

  package func places(_ number: Int, _ operation: UInt64) -> [Int64] {
    indexes(number, operation).map(Int64.init)
  }

  /// Places with a few hundred others below them, each with those above it.
  package func branches(_ number: Int, _ operation: UInt64) -> [Int64] {
    var stream = stream(operation)
    let first = max(1, min(count / 2, 100))
    return (0..<number).map { _ in Int64(first + stream.below(max(1, min(first, count - first)))) }
  }

  /// Places that nothing is below, each to be moved below one near the top.
  package func moves(_ number: Int, _ operation: UInt64) -> [(id: Int64, parent: Int64)] {
    var stream = stream(operation + 1)
    return leaves(number, operation).map { ($0, 1 + Int64(stream.below(max(1, count / 50)))) }
  }

  /// Places that nothing is below.
  package func leaves(_ number: Int, _ operation: UInt64) -> [Int64] {
    let parents = Set(all.compactMap(\.parent))
    let leaves = (1...Int64(count)).filter { !parents.contains($0) }
    var stream = stream(operation)
    let chosen = stream.distinct(min(number, leaves.count / 3), upTo: leaves.count)
    return chosen.map { leaves[Int($0) - 1] }
  }
}

package struct WorkloadPlace: HashedRow, Equatable, Sendable {
  package var id: Int64
  package var name: String
  package var parent: Int64?

  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    row.add(name, depth)
    if let parent { row.add(parent) } else { row.addNil() }
    result.add(row)
  }
}

/// A member and a group that the member belongs to.
package struct Membership: Hashable, Sendable {
  package var member: Int64
  package var group: Int64
}

package enum GraphStep {
  case insert([WorkloadPlace])
  case insertEach([WorkloadPlace])
  /// Members and groups with the ids 1 and up, and names made of them; untimed.
  case insertSchool(members: Int, groups: Int)
  case find([Int64])
  /// The places directly below each.
  case children([Int64])
  case countOfChildren([Int64])
  /// Each place and those above it, up to the top.
  case path([Int64])
  /// Each place and everything below it.
  case branch([Int64])
  case link([Membership])
  case linkEach([Membership])
  /// The groups of each member.
  case groups([Int64])
  case countOfMembers([Int64])
  case unlink([Membership])
  /// Moves each place to another parent.
  case update([(id: Int64, parent: Int64)])
  case delete([Int64])
}

extension QueryResult {
  /// A link as it is read from its first end.
  package mutating func add(link first: Int64, _ second: Int64) {
    var row = RowHash()
    row.add(first)
    row.add(second)
    add(row)
  }
}
