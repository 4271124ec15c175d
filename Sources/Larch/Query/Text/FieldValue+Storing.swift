extension FieldValue {
  /// The value that a record would store for a value of the program: an enum with a raw value is its
  /// raw value, an id is its number, and nil is `.null`.
  ///
  /// - Throws: `.invalidQuery` for a range, and for a value that is not `Encodable`; `.encodingFailed`.
  init(storing value: (any Sendable)?) throws {
    guard let value else {
      self = .null
      return
    }
    if let known = value as? FieldValue {
      self = known
    } else if let text = value as? String {
      self = .string(text)
    } else if let number = value as? Int {
      self = .int(Int64(number))
    } else if value is any RangeOfValues {
      // A range encodes its two bounds, which would be taken for a list of two values.
      throw LarchError(
        .invalidQuery,
        "A range is no value of a query; compare with its bounds, as in `age >= ? and age < ?`, or use a closure, as in `where { range.contains($0.age) }`."
      ) { $0.detail = "\(type(of: value))" }
    } else if let value = value as? any Encodable {
      self = try FieldValue.encoded(value)
    } else if (value as? any OptionalType)?.isNil == true {
      self = .null
    } else {
      throw LarchError(
        .invalidQuery,
        "A value of a query must be Encodable, as the values of records are; the detail has its type."
      ) { $0.detail = "\(type(of: value))" }
    }
  }

  /// Any encodable value, with the names that its type gives to its fields.
  static func encoded<Value: Encodable>(_ value: Value) throws -> FieldValue {
    let coder = coders.take { RecordCoder(shapes: ShapeTable(), writesMaps: true) }
    defer { coders.give(back: coder) }
    let bytes = try coder.encode(value)
    return try FieldValue(RawField(try RecordFormat.value(of: bytes)), shapes: coder.shapes)
  }

  private static let coders = Pool<RecordCoder>(limit: 8)
}

/// Any range of the standard library.
private protocol RangeOfValues {}
extension Range: RangeOfValues {}
extension ClosedRange: RangeOfValues {}
extension PartialRangeFrom: RangeOfValues {}
extension PartialRangeUpTo: RangeOfValues {}
extension PartialRangeThrough: RangeOfValues {}
