/// A condition on numbers that are calculated from stored fields of a record.
final class CalculationTest {
  private indirect enum Part {
    case constant(CalculatedNumber)
    case id(isSigned: Bool)
    case stored(FieldPath, FieldKind, isOptional: Bool)
    case calculated(Part, Calculation.Operation, Part, KeyForm.Primitive)
  }

  private enum Question {
    case test(ValueTest)
    case comparison(PairFilter.Comparison, Part)
  }

  private let part: Part
  private let question: Question

  // MARK: Making

  /// Whether stored bytes are enough: numbers of standard types, each a field of the record or its
  /// id.
  static func isDecidable(_ field: FieldReference) -> Bool {
    guard let calculation = field.calculation else {
      guard let simple = field.form.simple, !field.isMultiple else { return false }
      return simple.primitive.isNumber && field.isStandard
        && (field.identity == .id || field.storedPath != nil)
    }
    return [calculation.left, calculation.right].allSatisfy { operand in
      if case .field(let field) = operand { return isDecidable(field) }
      return true
    }
  }

  static func isDecidable(_ pair: PairFilter) -> Bool {
    guard pair.left.calculation != nil || pair.right.calculation != nil else { return false }
    return isDecidable(pair.left) && isDecidable(pair.right)
      && pair.left.form.simple?.primitive == pair.right.form.simple?.primitive
  }

  init?(_ filter: FieldFilter, _ context: TransactionContext, _ reading: FieldReading?) {
    guard CalculationTest.isDecidable(filter.field), let simple = filter.field.form.simple,
      let part = CalculationTest.part(filter.field, context, reading)
    else { return nil }
    self.part = part
    question = .test(ValueTest(filter.test, simple.primitive, isOptional: simple.isOptional))
  }

  init?(_ pair: PairFilter, _ context: TransactionContext, _ reading: FieldReading?) {
    guard CalculationTest.isDecidable(pair),
      let left = CalculationTest.part(pair.left, context, reading),
      let right = CalculationTest.part(pair.right, context, reading)
    else { return nil }
    part = left
    question = .comparison(pair.comparison, right)
  }

  private static func part(
    _ field: FieldReference, _ context: TransactionContext, _ reading: FieldReading?
  ) -> Part? {
    if let calculation = field.calculation {
      guard let left = part(calculation.left, context, reading),
        let right = part(calculation.right, context, reading)
      else { return nil }
      return .calculated(left, calculation.operation, right, calculation.primitive)
    }
    guard let simple = field.form.simple else { return nil }
    let kind = simple.primitive.storedKind
    if field.identity == .id { return .id(isSigned: kind.isSigned) }
    return field.storedPath.map {
      .stored(context.path($0, reading), kind, isOptional: simple.isOptional)
    }
  }

  private static func part(
    _ operand: Calculation.Operand, _ context: TransactionContext, _ reading: FieldReading?
  ) -> Part? {
    switch operand {
    case .constant(let number): .constant(number)
    case .field(let field): part(field, context, reading)
    }
  }

  // MARK: Asking

  func test(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, _ shapes: ShapeTable
  ) throws -> ValueTest.Outcome {
    let left = try CalculationTest.value(part, record, id, shapes)
    if case .unknown = left { return .unknown }
    switch question {
    case .test(let test): return left.comparable.map { test.test(number: $0) } ?? test.whenNil
    case .comparison(let comparison, let part):
      let right = try CalculationTest.value(part, record, id, shapes)
      if case .unknown = right { return .unknown }
      guard let a = left.comparable, let b = right.comparable else {
        // Nil equals nil, and has no order.
        let isNeither = left.comparable == nil && right.comparable == nil
        return ValueTest.Outcome(comparison == .equal && isNeither)
      }
      if left.isNaN || right.isNaN { return .no }
      switch comparison {
      case .equal: return ValueTest.Outcome(a == b)
      case .less: return ValueTest.Outcome(a < b)
      case .lessOrEqual: return ValueTest.Outcome(a <= b)
      }
    }
  }

  private static func value(
    _ part: Part, _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    _ shapes: ShapeTable
  ) throws -> CalculatedNumber {
    switch part {
    case .constant(let number): return number
    case .id(let isSigned):
      guard id.count == 8 else { return .unknown }
      let bits = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))
      return isSigned ? .signed(Int64(bitPattern: bits ^ 1 << 63)) : .unsigned(bits)
    case .stored(let path, let wanted, let isOptional):
      switch try path.read(in: record, shapes: shapes) {
      case .missing: return .unknown
      case .absent: return isOptional ? .none : .unknown
      case .value(let kind, let bytes):
        return kind == wanted ? CalculatedNumber(kind, stored: bytes) : .unknown
      }
    case .calculated(let left, let operation, let right, let primitive):
      return CalculatedNumber.calculate(
        try value(left, record, id, shapes), operation, try value(right, record, id, shapes),
        primitive)
    }
  }
}

extension FieldKind {
  /// Whether an integer of this kind can be negative.
  fileprivate var isSigned: Bool {
    switch self {
    case .int8, .int16, .int32, .int64: true
    default: false
    }
  }
}

extension CalculatedNumber {
  /// A stored value of a fixed kind; `unknown` if it is not a number.
  fileprivate init(_ kind: FieldKind, stored bytes: UnsafeRawBufferPointer) {
    func little<T: FixedWidthInteger>(_: T.Type) -> T {
      T(littleEndian: bytes.loadUnaligned(as: T.self))
    }
    switch kind {
    case .int64: self = .signed(little(Int64.self))
    case .double: self = .double(Double(bitPattern: little(UInt64.self)))
    case .int8: self = .signed(Int64(little(Int8.self)))
    case .int16: self = .signed(Int64(little(Int16.self)))
    case .int32: self = .signed(Int64(little(Int32.self)))
    case .uint8: self = .unsigned(UInt64(bytes[0]))
    case .uint16: self = .unsigned(UInt64(little(UInt16.self)))
    case .uint32: self = .unsigned(UInt64(little(UInt32.self)))
    case .uint64: self = .unsigned(little(UInt64.self))
    case .float: self = .float(Float(bitPattern: little(UInt32.self)))
    default: self = .unknown
    }
  }

  /// The value for comparisons; nil if there is no number.
  fileprivate var comparable: UInt64? {
    switch self {
    case .signed(let value): ComparableNumber.of(value)
    case .unsigned(let value): value
    case .double(let value): ComparableNumber.of(value)
    case .float(let value): ComparableNumber.of(Double(value))
    case .none, .unknown: nil
    }
  }

  fileprivate var isNaN: Bool {
    switch self {
    case .double(let value): value.isNaN
    case .float(let value): value.isNaN
    default: false
    }
  }
}
