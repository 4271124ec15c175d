/// Keeps the records of a request with sections, and makes the sections from them.
final class SectionPatcher<R: Record, Value: IndexKey & Sendable>:
  ValuePatcher<[RecordSection<R, Value>]>, @unchecked Sendable
{
  private let request: Sectioned<R, Value>
  private let records: RowPatcher<Query<R>>

  init?(_ request: Sectioned<R, Value>) {
    guard let records = RowPatcher(request.query) else { return nil }
    self.request = request
    self.records = records
  }

  override var tree: UInt32? { records.tree }

  override var related: RelatedTrees? { records.related }

  override var current: [RecordSection<R, Value>]? {
    records.current.map { request.sections(of: $0) }
  }

  override func read(
    _ tx: ReadTransaction
  ) throws -> (value: [RecordSection<R, Value>], isSame: Bool) {
    let (rows, isSame) = try records.read(tx)
    return (request.sections(of: rows), isSame)
  }

  override func patch(_ changes: [StoredChange], _ tx: ReadTransaction) -> Outcome {
    sections(records.patch(changes, tx))
  }

  override func patch(_ changes: ChangesByTree, at tx: ReadTransaction) -> Outcome {
    sections(records.patch(changes, at: tx))
  }

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
  func rowPatcher() -> ValuePatcher<[RecordSection<R, Value>]>? { SectionPatcher(self) }

  var reasonNotPatched: String? { query.reasonNotPatched }
  var patchedQuery: QueryDescription { query.details }
  var dependencies: [RelatedDependency] { query.dependencies }
  var collectionName: String { R.collectionName }
}
