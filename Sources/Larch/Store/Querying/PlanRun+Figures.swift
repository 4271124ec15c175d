/// Sums and extremes of a field, from the keys of an index: each key once, and no row.
extension PlanRun {
  /// The sum and the number of the values of a selected field; nil, without a row, if the plan must be
  /// executed row by row. The run cannot be used after a sum.
  ///
  /// Numbers that are not whole are added in the order of the query. The keys must then have the ids
  /// in this order, as those of measurements do that come one after the other.
  func total(of place: Int) throws -> KeyTotal? {
    var total = KeyTotal()
    if plan.limit == nil, let keys = try wholeKeys(of: [place], isComparing: false) {
      let primitive = keys.primitives[0]
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
      let keys = try wholeKeys(of: [place], isComparing: true), keys.primitives[0].isNumber
    else { return .unknown }
    let primitive = keys.primitives[0]
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

  /// The keys of the only source of the plan, with selected fields; nil if they are not enough.
  ///
  /// - Parameter isComparing: whether a filter for values of the only field that are neither nil nor NaN is
  ///   left out.
  func wholeKeys(of places: [Int], isComparing: Bool) throws -> WholeKeys? {
    guard case .index(let scan) = plan.source, plan.residue.isEmpty,
      plan.after == nil, plan.offset == 0, plan.otherwise == nil, plan.groups == nil,
      isComparing || !scan.mayRepeat, places.allSatisfy(selection.indices.contains)
    else { return nil }
    let fields = places.map { selection[$0] }
    return try WholeKeys(
      collection.index(at: scan.index), scan.ranges, fields,
      keyFilter: isComparing
        ? scan.keyFilter.filter { !$0.isAnyValue(of: fields[0]) } : scan.keyFilter, context)
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
