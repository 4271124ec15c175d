/// The elements of a list, in order. The container only has the position; the frame has the list.
struct FrameUnkeyedDecodingContainer: UnkeyedDecodingContainer {
  let frame: DecodeFramePointer
  private var offset: Int
  private(set) var currentIndex = 0

  init(frame: DecodeFramePointer) {
    self.frame = frame
    offset = frame.pointee.elementStart
  }

  var codingPath: [any CodingKey] { frame.codingPath }
  var count: Int? { frame.pointee.elementCount }
  var isAtEnd: Bool { currentIndex >= frame.pointee.elementCount }

  /// The next element, and the start of the one after it.
  @inline(__always)
  private func peek(_ type: any Any.Type) throws -> (found: FoundValue, next: Int) {
    guard !isAtEnd, let kind = FieldKind(rawValue: frame.pointee.elementKind),
      offset <= frame.pointee.count
    else { throw atEnd(type) }
    frame.pointee.key = currentIndex
    var reader = ByteReader(
      UnsafeRawBufferPointer(
        start: frame.pointee.base + offset, count: frame.pointee.count &- offset))
    let found = try DecodeFramePointer.element(&reader, kind)
    return (found, offset &+ reader.offset)
  }

  private func atEnd(_ type: any Any.Type) -> any Error {
    DecodingError.valueNotFound(
      type,
      .init(
        codingPath: codingPath + [PathKey(intValue: currentIndex)],
        debugDescription: "expected \(type), found the end of the list"))
  }

  @inline(__always)
  private mutating func advance(_ next: Int) {
    offset = next
    currentIndex &+= 1
  }

  @inline(__always)
  private mutating func take<V>(
    _ type: V.Type, _ read: (DecodeFramePointer, FoundValue, PathKey) throws -> V
  ) throws -> V {
    let (found, next) = try peek(type)
    let value = try read(frame, found, PathKey(intValue: currentIndex))
    advance(next)
    return value
  }

  @inline(__always)
  private mutating func takeIfPresent<V>(
    _ type: V.Type, _ read: (DecodeFramePointer, FoundValue, PathKey) throws -> V
  ) throws -> V? {
    if isAtEnd { return nil }
    let (found, next) = try peek(type)
    let value = found.isNil ? nil : try read(frame, found, PathKey(intValue: currentIndex))
    advance(next)
    return value
  }

  @inline(__always)
  private mutating func integer<I: FixedWidthInteger>(_ type: I.Type) throws -> I {
    try take(type) { try $0.integer($1, type, $2) }
  }

  mutating func decodeNil() throws -> Bool {
    let (found, next) = try peek(Never.self)
    if found.isNil { advance(next) }
    return found.isNil
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    try take(type) { try $0.bool($1, $2) }
  }
  mutating func decode(_ type: String.Type) throws -> String {
    try take(type) { try $0.string($1, $2) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    try take(type) { try $0.float($1, type, $2) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float {
    try take(type) { try $0.float($1, type, $2) }
  }
  mutating func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let (found, next) = try peek(type)
    let value = try frame.value(type, found: found, nil)
    advance(next)
    return value
  }

  mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? {
    try takeIfPresent(type) { try $0.bool($1, $2) }
  }
  mutating func decodeIfPresent(_ type: String.Type) throws -> String? {
    try takeIfPresent(type) { try $0.string($1, $2) }
  }
  mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? {
    try takeIfPresent(type) { try $0.float($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? {
    try takeIfPresent(type) { try $0.float($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: Int.Type) throws -> Int? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: Int8.Type) throws -> Int8? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: Int16.Type) throws -> Int16? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: Int32.Type) throws -> Int32? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: Int64.Type) throws -> Int64? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: Int128.Type) throws -> Int128? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt.Type) throws -> UInt? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt8.Type) throws -> UInt8? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt16.Type) throws -> UInt16? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt32.Type) throws -> UInt32? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt64.Type) throws -> UInt64? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent(_ type: UInt128.Type) throws -> UInt128? {
    try takeIfPresent(type) { try $0.integer($1, type, $2) }
  }
  mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
    if isAtEnd { return nil }
    let (found, next) = try peek(type)
    let value = found.isNil ? nil : try frame.value(type, found: found, nil)
    advance(next)
    return value
  }

  private mutating func nested(_ type: any Any.Type) throws -> DecodeFramePointer {
    let (found, next) = try peek(type)
    if found.isNil { throw frame.mismatch(found, type, PathKey(intValue: currentIndex)) }
    let nested = try frame.extra(found, PathKey(intValue: currentIndex))
    advance(next)
    return nested
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try FrameDecoder(frame: nested([String: Any].self)).container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try FrameDecoder(frame: nested([Any].self)).unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder {
    let (found, next) = try peek((any Decoder).self)
    let nested = try frame.extra(found, PathKey(intValue: currentIndex))
    advance(next)
    return FrameDecoder(frame: nested)
  }
}

struct FrameSingleValueDecodingContainer: SingleValueDecodingContainer {
  let frame: DecodeFramePointer

  var codingPath: [any CodingKey] { frame.codingPath }

  private var found: FoundValue {
    get throws {
      guard frame.pointee.mode != .closed else {
        throw ByteReader.damaged("container used after its value was read")
      }
      guard let kind = FieldKind(rawValue: frame.pointee.kind) else {
        return FoundValue(state: .null)
      }
      let bytes = UnsafeRawBufferPointer(start: frame.pointee.base, count: frame.pointee.count)
      return FoundValue(state: .value, kind: kind, bytes: bytes)
    }
  }

  func decodeNil() -> Bool { frame.pointee.kind == 0 }
  func decode(_ type: Bool.Type) throws -> Bool { try frame.bool(found, nil) }
  func decode(_ type: String.Type) throws -> String { try frame.string(found, nil) }
  func decode(_ type: Double.Type) throws -> Double { try frame.float(found, type, nil) }
  func decode(_ type: Float.Type) throws -> Float { try frame.float(found, type, nil) }
  func decode(_ type: Int.Type) throws -> Int { try frame.integer(found, type, nil) }
  func decode(_ type: Int8.Type) throws -> Int8 { try frame.integer(found, type, nil) }
  func decode(_ type: Int16.Type) throws -> Int16 { try frame.integer(found, type, nil) }
  func decode(_ type: Int32.Type) throws -> Int32 { try frame.integer(found, type, nil) }
  func decode(_ type: Int64.Type) throws -> Int64 { try frame.integer(found, type, nil) }
  func decode(_ type: Int128.Type) throws -> Int128 { try frame.integer(found, type, nil) }
  func decode(_ type: UInt.Type) throws -> UInt { try frame.integer(found, type, nil) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try frame.integer(found, type, nil) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try frame.integer(found, type, nil) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try frame.integer(found, type, nil) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try frame.integer(found, type, nil) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try frame.integer(found, type, nil) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    // The cached plan of the inner type replaces that of the outer one.
    var found = try found
    found.cache = frame.pointee.state.pointee.noCache
    return try frame.value(type, found: found, nil)
  }
}
