public import Foundation

/// A type that can be the `id` of a record: `RecordID`, `UUID`, `String`, any integer, or your own
/// type with one of these as its raw value (`struct ISBN: RawRepresentable, RecordIdentifier`).
///
/// Records are stored in the order of their ids. Larch implements the requirements with an
/// underscore; your own type gets them from its raw value.
public protocol RecordIdentifier: Hashable, Codable, Sendable, IndexKey, IDReference
where _ReferencedID == Self {
  /// How ids of this type are stored, and the one with a number where the store assigns them; nil
  /// for all others.
  static func _id(_ number: Int64) -> (kind: RecordIDKind, id: Self?)

  /// Writes the bytes that the record is stored under.
  func _writeID(to writer: inout KeyWriter) throws
}

/// How the ids of a collection are stored. The raw values are part of the file format.
public enum RecordIDKind: UInt8, Sendable {
  /// Assigned by the store: 8 bytes, big-endian, sign flipped.
  case assigned = 1
  /// A signed integer of the program: the same bytes.
  case integer = 2
  /// An unsigned integer of the program: 8 bytes, big-endian.
  case unsigned = 3
  /// A UUID: its 16 bytes.
  case uuid = 4
  /// NFC text after a lead byte, up to the key limit of LMDB.
  case string = 5

  /// The length of every id of this kind, or nil if it differs from id to id.
  package var width: Int? {
    switch self {
    case .assigned, .integer, .unsigned: 8
    case .uuid: 16
    case .string: nil
    }
  }
}

extension RecordIdentifier {
  /// How the id is stored.
  package static var idKind: RecordIDKind { _id(0).kind }

  /// The id with this number, for types whose ids the store assigns; nil for all others.
  static func assigned(_ number: Int64) -> Self? { _id(number).id }

  /// Whether the store has still to assign this id. Ids of other kinds always have a value.
  var isUnassigned: Bool { Self._id(0).id.map { $0 == self } ?? false }
}

extension RecordIdentifier where Self: RawRepresentable, RawValue: RecordIdentifier {
  /// As for the raw value, which may be a `RecordID`.
  @_documentation(visibility: private)
  public static func _id(_ number: Int64) -> (kind: RecordIDKind, id: Self?) {
    let raw = RawValue._id(number)
    return (raw.kind, raw.id.flatMap { Self(rawValue: $0) })
  }

  /// The bytes of the raw value.
  @_documentation(visibility: private)
  public func _writeID(to writer: inout KeyWriter) throws { try rawValue._writeID(to: &writer) }
}

extension RecordIdentifier where Self: SignedInteger & FixedWidthInteger {
  /// 8 bytes, big-endian, sign flipped.
  @_documentation(visibility: private)
  public static func _id(_ number: Int64) -> (kind: RecordIDKind, id: Self?) { (.integer, nil) }

  /// 8 bytes, whatever the width of the type.
  @_documentation(visibility: private)
  public func _writeID(to writer: inout KeyWriter) throws { writer.append(int64: Int64(self)) }
}

extension RecordIdentifier where Self: UnsignedInteger & FixedWidthInteger {
  /// 8 bytes, big-endian.
  @_documentation(visibility: private)
  public static func _id(_ number: Int64) -> (kind: RecordIDKind, id: Self?) { (.unsigned, nil) }

  /// 8 bytes, whatever the width of the type.
  @_documentation(visibility: private)
  public func _writeID(to writer: inout KeyWriter) throws { writer.append(uint64: UInt64(self)) }
}

extension Int: RecordIdentifier {}
extension Int8: RecordIdentifier {}
extension Int16: RecordIdentifier {}
extension Int32: RecordIdentifier {}
extension Int64: RecordIdentifier {}
extension UInt: RecordIdentifier {}
extension UInt8: RecordIdentifier {}
extension UInt16: RecordIdentifier {}
extension UInt32: RecordIdentifier {}
extension UInt64: RecordIdentifier {}

extension UUID: RecordIdentifier {
  /// 16 bytes.
  public static func _id(_ number: Int64) -> (kind: RecordIDKind, id: Self?) { (.uuid, nil) }

  /// The 16 bytes in their order.
  public func _writeID(to writer: inout KeyWriter) throws {
    withUnsafeBytes(of: uuid) { writer.append(uuid: $0) }
  }
}

extension String: RecordIdentifier {
  /// Text of any length up to the key limit.
  public static func _id(_ number: Int64) -> (kind: RecordIDKind, id: Self?) { (.string, nil) }

  /// NFC text after a lead byte; canonically equivalent strings are one id.
  public func _writeID(to writer: inout KeyWriter) throws {
    if !writer.append(idString: self) {
      throw LarchError(
        .idTooLong,
        "A string id can have at most 500 bytes of UTF-8; use a shorter id, or a RecordID and a unique index over the long text."
      )
    }
  }
}
