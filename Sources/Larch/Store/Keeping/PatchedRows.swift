/// How the rows of a query are made of its records, one row of each.
protocol PatchedRows<R, Row>: Sendable {
  associatedtype R: Record
  associatedtype Row

  /// Which records are rows, and in which order.
  var details: QueryDescription { get }
  var rowComparison: ValueComparison<[Row]> { get }
  /// By which associations rows depend on other records; none if each depends on its own alone.
  var dependencies: [RelatedDependency] { get }

  /// Whether another request can be found equal to this one, by all that decides on the rows.
  var hasKnownParts: Bool { get }
  /// Whether both have equal parts. Both must have known ones.
  func hasSameParts(as other: Self) -> Bool
  /// Hashes at least some of the parts.
  func hashParts(into hasher: inout Hasher)

  /// Reads all rows of a query in place of `details`, and notes the place of each.
  func rows(
    of query: QueryDescription, in tx: ReadTransaction, noting places: RowPlaces
  ) throws -> [Row]

  /// Returns what makes rows of changed records, whose bytes are not verified. Not called if there are
  /// dependencies.
  func maker(
    _ access: RecordAccess<R>
  ) -> (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Row
}

extension QueryDescription {
  /// Why the rows are read again after each change of one of them; nil if they are brought up to date
  /// from the changed records.
  var reasonNotPatched: String? {
    if isByRelevance { return "each change may alter how well the others match" }
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

  // What is not compared is never the same.
  var hasKnownParts: Bool { false }
  func hasSameParts(as other: Self) -> Bool { false }
  func hashParts(into hasher: inout Hasher) {}
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
  ///
  /// - Parameter shared: where equal requests of other observers are.
  func rowPatcher(in shared: SharedObjects) -> ValuePatcher<[Row]>?
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
  func rowPatcher(in shared: SharedObjects) -> ValuePatcher<[Row]>? {
    reasonNotPatched == nil ? RowPatcher(self, in: shared) : nil
  }

  var reasonNotPatched: String? { details.reasonNotPatched }
  var patchedQuery: QueryDescription { details }
  var collectionName: String { R.collectionName }
}

extension Query: PatchedQuery, PatchedRows {
  var rowComparison: ValueComparison<[R]> { .stored }

  var hasKnownParts: Bool { details.hasKnownRows }
  func hasSameParts(as other: Query) -> Bool { details.hasSameRows(as: other.details) }
  func hashParts(into hasher: inout Hasher) { details.hashRows(into: &hasher) }

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
  var reasonNotPatched: String? {
    isDistinct ? "its values are distinct" : details.reasonNotPatched
  }

  var hasKnownParts: Bool {
    details.hasKnownRows && references?.allSatisfy(\.hasKnownParts) == true
  }

  func hasSameParts(as other: Selection) -> Bool {
    guard let fields = references, let others = other.references else { return false }
    return fields.count == others.count
      && zip(fields, others).allSatisfy { $0.hasSameParts(as: $1) }
      && details.hasSameRows(as: other.details)
  }

  func hashParts(into hasher: inout Hasher) {
    for field in references ?? [] { field.hashParts(into: &hasher) }
    details.hashRows(into: &hasher)
  }

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
  private let bytes: UnsafeRawBufferPointer
  private let id: UnsafeRawBufferPointer
  private let access: RecordAccess<R>
  /// Empty if a value can only be read from the decoded record.
  private let fields: [SelectedBytes]
  /// The record once it is decoded.
  private let decoded: UnsafeMutablePointer<R>
  private var isDecoded = false
  private var place = 0

  init(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, _ access: RecordAccess<R>,
    _ fields: [SelectedBytes]
  ) {
    bytes = record
    self.id = id
    self.access = access
    self.fields = fields
    decoded = .allocate(capacity: 1)
  }

  deinit {
    if isDecoded { decoded.deinitialize(count: 1) }
    decoded.deallocate()
  }

  override func make<Value>(
    _ coding: Unmanaged<KeyCoding<Value>>?, at target: UnsafeMutablePointer<Value>
  ) throws -> Bool {
    defer { place += 1 }
    guard let coding, place < fields.count,
      let known = try fields[place].value(in: bytes, id: id, access.context.shapes)
    else { return false }
    return coding._withUnsafeGuaranteedRef { $0.make(known, at: target) }
  }

  override func record() throws -> UnsafeRawPointer {
    if !isDecoded {
      decoded.initialize(to: try access.context.coder.decode(R.self, from: bytes))
      isDecoded = true
    }
    return UnsafeRawPointer(decoded)
  }
}
