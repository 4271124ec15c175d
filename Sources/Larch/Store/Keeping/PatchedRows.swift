extension QueryDescription {
  /// Why the rows are read again after each change of one of them; nil if they are brought up to date
  /// from the changed records.
  var reasonNotPatched: String? {
    if hasRelatedOrder, limit != nil { return "its order is that of related records, with a limit" }
    if offset != 0 { return "it has an offset" }
    if after != nil { return "it follows a page token" }
    if limit == 0 { return "its limit is 0" }
    return nil
  }
}

extension QueryDescription {
  var hasRelatedOrder: Bool { order.contains { $0.field.related != nil } }

  /// By which associations its filter and its order depend on other records.
  var dependencies: [RelatedDependency] {
    var all: [RelatedDependency] = []
    if filter.asksRelated { all.append(RelatedDependency(filter: filter, isContent: false)) }
    for case let related? in order.map(\.field.related) {
      // It contains those after it.
      guard let first = related.route.first else { continue }
      all.append(RelatedDependency(filter: .related(first), isContent: true))
    }
    return all
  }
}

extension PatchedRows {
  var dependencies: [RelatedDependency] { details.dependencies }
}

enum PatchLimits {
  /// How many rows beyond a limit are kept at least, once a row has left.
  static let reserve = 32
  /// More changes at once are not applied to rows, if they are also more than a sixteenth of these: to
  /// move the rows after a place costs more than to read them again.
  static let fewChanges = 16
  /// The same for rows that depend on related records, which cost more to read again.
  static let fewRelated = 64
}

/// A request whose rows can be kept and brought up to date.
protocol PatchedRequest<Row>: Request {
  /// Nil if the rows must be read again after each change.
  func rowPatcher() -> ValuePatcher<[Row]>?
}

/// One whose rows are made of the records of one query.
protocol PatchedQuery<Row>: PatchedRequest {
  /// Why there is no patcher; nil if there is one.
  var reasonNotPatched: String? { get }
  /// Which records are rows.
  var patchedQuery: QueryDescription { get }
  /// By which associations they depend on other records.
  var dependencies: [RelatedDependency] { get }
  var collectionName: String { get }
}

extension PatchedQuery where Self: PatchedRows {
  func rowPatcher() -> ValuePatcher<[Row]>? { reasonNotPatched == nil ? RowPatcher(self) : nil }

  var reasonNotPatched: String? { details.reasonNotPatched }
  var patchedQuery: QueryDescription { details }
  var collectionName: String { R.collectionName }
}

extension Query: PatchedQuery, PatchedRows {
  var rowComparison: ValueComparison<[R]> { .stored }

  func rows(
    of query: QueryDescription, in tx: ReadTransaction, noting places: RowPlaces
  ) throws -> [R] {
    try with { $0 = query }.observedRows(in: tx, noting: places)
  }

  func maker(
    _ access: RecordAccess<R>
  ) -> (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> R {
    { record, _ in try access.context.coder.decode(R.self, from: record) }
  }
}

extension Selection: PatchedQuery, PatchedRows {
  var details: QueryDescription { query.details }
  var reasonNotPatched: String? { isDistinct ? "its values are distinct" : details.reasonNotPatched }

  func rows(
    of query: QueryDescription, in tx: ReadTransaction, noting places: RowPlaces
  ) throws -> [Row] {
    var selection = self
    selection.query.details = query
    return try selection.rows(in: tx, noting: places)
  }

  func maker(
    _ access: RecordAccess<R>
  ) -> (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Row {
    let fields = (references ?? []).map {
      SelectedBytes($0, access.context, access.collection.reading)
    }
    return { record, id in
      let values = ChangedRow(record, id, access, fields)
      return try withUnsafeTemporaryAllocation(of: Row.self, capacity: 1) { room throws in
        // There is always room for one.
        let target = room.baseAddress!
        try make(values, target)
        return target.move()
      }
    }
  }
}

/// The selected values of one changed record, in the order of the fields.
private final class ChangedRow<R: Record>: SelectedValues {
  private let record: UnsafeRawBufferPointer
  private let id: UnsafeRawBufferPointer
  private let access: RecordAccess<R>
  /// Empty if a value can only be read from the decoded record.
  private let fields: [SelectedBytes]
  private var decoded: R?
  private var place = 0

  init(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, _ access: RecordAccess<R>,
    _ fields: [SelectedBytes]
  ) {
    self.record = record
    self.id = id
    self.access = access
    self.fields = fields
  }

  func make<Value>(
    _ field: SelectedField<R, Value>, at target: UnsafeMutablePointer<Value>
  ) throws {
    defer { place += 1 }
    if let key = field.key, place < fields.count,
      let known = try fields[place].value(in: record, id: id, access.context.shapes),
      key.coding.make(known, at: target)
    {
      return
    }
    let whole = try decoded ?? access.context.coder.decode(R.self, from: record)
    decoded = whole
    target.initialize(to: field.read(whole))
  }
}
