/// Keeps the records of a request with sections, and makes the sections from them.
final class SectionPatcher<R: Record, Value: IndexKey & Sendable>:
  ValuePatcher<[RecordSection<R, Value>]>, @unchecked Sendable
{
  private let request: Sectioned<R, Value>
  private let records: RowPatcher<Query<R>>

  init?(_ request: Sectioned<R, Value>, in shared: SharedObjects) {
    guard let records = RowPatcher(request.query, in: shared) else { return nil }
    self.request = request
    self.records = records
  }

  override func exclusively<T>(_ body: () throws -> T) rethrows -> T {
    try records.exclusively(body)
  }

  override var tree: UInt32? { records.tree }

  override var related: RelatedTrees? { records.related }

  override var current: [RecordSection<R, Value>]? {
    records.current.map { request.sections(of: $0) }
  }

  override var mark: Any? { records.mark }

  override func isSame(as mark: Any) -> Bool { records.isSame(as: mark) }

  override func read(
    _ tx: ReadTransaction, at state: StoreState?
  ) throws -> (value: [RecordSection<R, Value>], isSame: Bool) {
    let (rows, isSame) = try records.read(tx, at: state)
    return (request.sections(of: rows), isSame)
  }

  override func note(_ facts: ReadFacts) { records.note(facts) }

  override func concern(of changes: RecordChanges, _ tx: ReadTransaction) throws -> RowConcern {
    try records.concern(of: changes, tx)
  }

  override func adopt(
    at state: StoreState, _ catalog: Catalog
  ) -> (value: [RecordSection<R, Value>], isSame: Bool, facts: ReadFacts)? {
    records.adopt(at: state, catalog).map {
      (request.sections(of: $0.value), $0.isSame, $0.facts)
    }
  }

  override func patch(
    to state: StoreState, _ tx: ReadTransaction, _ changes: (StoreState) -> [RecordChanges]?
  ) -> Outcome { sections(records.patch(to: state, tx, changes)) }

  override func patch(
    to state: StoreState, at tx: ReadTransaction, _ changes: (StoreState) -> ChangesByTree?
  ) -> Outcome { sections(records.patch(to: state, at: tx, changes)) }

  private func sections(_ outcome: ValuePatcher<[R]>.Outcome) -> Outcome {
    switch outcome {
    case .same: .same
    case .changed(let rows): .changed(request.sections(of: rows))
    case .unknown: .unknown
    }
  }

  override func check(_ tx: ReadTransaction) throws { try records.check(tx) }
}

extension Sectioned: PatchedQuery {
  func rowPatcher(in shared: SharedObjects) -> ValuePatcher<[RecordSection<R, Value>]>? {
    SectionPatcher(self, in: shared)
  }

  var reasonNotPatched: String? { query.reasonNotPatched }
  var patchedQuery: QueryDescription { query.details }
  var dependencies: [RelatedDependency] { query.dependencies }
  var collectionName: String { R.collectionName }
}
