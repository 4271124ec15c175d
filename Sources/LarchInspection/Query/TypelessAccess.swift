internal import Foundation
internal import Larch

/// The rows of a run as stored records without a type: fields are read as they are stored.
///
/// `IndexKeys` cannot be used: a condition may test any field, even without an index, and compares
/// whole values, including those that an earlier version of the type wrote as another kind.
struct TypelessAccess: RecordAnswers {
  private let context: TransactionContext

  init(_ context: TransactionContext) { self.context = context }

  func matches(
    _ filters: [FilterNode], _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> Bool {
    for filter in filters where !(try matches(filter, record, id)) { return false }
    return true
  }

  func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    try values(of: field, record, nil).map { $0 ?? [.null] }
  }

  private func matches(
    _ node: FilterNode, _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> Bool {
    switch node {
    case .all(let nodes):
      for node in nodes where !(try matches(node, record, id)) { return false }
      return true
    case .any(let nodes):
      for node in nodes where try matches(node, record, id) { return true }
      return false
    case .not(let node): return !(try matches(node, record, id))
    case .field(let filter):
      return try values(of: filter.field, record, id).contains { values in
        values.map { filter.test.matches($0) } ?? false
      }
    case .pair(let pair):
      guard let left = try values(of: pair.left, record, id).first ?? nil,
        let right = try values(of: pair.right, record, id).first ?? nil
      else { return false }
      return pair.matches(left, right)
    case .words(let filter):
      return try filter.matches { field, body in
        for values in try values(of: field, record, id) {
          if let value = values?.first, !body(value) { return }
        }
      }
    case .record(let filter):
      guard let filter = (filter as? StoredTest<DynamicFilter>)?.test,
        let first = filter.names.first
      else {
        throw TypelessAccess.unknown
      }
      return try filter.matches(record, context.path([first], nil), context.shapes)
    case .related: throw TypelessAccess.unknown
    }
  }

  /// The binder makes neither closures nor filters about other records.
  private static var unknown: LarchError {
    LarchError(
      .storage,
      "A typeless query needs something that only the Swift type knows; please report this bug in Larch."
    )
  }

  // MARK: Values

  /// The values of a field, or of each of its elements; nil for a value of another type.
  private func values(
    of field: FieldReference, _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer?
  ) throws -> [[KeyValue]?] {
    guard case .primitive(let primitive) = field.form.unwrapped.node else { return [nil] }
    if field.identity == .id, let id {
      return [RowSelector.values(ofID: id, primitive)]
    }
    // The id is also a stored field, if the row does not have it.
    let names = field.storedPath ?? ["id"]
    let found = try context.path(names, nil).read(in: record, shapes: context.shapes)
    guard field.isMultiple else { return [try TypelessAccess.values(found, primitive)] }
    guard case .value(let kind, let bytes) = found, kind == .list else { return [] }
    var list = try RawList(kind, bytes)
    var values: [[KeyValue]?] = []
    while let element = try list.next() {
      values.append(try TypelessAccess.values(element, primitive))
    }
    return values
  }

  private static func values(
    _ field: RawField, _ primitive: KeyForm.Primitive
  ) throws -> [KeyValue]? {
    guard case .value(let kind, let bytes) = field else { return [.null] }
    guard !kind.isFixed || bytes.count == kind.width else { throw ByteReader.damaged("length") }
    if kind == primitive.storedKind { return try KeyValue(stored: kind, bytes).map { [$0] } }
    return try KeyValue(stored: kind, bytes)?.converted(to: primitive).map { [$0] }
  }
}

extension KeyValue {
  /// The same value in another type, as a type reads what an earlier version wrote; nil if there is
  /// none.
  fileprivate func converted(to primitive: KeyForm.Primitive) -> KeyValue? {
    let number: Int128
    switch (self, primitive) {
    case (.float(let value), .double): return .double(Double(value))
    case (.url(let text), .string): return .string(text)
    case (.uuid, .string): return .string(description)
    // `Decimal` has no infinity, and traps for one.
    case (.float(let value), .decimal):
      guard !value.isInfinite else { return nil }
      return .decimal(DecimalKey(DecimalDigits(Decimal(Double(value)))))
    case (.double(let value), .decimal):
      guard !value.isInfinite else { return nil }
      return .decimal(DecimalKey(DecimalDigits(Decimal(value))))
    case (.signed(let value), _): number = Int128(value)
    case (.unsigned(let value), _): number = Int128(value)
    default: return nil
    }
    switch primitive {
    case .int8: return Int8(exactly: number).map { .signed(Int64($0)) }
    case .int16: return Int16(exactly: number).map { .signed(Int64($0)) }
    case .int32: return Int32(exactly: number).map { .signed(Int64($0)) }
    case .int64: return Int64(exactly: number).map { .signed($0) }
    case .uint8: return UInt8(exactly: number).map { .unsigned(UInt64($0)) }
    case .uint16: return UInt16(exactly: number).map { .unsigned(UInt64($0)) }
    case .uint32: return UInt32(exactly: number).map { .unsigned(UInt64($0)) }
    case .uint64: return UInt64(exactly: number).map { .unsigned($0) }
    case .float: return Float(exactly: number).map { .float($0) }
    case .double: return Double(exactly: number).map { .double($0) }
    case .decimal:
      return Decimal(string: number.description).map {
        .decimal(DecimalKey(DecimalDigits($0)))
      }
    default: return nil
    }
  }
}
