/// Two stored fields of a record compared with each other.
final class PairTest {
  private let left: FieldPath
  private let right: FieldPath
  private let comparison: PairFilter.Comparison
  private let primitive: KeyForm.Primitive
  private let kind: FieldKind
  private let leftIsOptional: Bool
  private let rightIsOptional: Bool
  @exclusivity(unchecked) private var leftBuffer = NFCBuffer()
  @exclusivity(unchecked) private var rightBuffer = NFCBuffer()

  /// Whether stored bytes are enough: two single stored fields of one standard type.
  static func isDecidable(_ pair: PairFilter) -> Bool {
    guard let left = pair.left.form.simple, let right = pair.right.form.simple else { return false }
    return left.primitive == right.primitive && !pair.left.isMultiple && !pair.right.isMultiple
      && pair.left.storedPath != nil && pair.right.storedPath != nil
  }

  init?(_ pair: PairFilter, _ context: TransactionContext, _ reading: FieldReading?) {
    guard PairTest.isDecidable(pair), let leftForm = pair.left.form.simple,
      let rightForm = pair.right.form.simple, let leftNames = pair.left.storedPath,
      let rightNames = pair.right.storedPath
    else { return nil }
    left = context.path(leftNames, reading)
    right = context.path(rightNames, reading)
    comparison = pair.comparison
    primitive = leftForm.primitive
    kind = primitive.storedKind
    leftIsOptional = leftForm.isOptional
    rightIsOptional = rightForm.isOptional
  }

  func test(_ record: UnsafeRawBufferPointer, _ shapes: ShapeTable) throws -> ValueTest.Outcome {
    let first = try left.read(in: record, shapes: shapes)
    let second = try right.read(in: record, shapes: shapes)
    switch (first, second) {
    case (.missing, _), (_, .missing): return .unknown
    case (.absent, .absent):
      guard leftIsOptional, rightIsOptional else { return .unknown }
      return ValueTest.Outcome(comparison == .equal)
    case (.absent, .value): return leftIsOptional ? .no : .unknown
    case (.value, .absent): return rightIsOptional ? .no : .unknown
    case (.value(let firstKind, let a), .value(let secondKind, let b)):
      guard firstKind == kind, secondKind == kind else { return .unknown }
      if kind == .decimal { return compare(decimals: a, b) }
      return ValueTest.Outcome(compare(a, b))
    }
  }

  private func compare(
    decimals a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer
  ) -> ValueTest.Outcome {
    guard let a = DecimalDigits(stored: a), let b = DecimalDigits(stored: b) else {
      return .unknown
    }
    return ValueTest.Outcome(accepts(a.withKey { a in b.withKey { b in compareBytes(a, b) } }))
  }

  private func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    if primitive.isNumber {
      let first = ComparableNumber.of(kind, stored: a)
      let second = ComparableNumber.of(kind, stored: b)
      if primitive.isFloatingPoint,
        first == ComparableNumber.nan || second == ComparableNumber.nan
      {
        return false
      }
      return accepts(first == second ? 0 : first < second ? -1 : 1)
    }
    guard primitive.isText else { return accepts(compareBytes(a, b)) }
    return accepts(compareBytes(normalized(a, &leftBuffer), normalized(b, &rightBuffer)))
  }

  private func accepts(_ order: Int) -> Bool {
    switch comparison {
    case .equal: order == 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    }
  }
}
