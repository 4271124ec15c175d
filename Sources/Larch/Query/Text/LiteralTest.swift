internal import Foundation

/// A test of a field with the constants as written: each kind of field reads them in its own way.
struct LiteralTest: Sendable {
  typealias Literal = QueryText.Literal

  struct Bound: Sendable {
    let literal: Literal
    let isIncluded: Bool
  }

  enum Kind: Sendable {
    case isNil
    case equal(Literal)
    case within(lower: Bound?, upper: Bound?)
    case oneOf([Literal])
    case text(TextTest)
  }

  let kind: Kind
  /// The column in the query.
  let column: Int

  /// The test of values of a standard type.
  ///
  /// - Parameters:
  ///   - isOptional: whether the values may be nil.
  ///   - field: the name of the field in errors.
  func fieldTest(
    _ primitive: KeyForm.Primitive, isOptional: Bool, _ field: String
  ) throws(QueryTextError) -> FieldTest {
    let reader = LiteralReader(primitive: primitive, field: field)
    switch kind {
    case .isNil: return .equal([.null])
    case .equal(let literal):
      if case .null = literal.value { return .equal([.null]) }
      return try reader.equal(literal).map { .equal([$0]) } ?? .oneOf([])
    case .oneOf(let literals):
      var values: [[KeyValue]] = []
      for literal in literals {
        if case .null = literal.value {
          // A field that is never nil cannot be compared with nil.
          if isOptional { values.append([.null]) }
        } else if let value = try reader.equal(literal) {
          values.append([value])
        }
      }
      return .oneOf(anyOrder: values)
    case .within(let lower, let upper):
      let from = try lower.map { bound throws(QueryTextError) in try reader.lower(bound) }
      let to = try upper.map { bound throws(QueryTextError) in try reader.upper(bound) }
      if case .nothing? = from { return .oneOf([]) }
      if case .nothing? = to { return .oneOf([]) }
      return .within(lower: from?.bound, upper: to?.bound)
    case .text(let test):
      guard primitive == .string else {
        throw QueryTextError(
          column,
          "\(QueryTextError.shown(field)) is \(primitive.nameInErrors): only text has this test")
      }
      return .text(test)
    }
  }
}

/// Reads constants as values of one standard type.
struct LiteralReader {
  typealias Literal = QueryText.Literal

  enum End {
    case at(ValueBound)
    /// Every value is within the bound.
    case everything
    /// No value is within the bound.
    case nothing

    var bound: ValueBound? {
      if case .at(let bound) = self { return bound }
      return nil
    }
  }

  let primitive: KeyForm.Primitive
  let field: String

  /// The value; nil if no value of the type equals the constant.
  func equal(_ literal: Literal) throws(QueryTextError) -> KeyValue? {
    guard let range = integerRange else { return try value(literal) }
    let (floor, isExact) = try number(literal).floor
    return isExact && range.contains(floor) ? integer(floor) : nil
  }

  /// The lower bound: values greater than the constant, or equal if it is included.
  func lower(_ bound: LiteralTest.Bound) throws(QueryTextError) -> End {
    guard let range = integerRange else {
      return .at(ValueBound(values: [try value(bound.literal)], isIncluded: bound.isIncluded))
    }
    let (floor, isExact) = try number(bound.literal).floor
    if floor < range.lowerBound { return .everything }
    if floor > range.upperBound { return .nothing }
    // Integers above 1.5 are those above 1.
    return .at(
      ValueBound(values: [integer(floor)], isIncluded: isExact && bound.isIncluded))
  }

  /// The upper bound: values less than the constant, or equal if it is included.
  func upper(_ bound: LiteralTest.Bound) throws(QueryTextError) -> End {
    guard let range = integerRange else {
      return .at(ValueBound(values: [try value(bound.literal)], isIncluded: bound.isIncluded))
    }
    let (floor, isExact) = try number(bound.literal).floor
    if floor < range.lowerBound { return .nothing }
    if floor > range.upperBound { return .everything }
    return .at(
      ValueBound(values: [integer(floor)], isIncluded: !isExact || bound.isIncluded))
  }

  // MARK: Integers

  private var integerRange: ClosedRange<Int128>? {
    func range<I: FixedWidthInteger>(_: I.Type) -> ClosedRange<Int128> {
      Int128(I.min)...Int128(I.max)
    }
    return switch primitive {
    case .int8: range(Int8.self)
    case .int16: range(Int16.self)
    case .int32: range(Int32.self)
    case .int64: range(Int64.self)
    case .uint8: range(UInt8.self)
    case .uint16: range(UInt16.self)
    case .uint32: range(UInt32.self)
    case .uint64: range(UInt64.self)
    default: nil
    }
  }

  private func integer(_ number: Int128) -> KeyValue {
    switch primitive {
    case .uint8, .uint16, .uint32, .uint64: .unsigned(UInt64(truncatingIfNeeded: number))
    default: .signed(Int64(truncatingIfNeeded: number))
    }
  }

  private func number(_ literal: Literal) throws(QueryTextError) -> ExactNumber {
    let found: ExactNumber? =
      switch literal.value {
      case .number(let text): ExactNumber(text)
      case .hexadecimal(let digits): ExactNumber(hexadecimal: digits)
      default: nil
      }
    guard let found else { throw mismatch(literal, "a number") }
    return found
  }

  // MARK: Others

  private func value(_ literal: Literal) throws(QueryTextError) -> KeyValue {
    switch primitive {
    case .bool:
      guard case .bool(let value) = literal.value else { throw mismatch(literal, "true or false") }
      return .bool(value)
    case .float: return .float(try floatingPoint(literal))
    case .double: return .double(try floatingPoint(literal))
    case .date: return .date(try date(literal))
    case .string: return .string(try text(literal))
    case .url: return .url(try text(literal))
    case .uuid:
      if case .uuid(let bytes) = literal.value { return .uuid(bytes) }
      guard case .text(let text) = literal.value, let uuid = UUID(uuidString: text) else {
        throw mismatch(literal, "a UUID in quotes")
      }
      return .uuid(withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) })
    case .data: return .data(try data(literal))
    case .decimal:
      guard let value = DynamicFilter.decimal(literal) else {
        throw mismatch(literal, "a number that a Decimal can hold")
      }
      return .decimal(DecimalKey(DecimalDigits(value)))
    // Handled by `equal`, `lower` and `upper`.
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64:
      throw mismatch(literal, "a number")
    }
  }

  /// Like a Swift literal: the nearest representable number.
  private func floatingPoint<F: BinaryFloatingPoint & LosslessStringConvertible>(
    _ literal: Literal
  ) throws(QueryTextError) -> F {
    let source: String
    switch literal.value {
    case .number(let text): source = text
    case .hexadecimal(let digits): source = "0x" + digits
    default: throw mismatch(literal, "a number")
    }
    guard let number = F(source) else { throw mismatch(literal, "a number") }
    let isNamed = source.hasSuffix("inf") || source == "nan"
    guard number.isFinite || isNamed else {
      throw QueryTextError(
        literal.column,
        "\(literal.isValue ? literal.shown : QueryTextError.shown(source)) is greater than every \(primitive.rawValue)"
      )
    }
    return number
  }

  private func date(_ literal: Literal) throws(QueryTextError) -> Double {
    switch literal.value {
    case .date(let seconds): return seconds
    case .number: return try floatingPoint(literal)
    case .text(let text):
      if let seconds = DateText.seconds(text) { return seconds }
    default: break
    }
    throw mismatch(literal, "a date such as 2024-05-01 or 2024-05-01T10:00:00Z")
  }

  private func text(_ literal: Literal) throws(QueryTextError) -> String {
    guard case .text(let text) = literal.value else { throw mismatch(literal, "a text in quotes") }
    return text
  }

  private func data(_ literal: Literal) throws(QueryTextError) -> [UInt8] {
    switch literal.value {
    case .bytes(let bytes): return bytes
    case .text(let text):
      if let data = Data(base64Encoded: text) { return [UInt8](data) }
    case .hexadecimal(let digits):
      if let bytes = Self.bytes(hexadecimal: digits) { return bytes }
    default: break
    }
    throw mismatch(literal, "bytes such as 0x00FF, or base64 in quotes")
  }

  private static func bytes(hexadecimal text: String) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map {
      UInt8(digits[$0] * 16 + digits[$0 + 1])
    }
  }

  // MARK: Errors

  private func mismatch(_ literal: Literal, _ expected: String) -> QueryTextError {
    QueryTextError(
      literal.column,
      "\(QueryTextError.shown(field)) is \(primitive.nameInErrors): expected \(expected), found "
        + literal.shown)
  }
}

extension KeyForm.Primitive {
  /// With its article.
  var nameInErrors: String {
    switch self {
    case .int8, .int16, .int32, .int64: "an \(rawValue)"
    default: "a \(rawValue)"
    }
  }
}
