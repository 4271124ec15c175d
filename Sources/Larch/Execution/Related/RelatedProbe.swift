/// Tests rows by reading their related records, one row after the other, up to a cost limit.
final class RelatedProbe {
  private let filter: RelatedFilter
  private let route: RelatedRoute
  private unowned let answers: RelatedAnswers
  private let reader: RowReader
  private let budget: Double
  @exclusivity(unchecked) private var spent = 0.0
  @exclusivity(unchecked) private var writer = KeyWriter()
  /// Whether only existence is tested.
  private let isAlways: Bool
  /// The only ids that the related record may have.
  private var wantedIDs: [[UInt8]]?

  /// The cost of a search in a tree.
  private static let searchCost = 10.0

  init(
    _ filter: RelatedFilter, _ route: RelatedRoute, _ answers: RelatedAnswers, budget: Double
  ) throws {
    self.filter = filter
    self.route = route
    self.answers = answers
    self.budget = budget
    let normal = try filter.filter.normalized()
    isAlways = normal.isAlways
    reader = try RowReader(
      route.target, residue: isAlways ? [] : [normal], context: answers.context,
      typed: route.target.access(partOf: answers))
    wantedIDs = filter.listedBy?.map { values in
      var bytes: [UInt8] = []
      route.target.stored.idKind.withBytes(of: values.first ?? .null) { bytes = [UInt8]($0) }
      return bytes
    }
    if wantedIDs.map({ $0.count > 4 }) ?? false { wantedIDs = nil }
  }

  /// Whether the record with this id exists and passes; nil if the cost limit is reached.
  func isRelated(_ id: UnsafeRawBufferPointer) throws -> Bool? {
    spent += RelatedProbe.searchCost
    if spent > budget { return nil }
    return try passes(id)
  }

  private func passes(_ id: UnsafeRawBufferPointer) throws -> Bool {
    let transaction = try answers.context.transaction()
    guard
      let stored = try answers.context.get(id, from: route.target.records, in: transaction)
    else { return false }
    answers.add(records: 1)
    if isAlways { return true }
    return try reader.matches(try reader.open(stored, id), id)
  }

  /// Whether a record in the owner's list passes; nil if the cost limit is reached.
  func hasRelated(ownerID: UnsafeRawBufferPointer) throws -> Bool? {
    spent += RelatedProbe.searchCost
    if spent > budget { return nil }
    let end: AssociationEnd
    switch route.kind {
    case .held: return nil
    case .holding(let reference, _):
      guard let found = route.end(of: reference, answers.context) else { return nil }
      end = found
    case .links(let owner, _): end = owner
    }
    guard let list = AssociationList(end, of: ownerID, &writer) else { return nil }
    if let wantedIDs {
      for id in wantedIDs {
        answers.add(entries: 1)
        let isRelated = try id.withUnsafeBytes {
          try list.contains($0, answers.context)
            && (filter.isOfOwner || route.isSaved($0, answers.context))
        }
        if isRelated { return true }
      }
      return false
    }
    var answer: Bool? = false
    try list.forEach(answers.context) { id in
      answers.add(entries: 1)
      if isAlways {
        answer = try route.isSaved(id, answers.context)
        return answer == false
      }
      spent += RelatedProbe.searchCost
      if spent > budget {
        answer = nil
        return false
      }
      if try passes(id) { answer = true }
      return answer == false
    }
    return answer
  }
}
