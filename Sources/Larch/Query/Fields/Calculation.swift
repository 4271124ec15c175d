/// A number that a filter calculates from fields of a record and constants.
///
/// If the type cannot hold the result, or for a division by zero, Swift would stop the program;
/// here the result is nil. It is not an error, because the plan decides which records are read, so
/// the same query would sometimes throw and sometimes not. A condition gives the same answer for a
/// record with every plan, and the answer of the Swift expression wherever that has one.
final class Calculation: Sendable {
  enum Operation: Sendable { case add, subtract, multiply, divide, remainder }

  enum Operand: Sendable {
    /// A field whose values are numbers of the type; it may itself be calculated.
    case field(FieldReference)
    case constant(CalculatedNumber)
  }

  let left: Operand
  let operation: Operation
  let right: Operand
  /// The type of the operands and of the result.
  let primitive: KeyForm.Primitive

  init(
    _ left: Operand, _ operation: Operation, _ right: Operand, _ primitive: KeyForm.Primitive
  ) {
    self.left = left
    self.operation = operation
    self.right = right
    self.primitive = primitive
  }

  /// The Swift expression. Constants appear as the caller shows them.
  func text(_ constant: (KeyValue) -> String) -> String {
    func part(_ operand: Operand) -> String {
      switch operand {
      case .constant(let number): constant(number.keyValue)
      case .field(let field): field.calculation.map { "(\($0.text(constant)))" } ?? field.name
      }
    }
    let sign =
      switch operation {
      case .add: " + "
      case .subtract: " - "
      case .multiply: " * "
      case .divide: " / "
      case .remainder: " % "
      }
    return part(left) + sign + part(right)
  }

  /// The result for a decoded record.
  func result<R>(_ record: R) -> CalculatedNumber {
    func value(_ operand: Operand) -> CalculatedNumber {
      switch operand {
      case .constant(let number): number
      // Operands are fields of the record that the filter is about.
      case .field(let field):
        CalculatedNumber(unsafeDowncast(field, to: TypedField<R>.self).value(of: record))
      }
    }
    return CalculatedNumber.calculate(value(left), operation, value(right), primitive)
  }
}

extension Calculation: Hashable {
  // Each is a separate field: no index covers one, so two equal ones may stay separate.
  static func == (left: Calculation, right: Calculation) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Gives each calculation its own key path, since key paths identify computed properties.
struct Calculations {
  subscript(calculation: Calculation) -> Calculation { calculation }
}

/// A number in a calculation: integers with 64 bits, floating point in its own type, so that each
/// step rounds as in Swift.
enum CalculatedNumber: Sendable {
  case signed(Int64)
  case unsigned(UInt64)
  case float(Float)
  case double(Double)
  /// There is no result.
  case none
  /// Only the decoded record has the value.
  case unknown

  init(_ values: [KeyValue]) {
    switch values.first {
    case .signed(let value): self = .signed(value)
    case .unsigned(let value): self = .unsigned(value)
    case .float(let value): self = .float(value)
    case .double(let value): self = .double(value)
    default: self = .none
    }
  }

  var keyValue: KeyValue {
    switch self {
    case .signed(let value): .signed(value)
    case .unsigned(let value): .unsigned(value)
    case .float(let value): .float(value)
    case .double(let value): .double(value)
    case .none, .unknown: .null
    }
  }

  static func calculate(
    _ left: CalculatedNumber, _ operation: Calculation.Operation, _ right: CalculatedNumber,
    _ primitive: KeyForm.Primitive
  ) -> CalculatedNumber {
    switch (left, right) {
    case (.double(let a), .double(let b)): return .double(result(a, operation, b))
    case (.float(let a), .float(let b)): return .float(result(a, operation, b))
    case (.signed(let a), .signed(let b)):
      let value = result(a, operation, b)
      // Swift stops for a remainder too whose quotient does not fit.
      if operation == .remainder, case .none = calculate(left, .divide, right, primitive) {
        return .none
      }
      switch primitive {
      case .int8: return fits(value, Int8.self) ? .signed(value.partialValue) : .none
      case .int16: return fits(value, Int16.self) ? .signed(value.partialValue) : .none
      case .int32: return fits(value, Int32.self) ? .signed(value.partialValue) : .none
      default: return value.overflow ? .none : .signed(value.partialValue)
      }
    case (.unsigned(let a), .unsigned(let b)):
      let value = result(a, operation, b)
      switch primitive {
      case .uint8: return fits(value, UInt8.self) ? .unsigned(value.partialValue) : .none
      case .uint16: return fits(value, UInt16.self) ? .unsigned(value.partialValue) : .none
      case .uint32: return fits(value, UInt32.self) ? .unsigned(value.partialValue) : .none
      default: return value.overflow ? .none : .unsigned(value.partialValue)
      }
    case (.unknown, _), (_, .unknown): return .unknown
    default: return .none
    }
  }

  private static func fits<Wide: FixedWidthInteger, Narrow: FixedWidthInteger>(
    _ value: (partialValue: Wide, overflow: Bool), _: Narrow.Type
  ) -> Bool {
    !value.overflow && Narrow(exactly: value.partialValue) != nil
  }

  private static func result<Number: FixedWidthInteger>(
    _ a: Number, _ operation: Calculation.Operation, _ b: Number
  ) -> (partialValue: Number, overflow: Bool) {
    switch operation {
    case .add: a.addingReportingOverflow(b)
    case .subtract: a.subtractingReportingOverflow(b)
    case .multiply: a.multipliedReportingOverflow(by: b)
    case .divide: a.dividedReportingOverflow(by: b)
    case .remainder: a.remainderReportingOverflow(dividingBy: b)
    }
  }

  private static func result<Number: FloatingPoint>(
    _ a: Number, _ operation: Calculation.Operation, _ b: Number
  ) -> Number {
    switch operation {
    case .add: a + b
    case .subtract: a - b
    case .multiply: a * b
    case .divide: a / b
    // No operator makes this: Swift has none for floating point.
    case .remainder: a.truncatingRemainder(dividingBy: b)
    }
  }
}
