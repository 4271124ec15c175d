/// The outline of a query: all that planning looks at before it looks at a constant or a statistic.
///
/// Two queries have the same outline if they test the same fields in the same ways, and agree in
/// order, need, and whether there is a small limit and a position to begin after. Fields are the
/// same if they are the same object: a program has one for each of its key paths.
struct QueryOutline {
  /// For each conjunct its field, if it has one, and the kind of its test.
  private let tests: [(field: FieldReference?, kind: TestKind)]
  private let order: [OrderTerm]
  private let fields: [FieldReference]
  private let traits: Int

  /// Queries with more conjuncts are planned each time.
  private static let testLimit = 8

  /// - Parameters:
  ///   - filter: the normalized filter of the query.
  ///   - traits: those of the query.
  init?(_ filter: FilterNode, _ query: QueryDescription, _ need: QueryNeed, _ traits: Int) {
    var tests: [(field: FieldReference?, kind: TestKind)] = []
    for node in filter.conjuncts {
      guard node.withKind({ tests.append(($0, $1)) }) != nil else { return nil }
    }
    self.tests = tests
    order = query.order
    fields = need.neededFields
    self.traits = traits
  }

  /// Whether the query has this outline.
  func fits(
    _ filter: FilterNode, _ query: QueryDescription, _ need: QueryNeed, _ traits: Int
  ) -> Bool {
    guard traits == self.traits, query.order.count == order.count else { return false }
    if !order.isEmpty {
      for (place, term) in query.order.enumerated() where !term.isSame(as: order[place]) {
        return false
      }
    }
    if !fields.isEmpty {
      let needed = need.neededFields
      guard needed.count == fields.count else { return false }
      for (place, field) in needed.enumerated() where field !== fields[place] { return false }
    }
    switch filter {
    case .all(let nodes):
      guard nodes.count == tests.count else { return false }
      for place in nodes.indices where !fits(nodes[place], tests[place]) { return false }
      return true
    default: return tests.count == 1 && fits(filter, tests[0])
    }
  }

  @inline(__always)
  private func fits(
    _ node: FilterNode, _ test: (field: FieldReference?, kind: TestKind)
  ) -> Bool {
    node.withKind { $0 === test.field && $1 == test.kind } ?? false
  }

  /// A number that is equal for equal outlines; nil if the query is planned each time.
  @inline(__always)
  static func hash(_ filter: FilterNode, _ need: QueryNeed, _ traits: Int) -> UInt? {
    var hash = UInt(bitPattern: traits)
    // Selections of other fields of the same records are other queries, which are asked beside each other.
    for field in need.neededFields {
      guard field.isKept else { return nil }
      add(field, 0, to: &hash)
    }
    switch filter {
    case .all(let nodes):
      guard nodes.count <= testLimit else { return nil }
      for node in nodes where !add(node, to: &hash) { return nil }
    default: if !add(filter, to: &hash) { return nil }
    }
    return hash ^ hash >> 32
  }

  @inline(__always)
  private static func add(_ node: FilterNode, to hash: inout UInt) -> Bool {
    node.withKind { (field, kind) -> Void in add(field, kind.bits, to: &hash) } != nil
  }

  @inline(__always)
  private static func add(_ field: FieldReference?, _ bits: UInt, to hash: inout UInt) {
    let address = field.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0
    hash = (hash ^ address >> 4 ^ bits << 32) &* 0x9E37_79B9_7F4A_7C15
  }

  /// Everything of a query but its filter, its order and its fields, as a number; nil if it is
  /// planned each time.
  static func traits(_ query: QueryDescription, _ need: QueryNeed, wanted: Int?) -> Int? {
    var traits =
      switch need {
      case .records: 0
      case .ids: 1
      case .count: 2
      case .exists: 3
      case .fields: 4
      case .values: 5
      case .recordValues: 6
      case .counts, .distinct, .distinctCount: -1
      }
    if traits < 0 { return nil }
    if query.idsDescend { traits |= 8 }
    if query.after != nil { traits |= 16 }
    // The first rows of an order are worth a scan that nothing bounds.
    if let wanted { traits |= wanted <= PlanTask.fewWanted ? 32 : 64 }
    return traits
  }
}

extension OrderTerm {
  fileprivate func isSame(as other: OrderTerm) -> Bool {
    field === other.field && descends == other.descends && textForm == other.textForm
  }
}

extension QueryNeed {
  /// The fields whose values are needed.
  fileprivate var neededFields: [FieldReference] {
    switch self {
    case .fields(let fields), .values(let fields): fields
    case .records, .recordValues, .ids, .count, .exists, .counts, .distinct, .distinctCount: []
    }
  }
}

extension FilterNode {
  /// The filters that must all be true, of a normalized filter.
  var conjuncts: [FilterNode] {
    if case .all(let nodes) = self { return nodes }
    return [self]
  }
}
