/// An id that the store assigns at the first save: small, dense, ascending from 1.
///
/// It belongs to one record type, so that the id of a company cannot be used as that of a person. A
/// new id is unassigned until its record is saved. The id of a deleted record is not used again.
public struct RecordID<Owner>: Hashable, Sendable {
  /// The number; 0 while the id is unassigned.
  public let rawValue: Int64

  /// An unassigned id, for a record that has not been saved yet.
  public init() { rawValue = 0 }

  /// The id with this number.
  public init(_ rawValue: Int64) { self.rawValue = rawValue }

  /// Whether a store has assigned the id.
  public var isAssigned: Bool { rawValue != 0 }
}

extension RecordID: RawRepresentable {
  /// The id with this number.
  public init(rawValue: Int64) { self.rawValue = rawValue }
}

extension RecordID: Comparable {
  /// Compares the numbers, which have the order of the first saves.
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension RecordID: ExpressibleByIntegerLiteral {
  /// The id with this number.
  public init(integerLiteral value: Int64) { rawValue = value }
}

extension RecordID: CustomStringConvertible {
  /// The number, or `unassigned`.
  public var description: String { isAssigned ? String(rawValue) : "unassigned" }
}

extension RecordID: Codable {
  /// Reads the number.
  public init(from decoder: any Decoder) throws {
    rawValue = try decoder.singleValueContainer().decode(Int64.self)
  }

  /// Writes only the number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

extension RecordID: Int64Coded {}

extension RecordID: RecordIdentifier {
  /// 8 bytes, big-endian, sign flipped.
  @_documentation(visibility: private)
  public func _writeID(to writer: inout KeyWriter) throws { writer.append(int64: rawValue) }

  /// Whether the number is still 0.
  @_documentation(visibility: private)
  public var _isUnassigned: Bool { rawValue == 0 }

  /// The record stores the number, so keys are made from the stored bytes.
  @_documentation(visibility: private)
  public static var _key: _Witness { RecordIDKey<Owner>() }
}

/// For an id: its number, which the record stores.
private final class RecordIDKey<Owner>: KeyCoding<RecordID<Owner>>, @unchecked Sendable {
  init() { super.init(.primitive(.int64), isStandard: true) }

  override func write(_ value: RecordID<Owner>, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int64: value.rawValue)
  }

  override func append(_ value: RecordID<Owner>, to values: inout KeyValues) {
    values.append(.signed(value.rawValue))
  }

  override func make(_ known: KeyValue, at target: UnsafeMutablePointer<RecordID<Owner>>) -> Bool {
    guard case .signed(let number) = known else { return false }
    target.initialize(to: RecordID(number))
    return true
  }

  override func optional() -> KeyCoding<RecordID<Owner>?> { OptionalRecordIDKey(self) }

  override var idKind: RecordIDKind? { .assigned }

  override func assigned(_ number: Int64) -> RecordID<Owner>? { RecordID(number) }

  override func assign(_ number: Int64, to id: inout RecordID<Owner>) -> Bool {
    id = RecordID(number)
    return true
  }

  override func makeID(
    _ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<RecordID<Owner>>
  ) -> Bool {
    guard let number = Int64(idKey: key) else { return false }
    target.initialize(to: RecordID(number))
    return true
  }
}

/// For a reference that may be nil. An optional of any type is looked up in the runtime for each value;
/// this one's size is known.
private final class OptionalRecordIDKey<Owner>: OptionalKey<RecordID<Owner>>, @unchecked Sendable {
  override func write(_ value: RecordID<Owner>?, to writer: inout KeyWriter, isLast: Bool) {
    guard let value else { return writer.appendNil() }
    writer.appendPresent()
    writer.append(int64: value.rawValue)
  }

  override func append(_ value: RecordID<Owner>?, to values: inout KeyValues) {
    if let value { values.append(.signed(value.rawValue)) } else { values.append(.null) }
  }
}
