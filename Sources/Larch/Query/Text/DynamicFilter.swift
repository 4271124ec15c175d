internal import Foundation

/// A test of a field without key values, or whose kind differs between records: it is evaluated on
/// the stored value.
package struct DynamicFilter: Sendable {
  /// The tested value: for a list, a test is true if it is true for some element.
  enum Reach {
    /// A value that may be a list or not.
    case either
    /// A list: any other value has no elements.
    case elements
    /// A value that is not a list.
    case single
  }

  package let names: [String]
  private let reach: Reach
  private let test: LiteralTest
  /// The test for each type of value; nil if no value of it passes.
  private let tests: [KeyForm.Primitive: FieldTest]

  init(_ names: [String], _ test: LiteralTest, _ reach: Reach) {
    self.names = names
    self.test = test
    self.reach = reach
    let asked: [KeyForm.Primitive] = [
      .bool, .int64, .float, .double, .string, .date, .uuid, .data, .url,
    ]
    var tests: [KeyForm.Primitive: FieldTest] = [:]
    for primitive in asked {
      tests[primitive] = DynamicFilter.fieldTest(test, primitive)
    }
    self.tests = tests
  }

  /// A constant that is not a value of the type equals no value.
  private static func fieldTest(
    _ test: LiteralTest, _ primitive: KeyForm.Primitive
  ) -> FieldTest? {
    guard case .oneOf(let literals) = test.kind else {
      return try? test.fieldTest(primitive, isOptional: false, "")
    }
    let fitting = literals.filter {
      let single = LiteralTest(kind: .oneOf([$0]), column: test.column)
      return (try? single.fieldTest(primitive, isOptional: false, "")) != nil
    }
    let some = LiteralTest(kind: .oneOf(fitting), column: test.column)
    return try? some.fieldTest(primitive, isOptional: false, "")
  }

  // MARK: Asking

  /// Whether the stored field of a record passes.
  ///
  /// - Parameter path: the path to the first of the names.
  /// - Throws: `.corrupted` for bytes that are not a record.
  package func matches(
    _ record: UnsafeRawBufferPointer, _ path: FieldPath, _ shapes: ShapeTable
  ) throws -> Bool {
    let value = try FieldValue(try path.read(in: record, shapes: shapes), shapes: shapes)
    return matches(value, names.dropFirst(), isElement: false)
  }

  /// Whether a record passes, given as a value.
  func matches(_ record: FieldValue) -> Bool { matches(record, names[...], isElement: false) }

  private func matches(
    _ value: FieldValue, _ rest: ArraySlice<String>, isElement: Bool
  ) -> Bool {
    switch (value, rest.first) {
    case (.record(let fields), let name?):
      return matches(fields[name] ?? .null, rest.dropFirst(), isElement: isElement)
    // A list inside a list is not tested.
    case (.list(let elements), _) where !isElement && !isAboutWhole(rest):
      return reach != .single && elements.contains { matches($0, rest, isElement: true) }
    case _ where reach == .elements && !isElement && !isAboutWhole(rest): return false
    case (.null, _): return matchesNil
    case (_, nil): return passes(value)
    // The path has no value at its end.
    case (_, _?): return matchesNil
    }
  }

  /// Whether the field itself is tested, be it a list or not.
  private func isAboutWhole(_ rest: ArraySlice<String>) -> Bool {
    if case .isNil = test.kind { return rest.isEmpty }
    return false
  }

  private var matchesNil: Bool {
    switch test.kind {
    case .isNil: true
    case .equal(let literal): literal.value == .null
    case .oneOf(let literals): literals.contains { $0.value == .null }
    case .within, .text: false
    }
  }

  private func passes(_ value: FieldValue) -> Bool {
    switch value {
    case .null: matchesNil
    case .bool(let value): passes(.bool, .bool(value))
    case .int(let value): passes(.int64, .signed(value))
    case .bigInt(let value): matches(value.description)
    case .bigUInt(let value): matches(value.description)
    case .float(let value): passes(.float, .float(value))
    case .double(let value): passes(.double, .double(value))
    case .string(let value): passes(.string, .string(value))
    case .date(let value): passes(.date, .date(value.timeIntervalSinceReferenceDate))
    case .uuid(let value):
      passes(.uuid, .uuid(withUnsafeBytes(of: value.uuid) { [UInt8]($0) }))
    case .data(let value): passes(.data, .data([UInt8](value)))
    case .url(let value): passes(.url, .url(value))
    case .decimal(let value): matches(value)
    case .list, .record: false
    }
  }

  private func passes(_ primitive: KeyForm.Primitive, _ value: KeyValue) -> Bool {
    tests[primitive]?.matches([value]) ?? false
  }

  // MARK: Numbers without key values

  /// An integer that does not fit 64 bits.
  private func matches(_ digits: String) -> Bool {
    guard let number = ExactNumber(digits) else { return false }
    return matches { literal in
      DynamicFilter.number(literal).map { ExactNumber.compare(number, $0) }
    }
  }

  private static func number(_ literal: QueryText.Literal) -> ExactNumber? {
    switch literal.value {
    case .number(let text): ExactNumber(text)
    case .hexadecimal(let digits): ExactNumber(hexadecimal: digits)
    default: nil
    }
  }

  private func matches(_ decimal: Decimal) -> Bool {
    matches { literal in
      guard let other = DynamicFilter.decimal(literal) else { return nil }
      return decimal == other ? 0 : decimal < other ? -1 : 1
    }
  }

  static func decimal(_ literal: QueryText.Literal) -> Decimal? {
    switch literal.value {
    case .number("nan"): .nan
    case .number(let text): ExactNumber(text) == nil ? nil : Decimal(string: text)
    case .hexadecimal(let digits): UInt64(digits, radix: 16).map { Decimal($0) }
    default: nil
    }
  }

  /// - Parameter compare: compares the value with a constant; nil if it is not such a number.
  private func matches(_ compare: (QueryText.Literal) -> Int?) -> Bool {
    switch test.kind {
    case .isNil, .text: false
    case .equal(let literal): compare(literal) == 0
    case .oneOf(let literals): literals.contains { compare($0) == 0 }
    case .within(let lower, let upper):
      (lower.map { bound in
        compare(bound.literal).map { $0 > 0 || ($0 == 0 && bound.isIncluded) } ?? false
      } ?? true)
        && (upper.map { bound in
          compare(bound.literal).map { $0 < 0 || ($0 == 0 && bound.isIncluded) } ?? false
        } ?? true)
    }
  }
}
