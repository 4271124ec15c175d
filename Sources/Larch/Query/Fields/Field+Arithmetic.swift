// Numbers that filters calculate: `$0.price * $0.amount > 100`.
//
// The operators that refuse something belong to a global actor on which no code runs:
// `Field+Refused.swift` says why.

/// A number that filters calculate with: an integer or a floating-point number of the standard
/// library. You never need to conform to this protocol.
@_documentation(visibility: private)
public protocol FieldNumber: IndexKey, Numeric, Sendable, _NumberOrNil {}

/// A ``FieldNumber``, or an optional of one.
@_documentation(visibility: private)
public protocol _NumberOrNil {}

extension Optional: _NumberOrNil where Wrapped: FieldNumber {}

extension Int: FieldNumber {}
extension Int8: FieldNumber {}
extension Int16: FieldNumber {}
extension Int32: FieldNumber {}
extension Int64: FieldNumber {}
extension UInt: FieldNumber {}
extension UInt8: FieldNumber {}
extension UInt16: FieldNumber {}
extension UInt32: FieldNumber {}
extension UInt64: FieldNumber {}
extension Float: FieldNumber {}
extension Double: FieldNumber {}

extension Field where Value: FieldNumber {
  /// The sum of two numbers; nil if the type cannot hold it.
  public static func + (left: Self, right: Self) -> Self {
    calculated(left.operand, .add, right.operand)
  }

  /// The sum of two numbers; nil if the type cannot hold it.
  public static func + (left: Self, right: Value) -> Self {
    calculated(left.operand, .add, constant(right))
  }

  /// The sum of two numbers; nil if the type cannot hold it.
  public static func + (left: Value, right: Self) -> Self {
    calculated(constant(left), .add, right.operand)
  }

  /// The difference of two numbers; nil if the type cannot hold it.
  public static func - (left: Self, right: Self) -> Self {
    calculated(left.operand, .subtract, right.operand)
  }

  /// The difference of two numbers; nil if the type cannot hold it.
  public static func - (left: Self, right: Value) -> Self {
    calculated(left.operand, .subtract, constant(right))
  }

  /// The difference of two numbers; nil if the type cannot hold it.
  public static func - (left: Value, right: Self) -> Self {
    calculated(constant(left), .subtract, right.operand)
  }

  /// The product of two numbers; nil if the type cannot hold it.
  public static func * (left: Self, right: Self) -> Self {
    calculated(left.operand, .multiply, right.operand)
  }

  /// The product of two numbers; nil if the type cannot hold it.
  public static func * (left: Self, right: Value) -> Self {
    calculated(left.operand, .multiply, constant(right))
  }

  /// The product of two numbers; nil if the type cannot hold it.
  public static func * (left: Value, right: Self) -> Self {
    calculated(constant(left), .multiply, right.operand)
  }

  /// The quotient of two numbers; of integers without the remainder; nil where Swift would stop the
  /// program.
  public static func / (left: Self, right: Self) -> Self {
    calculated(left.operand, .divide, right.operand)
  }

  /// The quotient of two numbers; of integers without the remainder; nil where Swift would stop the
  /// program.
  public static func / (left: Self, right: Value) -> Self {
    calculated(left.operand, .divide, constant(right))
  }

  /// The quotient of two numbers; of integers without the remainder; nil where Swift would stop the
  /// program.
  public static func / (left: Value, right: Self) -> Self {
    calculated(constant(left), .divide, right.operand)
  }
}

extension Field where Value: FieldNumber & BinaryInteger {
  /// The remainder of a division of integers; nil where Swift would stop the program.
  public static func % (left: Self, right: Self) -> Self {
    calculated(left.operand, .remainder, right.operand)
  }

  /// The remainder of a division of integers; nil where Swift would stop the program.
  public static func % (left: Self, right: Value) -> Self {
    calculated(left.operand, .remainder, constant(right))
  }

  /// The remainder of a division of integers; nil where Swift would stop the program.
  public static func % (left: Value, right: Self) -> Self {
    calculated(constant(left), .remainder, right.operand)
  }
}

extension Field where Value: FieldNumber & SignedNumeric {
  /// The number with the other sign; nil if the type cannot hold it.
  public static prefix func - (field: Self) -> Self {
    // Not zero minus the number, which would give 0.0 for 0.0, and not -0.0.
    calculated(constant(-1), .multiply, field.operand)
  }
}

extension Field where Value: FieldNumber {
  fileprivate var operand: Result<Calculation.Operand, LarchError> {
    node.error.map { .failure($0) } ?? .success(.field(node.indexKey().field))
  }

  fileprivate static func constant(_ value: Value) -> Result<Calculation.Operand, LarchError> {
    .success(.constant(CalculatedNumber(Value.values(of: value))))
  }

  fileprivate static func calculated(
    _ left: Result<Calculation.Operand, LarchError>, _ operation: Calculation.Operation,
    _ right: Result<Calculation.Operand, LarchError>
  ) -> Self {
    do {
      return Self(node: .calculated(try left.get(), operation, try right.get()))
    } catch {
      return Self(node: FieldNode(refused: error, name: "…", read: { _ in 0 }))
    }
  }
}

extension FieldNode where Value: FieldNumber {
  fileprivate static func calculated(
    _ left: Calculation.Operand, _ operation: Calculation.Operation, _ right: Calculation.Operand
  ) -> FieldNode {
    // All types that conform are primitive.
    let primitive: KeyForm.Primitive =
      if case .primitive(let known) = Value.keyCoding.form.node { known } else { .int64 }
    let calculation = Calculation(left, operation, right, primitive)
    let field = TypedField<Root>(
      form: .optional(.primitive(primitive)), isMultiple: false, isStandard: true,
      name: calculation.text { _ in "…" }, identity: .computed(\Calculations.[calculation]),
      calculation: calculation,
      forEachValue: { _ = $1(KeyValues([calculation.result($0).keyValue])) })
    return FieldNode(calculated: FieldKey(Value.self, field))
  }
}

// MARK: - Refused

/// The actor of the operators that refuse values of different types, optionals, and values that are
/// not numbers, for which Swift has no arithmetic either. No code runs on it.
@globalActor
public actor `calculate with two integers or floats of one type, none optional` {
  /// Required by Swift.
  public static let shared = `calculate with two integers or floats of one type, none optional`()
}

extension Field {
  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func + <Other>(left: Self, right: Other) -> Self { left.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func + <Other>(left: Other, right: Self) -> Self { right.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func - <Other>(left: Self, right: Other) -> Self { left.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func - <Other>(left: Other, right: Self) -> Self { right.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func * <Other>(left: Self, right: Other) -> Self { left.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func * <Other>(left: Other, right: Self) -> Self { right.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func / <Other>(left: Self, right: Other) -> Self { left.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func / <Other>(left: Other, right: Self) -> Self { right.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func % <Other>(left: Self, right: Other) -> Self { left.refused }

  /// Refused: as in Swift, arithmetic needs two numbers of the same type, which are not optional.
  @`calculate with two integers or floats of one type, none optional`
  @_disfavoredOverload
  public static func % <Other>(left: Other, right: Self) -> Self { right.refused }

  private var refused: Self {
    let error = LarchError(
      .invalidQuery,
      "A filter calculates with an optional, or with two types; use two numbers of one type."
    ) { $0.field = node.name }
    return Self(node: FieldNode(refused: error, name: node.name, read: node.read))
  }
}
