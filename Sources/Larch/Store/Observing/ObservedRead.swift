/// How the value of an observer is read, and how two values are compared. Each kind of request has its own
/// class, and a request is kept once, by this object, since there may be very many observers.
class ObservedRead<Value: Sendable>: @unchecked Sendable {
  var comparison: ValueComparison<Value> { .stored }
  /// Whether aggregates that are read are kept and brought up to date.
  var keepsAggregates: Bool { false }

  /// Adds the records of the value to the digest, if values are compared by it.
  func read(_ tx: ReadTransaction, _ digest: RowDigest) throws -> Value {
    // Nobody makes one of this class itself, and each of its kinds overrides this.
    fatalError("each kind has its own")
  }

  /// Makes what keeps the value and brings it up to date; nil if it is read again after each change.
  func patcher(_ shared: SharedObjects) -> ValuePatcher<Value>? { nil }
}

/// Whatever a closure reads.
final class ObservedClosure<Value: Sendable>: ObservedRead<Value>, @unchecked Sendable {
  private let body: @Sendable (ReadTransaction) throws -> Value
  /// Looked for once, since each change asks for it.
  private let equality = ValueComparison<Value>.equality(of: Value.self)

  init(_ body: @escaping @Sendable (ReadTransaction) throws -> Value) { self.body = body }

  override var comparison: ValueComparison<Value> { equality }
  override var keepsAggregates: Bool { true }

  override func read(_ tx: ReadTransaction, _ digest: RowDigest) throws -> Value { try body(tx) }
}

/// One record by its id.
final class ObservedRecord<R: Record>: ObservedRead<R?>, @unchecked Sendable {
  private let id: R.ID

  init(_ id: R.ID) { self.id = id }

  override func read(_ tx: ReadTransaction, _ digest: RowDigest) throws -> R? {
    try tx.find(R.self, id, noting: digest)
  }
}

/// The rows of a request.
private final class ObservedRequest<Q: Request>: ObservedRead<[Q.Row]>, @unchecked Sendable
where Q.Row: Sendable {
  private let request: Q

  init(_ request: Q) { self.request = request }

  override var comparison: ValueComparison<[Q.Row]> {
    (request as? any ComparedRequest<Q.Row>)?.rowComparison ?? .stored
  }

  override func read(_ tx: ReadTransaction, _ digest: RowDigest) throws -> [Q.Row] {
    try Q._runner.runs.fetch(request, in: tx, noting: digest)
  }

  override func patcher(_ shared: SharedObjects) -> ValuePatcher<[Q.Row]>? {
    (request as? any PatchedRequest<Q.Row>)?.rowPatcher(in: shared)
  }
}

/// A request whose rows are not records as they are stored.
protocol ComparedRequest<Row> {
  associatedtype Row
  var rowComparison: ValueComparison<[Row]> { get }
}

extension Selection: ComparedRequest {}

extension Grouped: ComparedRequest {}

extension Request {
  /// How the rows are read by an observer.
  func observedRead() -> ObservedRead<[Row]> where Row: Sendable { ObservedRequest(self) }
}
