/// Whether records have related records for which a filter is true, in one run.
///
/// The related records of the first rows are read. Once that has cost as much as the inner query is
/// expected to, the query runs once, and the resulting ids are kept.
final class RelatedTest {
  private let filter: RelatedFilter
  private let route: RelatedRoute
  /// The owner of this object.
  private unowned let answers: RelatedAnswers
  /// The ids of owners that have such a related record; for a reference that owners hold, the ids
  /// of these related records.
  @exclusivity(unchecked) private var passing: IDList?
  @exclusivity(unchecked) private var probe: RelatedProbe?
  /// Set if more than one related record is required; made for the first row.
  private var counter: RelatedCounter?
  /// The number of rows whose related records were read.
  private(set) var rowsAsked = 0
  private lazy var held = HeldIDs(route, answers.context)

  init(_ filter: RelatedFilter, _ route: RelatedRoute, _ answers: RelatedAnswers) {
    self.filter = filter
    self.route = route
    self.answers = answers
  }

  /// Whether an answer costs only a look-up in a set.
  var isCollected: Bool { passing != nil }

  /// Whether a stored owner has such a related record.
  func hasRelated(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> Bool {
    if filter.least > 1 { return try isReached(record, id) }
    if passing == nil {
      if let answer = try probed(record, id) { return answer }
      passing = try collect(try plan())
      probe = nil
    }
    guard let held else { return contains(id) }
    var isFound = false
    try held.forEach(in: record) { id in
      isFound = contains(id)
      return !isFound
    }
    return isFound
  }

  private func isReached(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Bool {
    let counter = try self.counter ?? RelatedCounter(filter, route, answers)
    self.counter = counter
    rowsAsked &+= 1
    return try counter.isReached(record, id: id)
  }

  @inline(__always)
  private func contains(_ id: UnsafeRawBufferPointer) -> Bool { passing?.contains(id) ?? false }

  private func plan() throws -> Plan {
    try answers.plan(filter.filter, in: route.target, for: route.need)
  }

  // MARK: Row by row

  /// The answer for one row; nil if it is time to run the inner query.
  private func probed(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Bool? {
    if answers.strategy == .once || answers.strategy == .control { return nil }
    let probe = try self.probe ?? makeProbe()
    self.probe = probe
    guard let probe else { return nil }
    rowsAsked &+= 1
    guard let held else { return try probe.hasRelated(ownerID: id) }
    var answer: Bool? = false
    try held.forEach(in: record) { id in
      answer = try probe.isRelated(id)
      return answer == false
    }
    return answer
  }

  private func makeProbe() throws -> RelatedProbe? {
    let budget =
      answers.strategy == .eachRow
      ? Double.infinity
      : try plan().expectedCost(IndexStatistics(route.target, answers.context)).work
    return try RelatedProbe(filter, route, answers, budget: budget)
  }

  // MARK: All at once

  /// The result of the inner query as values that a field of the owner is compared with, or for
  /// lists the ids of the related records; nil if there are too many.
  func found(_ plan: Plan, upTo limit: Int) throws -> [[KeyValue]]? {
    if case .links = route.kind {
      var list = IDList(width: route.target.stored.idKind.width)
      try appendIDs(plan, &list)
      list.finish()
      return list.count > limit ? nil : list.values(route.target.stored.idKind)
    }
    let list = try collect(plan)
    if list.count > limit {
      passing = consume list
      return nil
    }
    return list.values(route.idKind)
  }

  private func collect(_ plan: Plan) throws -> IDList {
    var list = IDList(width: route.idKind.width)
    switch route.kind {
    case .held: try appendIDs(plan, &list)
    case .holding(_, let field): try appendReferences(plan, field, &list)
    case .links(_, let end):
      var writer = KeyWriter()
      if filter.isOfOwner, answers.context.hasUnsavedMembers, let ids = filter.listedBy {
        // The inner query would not find an owner that is not saved yet.
        for values in ids {
          try route.target.stored.idKind.withBytes(of: values.first ?? .null) { id in
            try append(listOf: id, end, &writer, &list)
          }
        }
      } else {
        try answers.run(plan, in: route.target, selecting: []) { run in
          while let row = try run.next() { try append(listOf: row.id, end, &writer, &list) }
        }
      }
    }
    list.finish()
    return list
  }

  private func append(
    listOf id: UnsafeRawBufferPointer, _ end: AssociationEnd, _ writer: inout KeyWriter,
    _ list: inout IDList
  ) throws {
    try AssociationList(end, of: id, &writer)?.forEach(answers.context) { owner in
      list.append(owner)
      answers.add(entries: 1)
      return true
    }
  }

  private func appendIDs(_ plan: Plan, _ list: inout IDList) throws {
    try answers.run(plan, in: route.target, selecting: []) { run in
      while let row = try run.next() { list.append(row.id) }
    }
  }

  /// The ids that related records hold.
  private func appendReferences(
    _ plan: Plan, _ field: FieldReference, _ list: inout IDList
  ) throws {
    let kind = route.owner.stored.idKind
    try answers.run(plan, in: route.target, selecting: [field]) { run in
      while try run.next() != nil {
        if !field.isMultiple, let values = try run.values(of: 0) {
          if let value = values.first { kind.withBytes(of: value) { list.append($0) } }
          continue
        }
        for values in try run.typed.values(of: field, in: try run.record()) {
          if let value = values.first { kind.withBytes(of: value) { list.append($0) } }
        }
      }
    }
  }
}

extension IDList {
  /// Whether it has an id. The list must be finished.
  func contains(_ id: UnsafeRawBufferPointer) -> Bool {
    let place = place(atOrAfter: id, from: 0)
    return place < count && compareBytes(self[place], id) == 0
  }

  /// The ids as values of fields, in order.
  func values(_ kind: RecordIDKind) -> [[KeyValue]] {
    var list: [[KeyValue]] = []
    list.reserveCapacity(count)
    for place in 0..<count {
      if let value = KeyValue(id: self[place], kind) { list.append([value]) }
    }
    return list
  }
}
