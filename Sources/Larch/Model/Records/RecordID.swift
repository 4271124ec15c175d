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
  /// Assigned by the store: the id with this number.
  @_documentation(visibility: private)
  public static func _id(_ number: Int64) -> (kind: RecordIDKind, id: Self?) {
    (.assigned, Self(number))
  }

  /// 8 bytes, big-endian, sign flipped.
  @_documentation(visibility: private)
  public func _writeID(to writer: inout KeyWriter) throws { writer.append(int64: rawValue) }

  /// The number is what the record stores, so keys are made from the stored bytes.
  @_documentation(visibility: private)
  public static var _key: _Witness { RawValueKey<Self>(isStandard: true) }
}
