public import Foundation

/// A type that can be the `id` of a record: `RecordID`, `UUID`, `String`, any integer, or your own
/// type with one of these as its raw value (`struct ISBN: RawRepresentable, RecordIdentifier`).
///
/// Records are stored in the order of their ids. Larch implements the requirements with an
/// underscore; your own type gets them from its raw value.
public protocol RecordIdentifier: Hashable, Codable, Sendable, IndexKey, IDReference
where _ReferencedID == Self {
  /// Writes the bytes that the record is stored under.
  func _writeID(to writer: inout KeyWriter) throws

  /// Whether the store has still to assign this id.
  var _isUnassigned: Bool { get }
}

extension RecordIdentifier {
  /// How ids of this type are stored.
  package static var idKind: RecordIDKind {
    guard let kind = keyCoding.idKind else {
      // A declaration of the program decides it; no data comes here.
      preconditionFailure("\(Self.self) cannot be the type of an id; use one with a raw value.")
    }
    return kind
  }

  /// Writes the id in a reference.
  ///
  /// Where references are not enforced, one may be too long for an id. Its beginning is written then,
  /// which no record has as its id, since it is longer than any.
  func writeReference(to writer: inout KeyWriter) throws {
    writer.clear()
    do {
      try _writeID(to: &writer)
    } catch let error as LarchError where error.code == .idTooLong {}
  }

  /// Ids of your own always have a value.
  @_documentation(visibility: private)
  public var _isUnassigned: Bool { false }
}

extension RecordIdentifier where Self: RawRepresentable, RawValue: RecordIdentifier {
  /// The bytes of the raw value.
  @_documentation(visibility: private)
  public func _writeID(to writer: inout KeyWriter) throws { try rawValue._writeID(to: &writer) }

  /// As for the raw value, which may be a `RecordID`.
  @_documentation(visibility: private)
  public var _isUnassigned: Bool { rawValue._isUnassigned }
}

extension RecordIdentifier where Self: SignedInteger & FixedWidthInteger {
  /// 8 bytes, whatever the width of the type.
  @_documentation(visibility: private)
  public func _writeID(to writer: inout KeyWriter) throws { writer.append(int64: Int64(self)) }
}

extension RecordIdentifier where Self: UnsignedInteger & FixedWidthInteger {
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
  /// The 16 bytes in their order.
  public func _writeID(to writer: inout KeyWriter) throws {
    withUnsafeBytes(of: uuid) { writer.append(uuid: $0) }
  }
}

extension String: RecordIdentifier {
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
