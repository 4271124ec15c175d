/// The compiled conditions of a query, which are tested on stored records without decoding them.
///
/// It is compiled once per run. On the bytes each condition is true, false or unknown. An unknown
/// one (a field missing in an older record, a closure of the program) is tested on the decoded
/// record. Cheap conditions come first, and a record that one of them refuses is not decoded.
final class FilterProgram {
  typealias Outcome = ValueTest.Outcome

  private enum Operation: UInt8 {
    case all, any, not, leaf, pair, words, calculation, related, unknown
  }

  private struct Node {
    var operation: Operation
    /// The first child, or the index of the leaf, the pair, the test of words, the calculation or the
    /// test of related records.
    var first: Int
    var count: Int

    var children: Range<Int> { first..<first + count }
  }

  /// One field compared with constants. The program keeps the objects alive, so references are not
  /// counted here.
  private struct Leaf {
    let path: Unmanaged<FieldPath>
    let test: Unmanaged<ValueTest>
    let kind: FieldKind
    let isID: Bool
    let isMultiple: Bool
  }

  private let shapes: ShapeTable
  private let typed: TypedAccess
  /// All conditions, and those that bytes alone can never decide.
  private let conditions: [FilterNode]
  private let undecidable: [FilterNode]
  @exclusivity(unchecked) private var nodes: [Node] = []
  @exclusivity(unchecked) private var roots: [Int] = []
  @exclusivity(unchecked) private var leaves: UnsafeMutablePointer<Leaf>
  private var leafCount = 0
  @exclusivity(unchecked) private var pairs: [PairTest] = []
  @exclusivity(unchecked) private var words: [WordsTest] = []
  @exclusivity(unchecked) private var calculations: [CalculationTest] = []
  @exclusivity(unchecked) private var related: [RelatedTest] = []
  /// Unverified bytes are no reason to read related records.
  @exclusivity(unchecked) private var isUnverified = false
  private var kept: [AnyObject] = []
  /// Set if the only condition is a range of numbers for a field of the record: then everything it
  /// needs is here, without indirection.
  private let isNumberRange: Bool
  private let numberPath: FieldPath
  private let numberKind: FieldKind
  private let least: UInt64
  private let greatest: UInt64

  init(_ filters: [FilterNode], context: TransactionContext, typed: TypedAccess) throws {
    shapes = context.shapes
    self.typed = typed
    let all = FilterProgram.conjuncts(filters)
    conditions = FilterProgram.inOrderOfCost(all)
    undecidable = conditions.filter { !FilterProgram.isDecidable($0) }
    leaves = .allocate(capacity: max(1, conditions.reduce(0) { $0 + FilterProgram.leaves(in: $1) }))
    let single = conditions.count == 1 ? FilterProgram.numberRange(conditions[0]) : nil
    isNumberRange = single != nil
    numberPath = single.map { context.path($0.names, typed.reading) } ?? context.idPath
    numberKind = single?.test.kind ?? .bool
    least = single?.test.bounds?.least ?? 0
    greatest = single?.test.bounds?.greatest ?? 0
    for condition in conditions where FilterProgram.mayBeDecided(condition) {
      roots.append(try compile(condition, context))
    }
    for condition in undecidable {
      if let error = condition.error { throw error }
    }
  }

  deinit { leaves.deallocate() }

  /// Nil without conditions, which is the usual case for an index scan.
  static func of(
    _ filters: [FilterNode], context: TransactionContext, typed: TypedAccess
  ) throws -> FilterProgram? {
    filters.isEmpty ? nil : try FilterProgram(filters, context: context, typed: typed)
  }

  // MARK: Asking

  /// Whether all conditions are true for a record.
  @inline(__always)
  func matches(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> Bool {
    if isNumberRange,
      case .value(let kind, let bytes) = try numberPath.read(in: record, shapes: shapes),
      kind == numberKind
    {
      let number = ComparableNumber.of(kind, stored: bytes)
      return number >= least && number <= greatest
    }
    return try matchesAll(record, id)
  }

  /// What an id says of conditions that are all about it.
  func test(id: UnsafeRawBufferPointer) throws -> Outcome {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    return try Outcome.all(roots) { try evaluate($0, nothing, id) }
  }

  /// Whether unverified bytes certainly do not meet the conditions. Bytes that do not decide,
  /// because they are damaged or for any other reason, are not refused.
  @inline(__always)
  func refuses(_ unverified: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) -> Bool {
    if isNumberRange,
      case .value(let kind, let bytes)? = try? numberPath.read(in: unverified, shapes: shapes),
      kind == numberKind
    {
      let number = ComparableNumber.of(kind, stored: bytes)
      return number < least || number > greatest
    }
    return refusesByAny(unverified, id)
  }

  private func refusesByAny(
    _ unverified: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) -> Bool {
    isUnverified = true
    defer { isUnverified = false }
    for root in roots where (try? evaluate(root, unverified, id)) == .no { return true }
    return false
  }

  private func matchesAll(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Bool {
    switch try outcome(record, id) {
    case .no: return false
    case .yes: return try undecidable.isEmpty || typed.matches(undecidable, record, id: id)
    case .unknown: return try typed.matches(conditions, record, id: id)
    }
  }

  /// What bytes say of the conditions that they can decide.
  private func outcome(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Outcome {
    try Outcome.all(roots) { try evaluate($0, record, id) }
  }

  private func evaluate(
    _ place: Int, _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Outcome {
    let node = nodes[place]
    switch node.operation {
    case .leaf: return try evaluate(leaves + node.first, record, id)
    case .pair: return try pairs[node.first].test(record, shapes)
    case .words: return try words[node.first].test(record, id, shapes)
    case .calculation: return try calculations[node.first].test(record, id, shapes)
    case .related: return try evaluate(related: node.first, record, id)
    case .unknown: return .unknown
    case .not: return try !evaluate(node.first, record, id)
    case .all: return try Outcome.all(node.children) { try evaluate($0, record, id) }
    case .any: return try Outcome.any(node.children) { try evaluate($0, record, id) }
    }
  }

  @inline(never)
  private func evaluate(
    related place: Int, _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Outcome {
    if isUnverified, !related[place].isCollected { return .unknown }
    return try related[place].hasRelated(record, id: id) ? .yes : .no
  }

  @inline(__always)
  private func evaluate(
    _ leaf: UnsafeMutablePointer<Leaf>, _ record: UnsafeRawBufferPointer,
    _ id: UnsafeRawBufferPointer
  ) throws -> Outcome {
    try leaf.pointee.test._withUnsafeGuaranteedRef { test in
      if leaf.pointee.isID { return FilterProgram.test(id: id, test) }
      let found = try leaf.pointee.path._withUnsafeGuaranteedRef {
        try $0.read(in: record, shapes: shapes)
      }
      switch found {
      case .missing: return .unknown
      case .absent: return leaf.pointee.isMultiple ? .no : test.whenNil
      case .value(let kind, let bytes):
        if leaf.pointee.isMultiple { return try evaluateElements(test, kind, bytes) }
        return kind == leaf.pointee.kind ? test.test(stored: bytes) : .unknown
      }
    }
  }

  private func evaluateElements(
    _ test: ValueTest, _ kind: FieldKind, _ bytes: UnsafeRawBufferPointer
  ) throws -> Outcome {
    guard kind == .list else { return .unknown }
    var elements = try RawList(kind, bytes)
    var outcome = Outcome.no
    while let element = try elements.next() {
      let part: Outcome
      switch element {
      case .missing: part = .unknown
      case .absent: part = test.whenNil
      case .value(let kind, let bytes):
        part = kind == test.kind ? test.test(stored: bytes) : .unknown
      }
      if part == .yes { return .yes }
      if part == .unknown { outcome = .unknown }
    }
    return outcome
  }

  /// An id has the bytes of a key, but integers of all widths have eight bytes.
  private static func test(id: UnsafeRawBufferPointer, _ test: ValueTest) -> Outcome {
    if test.primitive.isNumber {
      guard id.count == 8 else { return .unknown }
      return test.test(number: UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)))
    }
    if test.primitive == .uuid { return test.test(bytes: id, isNormal: true) }
    guard id.count >= 1, id[0] == 1 else { return .unknown }
    return test.test(bytes: UnsafeRawBufferPointer(rebasing: id[1...]), isNormal: true)
  }
}

// MARK: - Making

extension FilterProgram {
  /// The conditions that all must be true.
  static func conjuncts(_ filters: [FilterNode]) -> [FilterNode] {
    filters.flatMap { filter -> [FilterNode] in
      if case .all(let parts) = filter { return conjuncts(parts) }
      return [filter]
    }
  }

  /// Words are looked for, and after that related records are read, only if the other conditions on the
  /// record's own bytes do not refuse it. What may fail comes last: on which records it fails must not
  /// depend on the plan.
  static func inOrderOfCost(_ conditions: [FilterNode]) -> [FilterNode] {
    func rank(_ node: FilterNode) -> Int {
      node.mayFail ? 3 : node.asksRelated ? 2 : node.readsWords ? 1 : 0
    }
    guard conditions.contains(where: { rank($0) > 0 }) else { return conditions }
    return (0...3).flatMap { wanted in conditions.filter { rank($0) == wanted } }
  }

  private static func leaves(in node: FilterNode) -> Int {
    switch node {
    case .all(let parts), .any(let parts): parts.reduce(0) { $0 + leaves(in: $1) }
    case .not(let part): leaves(in: part)
    case .field: 1
    case .pair, .words, .record, .related: 0
    }
  }

  /// Whether the condition never needs the decoded record.
  static func isDecidable(_ node: FilterNode) -> Bool {
    switch node {
    case .all(let parts), .any(let parts): parts.allSatisfy(isDecidable)
    case .not(let part): isDecidable(part)
    case .field(let filter): isDecidable(filter.field)
    case .pair(let pair): PairTest.isDecidable(pair) || CalculationTest.isDecidable(pair)
    case .words(let words): WordsTest.isDecidable(words)
    case .related: true
    case .record: false
    }
  }

  /// Whether bytes may decide the condition for some records.
  private static func mayBeDecided(_ node: FilterNode) -> Bool {
    switch node {
    case .all(let parts), .any(let parts): parts.isEmpty || parts.contains(where: mayBeDecided)
    case .not(let part): mayBeDecided(part)
    case .field, .pair, .words, .record, .related: isDecidable(node)
    }
  }

  private static func isDecidable(_ field: FieldReference) -> Bool {
    if field.calculation != nil { return CalculationTest.isDecidable(field) }
    guard field.form.simple != nil else { return false }
    return field.identity == .id || field.storedPath != nil
  }

  /// The children are consecutive, so their places are reserved before they are filled.
  private func compile(_ filter: FilterNode, _ context: TransactionContext) throws -> Int {
    let place = nodes.count
    nodes.append(Node(operation: .unknown, first: 0, count: 0))
    try fill(place, filter, context)
    return place
  }

  private func fill(_ place: Int, _ filter: FilterNode, _ context: TransactionContext) throws {
    switch filter {
    case .all(let parts): try fill(place, .all, parts, context)
    case .any(let parts): try fill(place, .any, parts, context)
    case .not(let part): try fill(place, .not, [part], context)
    case .field(let filter) where filter.field.calculation != nil:
      add(CalculationTest(filter, context, typed.reading), place)
    case .field(let filter):
      guard let leaf = makeLeaf(filter, context) else { return }
      nodes[place] = Node(operation: .leaf, first: leafCount, count: 0)
      (leaves + leafCount).initialize(to: leaf)
      leafCount += 1
    case .pair(let pair) where pair.left.calculation != nil || pair.right.calculation != nil:
      add(CalculationTest(pair, context, typed.reading), place)
    case .pair(let pair):
      guard let test = PairTest(pair, context, typed.reading) else { return }
      nodes[place] = Node(operation: .pair, first: pairs.count, count: 0)
      pairs.append(test)
    case .words(let filter):
      guard let test = WordsTest(filter, context, typed.reading) else { return }
      nodes[place] = Node(operation: .words, first: words.count, count: 0)
      words.append(test)
    case .related(let filter):
      nodes[place] = Node(operation: .related, first: related.count, count: 0)
      related.append(try typed.test(filter))
    // Only the decoded record tells.
    case .record: break
    }
  }

  private func add(_ test: CalculationTest?, _ place: Int) {
    guard let test else { return }
    nodes[place] = Node(operation: .calculation, first: calculations.count, count: 0)
    calculations.append(test)
  }

  private func fill(
    _ place: Int, _ operation: Operation, _ parts: [FilterNode], _ context: TransactionContext
  ) throws {
    let first = nodes.count
    nodes[place] = Node(operation: operation, first: first, count: parts.count)
    for _ in parts { nodes.append(Node(operation: .unknown, first: 0, count: 0)) }
    for (number, part) in parts.enumerated() { try fill(first + number, part, context) }
  }

  private func makeLeaf(_ filter: FieldFilter, _ context: TransactionContext) -> Leaf? {
    let field = filter.field
    guard FilterProgram.isDecidable(field), let (primitive, isOptional) = field.form.simple else {
      return nil
    }
    let isID = field.identity == .id
    let test = ValueTest(filter.test, primitive, isOptional: isOptional)
    let stored = isID ? nil : field.storedPath.map { context.path($0, typed.reading) }
    let path = stored ?? context.idPath
    kept.append(test)
    kept.append(path)
    return Leaf(
      path: .passUnretained(path), test: .passUnretained(test), kind: test.kind, isID: isID,
      isMultiple: field.isMultiple)
  }

  /// A stored field with a range of numbers.
  private static func numberRange(_ node: FilterNode) -> (names: [String], test: ValueTest)? {
    guard case .field(let filter) = node, isDecidable(filter.field), !filter.field.isMultiple,
      let names = filter.field.storedPath,
      let (primitive, isOptional) = filter.field.form.simple, primitive.isNumber
    else { return nil }
    let test = ValueTest(filter.test, primitive, isOptional: isOptional)
    return test.bounds == nil ? nil : (names, test)
  }
}
