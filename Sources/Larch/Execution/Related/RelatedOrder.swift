/// The values of a field of related records, by which rows are sorted.
///
/// If rows hold the ids of the related records, a value is found once for all rows with that id:
/// each related record is read once, as long as there is memory for the values.
final class RelatedOrder {
  private let route: RelatedRoute
  /// The owner of this object.
  private unowned let answers: RelatedAnswers
  /// Reads the related records.
  private let reader: RowReader
  /// Set if the field belongs to a record that is related to the related record.
  private let next: RelatedOrder?
  private let field: FieldReference
  /// Writes the field; not used if there is a next one.
  private let sortKey: SortKey
  private let isOptional: Bool
  private let held: HeldIDs?

  /// The places in `values` by the ids in rows.
  @exclusivity(unchecked) private var known = ByteTable()
  @exclusivity(unchecked) private var places: [Range<Int>] = []
  @exclusivity(unchecked) private var values = ByteBuffer()
  @exclusivity(unchecked) private var writer = KeyWriter()
  /// The related record of each owner, if no index has it.
  private var table: [[UInt8]: [UInt8]]?

  /// The maximum size of kept values in bytes.
  private static let budget = 16 << 20

  /// - Parameter depth: the number of associations from the record of the query to the owner.
  init(
    _ value: RelatedValue, depth: Int = 0, textForm: TextForm, _ answers: RelatedAnswers
  ) throws {
    self.answers = answers
    let context = answers.context
    route = try RelatedRoute(value.route[depth], context)
    let typed = route.target.access(partOf: answers)
    reader = try RowReader(route.target, residue: [], context: context, typed: typed)
    let isLast = depth + 1 == value.route.count
    next =
      isLast
      ? nil : try RelatedOrder(value, depth: depth + 1, textForm: textForm, answers)
    field = value.field
    let term = OrderTerm(field: field, descends: false, textForm: textForm)
    sortKey = SortKey(
      isLast ? [term] : [], idsDescend: false, idKind: route.target.stored.idKind, index: nil,
      context: context, typed: typed)
    isOptional = if case .optional = field.form.node { true } else { false }
    held = HeldIDs(route, context)
  }

  // MARK: Keys

  /// Appends the value of a record in the form of ascending sort keys.
  func append(
    for record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
  ) throws {
    var isFound = false
    try forEachRelated(record, id) { related in
      if held != nil {
        let place = try known(related)
        buffer.append(UnsafeRawBufferPointer(rebasing: values.bytes[place]))
        isFound = true
      } else {
        isFound = try append(related, to: &buffer)
      }
      return !isFound
    }
    if !isFound { buffer.append(0) }
  }

  /// The place of the value for an id.
  private func known(_ id: UnsafeRawBufferPointer) throws -> Range<Int> {
    if let number = known.value(of: id) { return places[number] }
    if values.count > RelatedOrder.budget {
      known = ByteTable()
      places.removeAll()
      values.removeAll()
    }
    let start = values.count
    if try !append(id, to: &values) { values.append(0) }
    places.append(start..<values.count)
    return places[known.value(of: id, orSet: places.count - 1)]
  }

  /// Appends the value of the record with an id; false if it does not exist.
  private func append(_ id: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) throws -> Bool {
    guard let record = try record(id) else { return false }
    if let next {
      try next.append(for: record, id: id, to: &buffer)
      return true
    }
    do {
      try sortKey.write(record: record, id: id)
    } catch {
      throw reader.naming(error, id)
    }
    if !isOptional { buffer.append(1) }
    buffer.append(UnsafeRawBufferPointer(rebasing: sortKey.bytes[..<sortKey.countBeforeID]))
    return true
  }

  // MARK: Values

  /// The value for a record.
  func values(
    for record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> [KeyValue] {
    var found: [KeyValue]?
    try forEachRelated(record, id) { related in
      guard let record = try self.record(related) else { return true }
      do {
        found =
          try next?.values(for: record, id: related)
          ?? reader.typed.values(of: field, in: record).first
      } catch {
        throw reader.naming(error, related)
      }
      return false
    }
    return found ?? [.null]
  }

  // MARK: Records

  private func record(_ id: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
    let transaction = try answers.context.transaction()
    guard
      let stored = try answers.context.get(id, from: route.target.records, in: transaction)
    else { return nil }
    answers.add(records: 1)
    return try reader.open(stored, id)
  }

  /// Calls with the id of each related record until the closure returns false. The record may not
  /// exist.
  private func forEachRelated(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    if let held { return try held.forEach(in: record, body) }
    // Lists of the store are never an association to one record.
    guard case .holding(let reference, let field) = route.kind else { return }
    guard let end = route.end(of: reference, answers.context) else {
      let table = try self.table ?? collect(field)
      self.table = table
      _ = try table[[UInt8](id)]?.withUnsafeBytes(body)
      return
    }
    try AssociationList(end, of: id, &writer)?.forEach(answers.context) { related in
      answers.add(entries: 1)
      return try body(related)
    }
  }

  /// The first record that refers to each owner.
  private func collect(_ field: FieldReference) throws -> [[UInt8]: [UInt8]] {
    let kind = route.owner.stored.idKind
    var table: [[UInt8]: [UInt8]] = [:]
    let plan = try answers.plan(.always, in: route.target, for: .records)
    try answers.run(plan, in: route.target, selecting: []) { run in
      while let row = try run.next() {
        for values in try run.typed.values(of: field, in: try run.record()) {
          guard let value = values.first else { continue }
          kind.withBytes(of: value) { owner in
            let owner = [UInt8](owner)
            if table[owner] == nil { table[owner] = [UInt8](row.id) }
          }
        }
      }
    }
    return table
  }
}
