/// Sums and extremes of a field, from the keys of an index: each key once, and no row.
extension PlanRun {
  /// The sum and the number of the values of a selected field; nil, without a row, if the plan must be
  /// executed row by row. The run cannot be used after a sum.
  ///
  /// Numbers that are not whole are added in the order of the query. The keys must then have the ids
  /// in this order, as those of measurements do that come one after the other.
  func total(of place: Int) throws -> KeyTotal? {
    var total = KeyTotal()
    if plan.limit == nil, let keys = try wholeKeys(of: place, isComparing: false) {
      let primitive = keys.primitive
      let isAnyOrder = primitive.isWholeNumber
      if isAnyOrder || plan.order.isAscendingByID {
        let isWhole = try keys.forEach(inOrderOfIDs: !isAnyOrder) { bytes, count in
          if let bytes { total.add(primitive, key: bytes, count) }
        }
        if isWhole {
          add(entriesExamined: keys.count)
          close()
          return total
        }
        total = KeyTotal()
      }
    }
    guard case .any = plan.order else { return nil }
    let isGrouped = try forEachGroup(of: place) { values, count, _ in
      for value in values { total.add(value, count) }
    }
    return isGrouped ? total : nil
  }

  /// What keys tell of the first value in an order.
  enum FirstValue {
    /// There is no row.
    case none
    case value(KeyValue)
    /// The plan must be executed.
    case unknown
  }

  /// The value of a selected field in the only row of a plan that sorts all rows by this field, where
  /// nil and NaN are no rows.
  func firstValue(of place: Int) throws -> FirstValue {
    guard case .sorted(let terms, _) = plan.order, terms.count == 1, plan.limit == 1,
      selection.indices.contains(place), terms[0].field.related == nil,
      terms[0].field.identity == selection[place].identity,
      terms[0].field.form == selection[place].form,
      let keys = try wholeKeys(of: place, isComparing: true), keys.primitive.isNumber
    else { return .unknown }
    let primitive = keys.primitive
    let flip: UInt64 = terms[0].descends ? .max : 0
    let isFloatingPoint = primitive.isFloatingPoint
    var best = UInt64.max
    var found: UnsafeRawBufferPointer?
    let isWhole = try keys.forEach(inOrderOfIDs: false) { bytes, _ in
      guard let bytes else { return }
      let number = ComparableNumber.of(primitive, key: bytes)
      if isFloatingPoint, number == ComparableNumber.nan { return }
      guard number ^ flip < best || found == nil else { return }
      best = number ^ flip
      found = bytes
    }
    guard isWhole else { return .unknown }
    guard let found else {
      add(entriesExamined: keys.count)
      return .none
    }
    // Only the record has the sign of a zero.
    guard let value = KeyValue(exactly: primitive, key: found) else { return .unknown }
    add(entriesExamined: keys.count)
    return .value(value)
  }

  /// The keys of the only source of the plan; nil if they are not enough.
  ///
  /// - Parameter isComparing: whether a filter for values that are neither nil nor NaN is left out.
  private func wholeKeys(of place: Int, isComparing: Bool) throws -> WholeKeys? {
    // One key is found as fast by a cursor.
    guard case .index(let scan) = plan.source, !scan.isPoints, plan.residue.isEmpty,
      plan.after == nil, plan.offset == 0, plan.otherwise == nil, plan.groups == nil,
      isComparing || !scan.mayRepeat, selection.indices.contains(place)
    else { return nil }
    return try WholeKeys(scan, selection[place], isComparing: isComparing, self)
  }
}

/// The keys of an index scan in the map, with one of their components.
private final class WholeKeys {
  let primitive: KeyForm.Primitive
  /// The number of keys so far.
  private(set) var count = 0
  private let tree: MappedTree
  private let ranges: [KeyRange]
  private let component: Int
  private let components: KeyComponents
  private let filter: KeyFilterProgram?

  /// Nil if the keys do not have the field, or are not in the map.
  init?(
    _ scan: Plan.IndexScan, _ field: FieldReference, isComparing: Bool, _ run: PlanRun
  ) throws {
    let index = try run.collection.index(at: scan.index)
    let component = index.schema.fields.firstIndex {
      $0.identity == field.identity && $0.form == field.form && !$0.isFolded && !$0.isMultiple
    }
    guard let component, field.isStandard, let (primitive, _) = field.form.simple else {
      return nil
    }
    let size = try index.database.statistics(in: run.context.transaction())
    guard
      let tree = try run.context.mappedTree(
        CatalogStorage.indexName(index.stored.id), pageSize: size.pageSize)
    else { return nil }
    self.primitive = primitive
    self.tree = tree
    self.component = component
    ranges = scan.ranges
    components = KeyComponents(index.schema)
    let filters = isComparing ? scan.keyFilter.filter { !$0.isAnyValue(of: field) } : scan.keyFilter
    filter = filters.isEmpty ? nil : KeyFilterProgram(filters, index.schema, components)
  }

  /// Calls with the component of each key, nil for nil, and the number of entries of the key.
  ///
  /// - Parameter inOrderOfIDs: whether each key must have one id, which is greater than that of the key
  ///   before it.
  /// - Returns: false if a key does not decide the filters, or is cut, or ids are in another order,
  ///   or a page is not what it should be.
  @inline(__always)
  func forEach(
    inOrderOfIDs: Bool, _ body: (UnsafeRawBufferPointer?, Int) -> Void
  ) throws -> Bool {
    let (tree, component, components, filter) = (tree, component, components, filter)
    let hasDuplicates = tree.tree.hasDuplicates
    if inOrderOfIDs, !hasDuplicates { return false }
    var lastID: UnsafeRawBufferPointer?
    func visit(_ leaf: PageHeader, _ places: Range<Int>) throws -> Bool {
      count += places.count
      for place in places {
        guard let node = tree.node(place, in: leaf) else { return false }
        components.open(node.key)
        if let filter {
          let outcome = try filter.test()
          if outcome == .no { continue }
          if outcome == .unknown { return false }
        }
        let entries = hasDuplicates ? tree.entries(of: node, in: leaf) : 1
        guard let entries = Int(exactly: entries) else { return false }
        if inOrderOfIDs {
          guard let id = tree.singleEntry(of: node, in: leaf) else { return false }
          if let lastID, !lastID.precedes(id) { return false }
          lastID = id
        }
        switch try components.component(component) {
        case .cut: return false
        case .null: body(nil, entries)
        case .value(let bytes): body(bytes, entries)
        }
      }
      return true
    }
    for range in ranges where !range.isEmpty {
      let isWhole = try range.lower.withUnsafeBytes { lower in
        guard let upper = range.upper else {
          return try tree.forEachLeaf(from: lower, to: nil, visit)
        }
        return try upper.withUnsafeBytes { try tree.forEachLeaf(from: lower, to: $0, visit) }
      }
      guard isWhole else { return false }
    }
    return true
  }
}

extension Plan.RowOrder {
  fileprivate var isAscendingByID: Bool {
    if case .byID(let descends) = self { !descends } else { false }
  }
}

extension FilterNode {
  /// Whether it is true for each value of a field that is neither nil nor NaN.
  fileprivate func isAnyValue(of field: FieldReference) -> Bool {
    guard case .field(let filter) = self, filter.field.identity == field.identity,
      filter.field.form == field.form, case .within(nil, nil) = filter.test
    else { return false }
    return true
  }
}
