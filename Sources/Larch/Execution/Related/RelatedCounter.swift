/// Whether records have at least a number of related records, in one run.
///
/// It reads the related records of each row, but no more than that number. If there is no list of
/// them, they are collected once.
final class RelatedCounter {
  private let least: Int
  private let route: RelatedRoute
  private unowned let answers: RelatedAnswers
  /// Nil for routes on which owners hold no ids.
  private let held: HeldIDs?
  /// For an association through join records: the route from these to the related records.
  private let far: (route: RelatedRoute, held: HeldIDs)?
  @exclusivity(unchecked) private var writer = KeyWriter()
  /// The related ids by the id of the owner, up to the required number.
  private var collected: [[UInt8]: Set<[UInt8]>]?

  init(_ filter: RelatedFilter, _ route: RelatedRoute, _ answers: RelatedAnswers) throws {
    least = filter.least
    self.route = route
    self.answers = answers
    held = HeldIDs(route, answers.context)
    if case .related(let inner) = filter.filter {
      let route = try RelatedRoute(inner, answers.context)
      far = HeldIDs(route, answers.context).map { (route, $0) }
    } else {
      far = nil
    }
  }

  func isReached(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> Bool {
    if let held {
      var found: Set<[UInt8]> = []
      try add(held, route, record, &found)
      return found.count >= least
    }
    if collected == nil, let list = try list(of: id) { return try isReached(list) }
    let all = try collected ?? collect()
    collected = all
    return (all[[UInt8](id)]?.count ?? 0) >= least
  }

  /// Nil if there is no list of related records, or if they must be found otherwise.
  private func list(of id: UnsafeRawBufferPointer) throws -> AssociationList? {
    switch route.kind {
    case .held: return nil
    case .links(let owner, _): return AssociationList(owner, of: id, &writer)
    case .holding(let reference, _):
      if answers.strategy == .once || answers.strategy == .control { return nil }
      return route.end(of: reference, answers.context).flatMap {
        AssociationList($0, of: id, &writer)
      }
    }
  }

  private func isReached(_ list: AssociationList) throws -> Bool {
    var found: Set<[UInt8]> = []
    var count = 0
    try list.forEach(answers.context) { id in
      answers.add(entries: 1)
      if let far {
        if let record = try self.record(id, in: route) {
          try add(far.held, far.route, record, &found)
        }
        count = found.count
      } else if try route.isSaved(id, answers.context) {
        count += 1
      }
      return count < least
    }
    return count >= least
  }

  private func collect() throws -> [[UInt8]: Set<[UInt8]>] {
    var all: [[UInt8]: Set<[UInt8]>] = [:]
    guard case .holding(_, let field) = route.kind else { return all }
    let kind = route.owner.stored.idKind
    let plan = try answers.plan(.always, in: route.target, for: .records)
    try answers.run(plan, in: route.target, selecting: []) { run in
      while let row = try run.next() {
        let record = try run.record()
        for values in try run.typed.values(of: field, in: record) {
          guard let value = values.first else { continue }
          try kind.withBytes(of: value) { owner in
            let owner = [UInt8](owner)
            if let far {
              try add(far.held, far.route, record, &all[owner, default: []])
            } else if all[owner]?.count ?? 0 < least {
              all[owner, default: []].insert([UInt8](row.id))
            }
          }
        }
      }
    }
    return all
  }

  /// Adds the ids of existing records that a record holds, up to the required number.
  private func add(
    _ held: HeldIDs, _ route: RelatedRoute, _ record: UnsafeRawBufferPointer,
    _ found: inout Set<[UInt8]>
  ) throws {
    try held.forEach(in: record) { id in
      guard found.count < least else { return false }
      if !found.contains([UInt8](id)), try self.record(id, in: route) != nil {
        found.insert([UInt8](id))
      }
      return true
    }
  }

  /// The stored record with an id, opened.
  private func record(
    _ id: UnsafeRawBufferPointer, in route: RelatedRoute
  ) throws -> UnsafeRawBufferPointer? {
    let transaction = try answers.context.transaction()
    guard
      let stored = try answers.context.get(id, from: route.target.records, in: transaction)
    else { return nil }
    answers.add(records: 1)
    let reader = try RowReader(
      route.target, residue: [], context: answers.context,
      typed: route.target.access(partOf: answers))
    return try reader.open(stored, id)
  }
}
