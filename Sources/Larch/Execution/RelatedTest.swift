/// Whether records have related ones that a filter is true for, in one run.
///
/// The inner query is run once, and the ids that it stands for are kept.
final class RelatedTest {
  private let filter: RelatedFilter
  private let route: RelatedRoute
  /// Owns the test.
  private unowned let answers: RelatedAnswers
  private var idWriter = KeyWriter()
  /// The ids of owners that have such a record; of a reference that owners hold, the ids of such
  /// records.
  private var passing: IDList?

  init(_ filter: RelatedFilter, _ route: RelatedRoute, _ answers: RelatedAnswers) {
    self.filter = filter
    self.route = route
    self.answers = answers
  }

  /// Whether a stored record of the owning type has such a related record.
  func hasRelated(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> Bool {
    if passing == nil { passing = try collect() }
    guard case .held(let reference) = route.kind else { return contains(id) }
    var isFound = false
    try route.owner.schema.referencedIDs(
      record, answers.context.coder, reference, &idWriter
    ) { if !isFound { isFound = contains($0) } }
    return isFound
  }

  private func contains(_ id: UnsafeRawBufferPointer) -> Bool {
    passing?.contains(id) ?? false
  }

  private func collect() throws -> IDList {
    var list = IDList(width: route.idKind.width)
    switch route.kind {
    case .held:
      try answers.run(filter.filter, in: route.target, for: .ids) { run in
        while let row = try run.next() { list.append(row.id) }
      }
    case .holding(_, let field): try collect(field, &list)
    case .links(_, let end):
      try answers.run(filter.filter, in: route.target, for: .ids) { run in
        var writer = KeyWriter()
        while let row = try run.next() {
          try AssociationList(end, of: row.id, &writer)?.forEach(answers.context) { owner in
            list.append(owner)
            return true
          }
        }
      }
    }
    list.finish()
    return list
  }

  /// The ids that related records hold.
  private func collect(_ field: FieldReference, _ list: inout IDList) throws {
    let kind = route.owner.stored.idKind
    try answers.run(filter.filter, in: route.target, for: .fields([field])) { run in
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
  /// Whether it has an id. It must be finished.
  func contains(_ id: UnsafeRawBufferPointer) -> Bool {
    let place = place(atOrAfter: id, from: 0)
    return place < count && compareBytes(self[place], id) == 0
  }
}
