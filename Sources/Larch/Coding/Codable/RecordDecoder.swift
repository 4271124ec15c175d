/// The `Decoder` that a value sees: its frame.
struct FrameDecoder: Decoder {
  let frame: DecodeFramePointer

  var codingPath: [any CodingKey] { frame.codingPath }
  var userInfo: [CodingUserInfoKey: Any] {
    frame.pointee.state.pointee.coder?.userInfo ?? [:]
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try frame.beginKeyed(ObjectIdentifier(type))
    if frame.pointee.mode == .record, !frame.pointee.isExtra, let plan = frame.pointee.plan {
      if let reference = plan.pointee.references[frame.pointee.depth] {
        return larchReturnDecodingContainer(reference)
      }
      return kept(plan)
    }
    return fresh()
  }

  @inline(never)
  private func fresh<Key: CodingKey>() -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(FrameKeyedDecodingContainer<Key>(frame: frame))
  }

  @inline(never)
  private func kept<Key: CodingKey>(
    _ plan: UnsafeMutablePointer<DecodePlan.Hot>
  ) -> KeyedDecodingContainer<Key> {
    let depth = frame.pointee.depth
    let containers = frame.pointee.state.pointee.containers.takeUnretainedValue()
    if let reference = containers.reference(
      Key.self, depth: depth, { fresh() as KeyedDecodingContainer<Key> })
    {
      plan.pointee.references[depth] = reference
      return larchReturnDecodingContainer(reference)
    }
    return fresh()
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try frame.beginList()
    return FrameUnkeyedDecodingContainer(frame: frame)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    FrameSingleValueDecodingContainer(frame: frame)
  }
}

struct FrameKeyedDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let frame: DecodeFramePointer

  var codingPath: [any CodingKey] { frame.codingPath }
  var allKeys: [Key] {
    let strategy = frame.keyStrategy
    return frame.allNames.compactMap { strategy.key(of: Key.self, forField: $0) }
  }

  func contains(_ key: Key) -> Bool {
    guard let found = try? frame.find(frame.name(of: key)) else { return false }
    return found.state == .value || found.state == .null
  }

  func decodeNil(forKey key: Key) throws -> Bool { try frame.find(frame.name(of: key)).isNil }

  /// The value of a fixed kind, if the shape has that kind and the field is present.
  @inline(__always)
  private func fixed<V: BitwiseCopyable>(_ type: V.Type, _ kind: FieldKind, _ key: Key) -> V? {
    let entry = frame.entry(key)
    guard entry.pointee.kind == kind.rawValue, frame.isPresent(entry) else { return nil }
    return frame.load(entry, as: type)
  }

  /// A value, or nil for an absent field of this kind. Everything else is looked up again, slowly.
  @inline(__always)
  private func optional<V: BitwiseCopyable>(
    _ type: V.Type, _ kind: FieldKind, _ key: Key, _ value: inout V?
  ) -> Bool {
    let entry = frame.entry(key)
    guard entry.pointee.kind == kind.rawValue else { return false }
    if frame.isPresent(entry) { value = frame.load(entry, as: type) }
    return true
  }

  @inline(never)
  private func slowInteger<I: FixedWidthInteger>(_ type: I.Type, _ key: Key) throws -> I {
    let found = try frame.findValue(frame.name(of: key))
    if found.isNil { throw frame.missing(found, type, key) }
    return try frame.integer(found, type, key)
  }

  @inline(never)
  private func slowIntegerIfPresent<I: FixedWidthInteger>(_ type: I.Type, _ key: Key) throws -> I? {
    let found = try frame.find(frame.name(of: key))
    return found.isNil ? nil : try frame.integer(found, type, key)
  }

  @inline(never)
  private func slowFloat<F: BinaryFloatingPoint>(_ type: F.Type, _ key: Key) throws -> F {
    let found = try frame.findValue(frame.name(of: key))
    if found.isNil { throw frame.missing(found, type, key) }
    return try frame.float(found, type, key)
  }

  @inline(never)
  private func slowFloatIfPresent<F: BinaryFloatingPoint>(_ type: F.Type, _ key: Key) throws -> F? {
    let found = try frame.find(frame.name(of: key))
    return found.isNil ? nil : try frame.float(found, type, key)
  }

  @inline(never)
  private func slowBool(_ key: Key) throws -> Bool {
    let found = try frame.findValue(frame.name(of: key))
    if found.isNil { throw frame.missing(found, Bool.self, key) }
    return try frame.bool(found, key)
  }

  @inline(never)
  private func slowString(_ key: Key) throws -> String {
    let found = try frame.findValue(frame.name(of: key))
    if found.isNil { throw frame.missing(found, String.self, key) }
    return try frame.string(found, key)
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if let byte = fixed(UInt8.self, .bool, key), byte < 2 { return byte != 0 }
    return try slowBool(key)
  }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    var byte: UInt8?
    if optional(UInt8.self, .bool, key, &byte) {
      return try byte.map { try DecodeFramePointer.bool($0) }
    }
    let found = try frame.find(frame.name(of: key))
    return found.isNil ? nil : try frame.bool(found, key)
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    let entry = frame.entry(key)
    guard entry.pointee.kind == FieldKind.string.rawValue, frame.isPresent(entry) else {
      return try slowString(key)
    }
    return try Leaf.string(frame.bytes(entry))
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    let entry = frame.entry(key)
    guard entry.pointee.kind == FieldKind.string.rawValue else {
      let found = try frame.find(frame.name(of: key))
      return found.isNil ? nil : try frame.string(found, key)
    }
    return frame.isPresent(entry) ? try Leaf.string(frame.bytes(entry)) : nil
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    if let value = fixed(Double.self, .double, key) { return value }
    return try slowFloat(Double.self, key)
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    var value: Double?
    if optional(Double.self, .double, key, &value) { return value }
    return try slowFloatIfPresent(Double.self, key)
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    if let value = fixed(Float.self, .float, key) { return value }
    return try slowFloat(Float.self, key)
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    var value: Float?
    if optional(Float.self, .float, key, &value) { return value }
    return try slowFloatIfPresent(Float.self, key)
  }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    if let value = fixed(Int64.self, .int64, key) { return Int(truncatingIfNeeded: value) }
    return try slowInteger(Int.self, key)
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    var value: Int64?
    if optional(Int64.self, .int64, key, &value) {
      return value.map { Int(truncatingIfNeeded: $0) }
    }
    return try slowIntegerIfPresent(Int.self, key)
  }

  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    if let value = fixed(Int8.self, .int8, key) { return value }
    return try slowInteger(Int8.self, key)
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    var value: Int8?
    if optional(Int8.self, .int8, key, &value) { return value }
    return try slowIntegerIfPresent(Int8.self, key)
  }

  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    if let value = fixed(Int16.self, .int16, key) { return value }
    return try slowInteger(Int16.self, key)
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    var value: Int16?
    if optional(Int16.self, .int16, key, &value) { return value }
    return try slowIntegerIfPresent(Int16.self, key)
  }

  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    if let value = fixed(Int32.self, .int32, key) { return value }
    return try slowInteger(Int32.self, key)
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    var value: Int32?
    if optional(Int32.self, .int32, key, &value) { return value }
    return try slowIntegerIfPresent(Int32.self, key)
  }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    if let value = fixed(Int64.self, .int64, key) { return value }
    return try slowInteger(Int64.self, key)
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    var value: Int64?
    if optional(Int64.self, .int64, key, &value) { return value }
    return try slowIntegerIfPresent(Int64.self, key)
  }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    if let value = fixed(Int128.self, .int128, key) { return value }
    return try slowInteger(Int128.self, key)
  }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    var value: Int128?
    if optional(Int128.self, .int128, key, &value) { return value }
    return try slowIntegerIfPresent(Int128.self, key)
  }

  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    if let value = fixed(UInt64.self, .uint64, key) { return UInt(truncatingIfNeeded: value) }
    return try slowInteger(UInt.self, key)
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    var value: UInt64?
    if optional(UInt64.self, .uint64, key, &value) {
      return value.map { UInt(truncatingIfNeeded: $0) }
    }
    return try slowIntegerIfPresent(UInt.self, key)
  }

  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    if let value = fixed(UInt8.self, .uint8, key) { return value }
    return try slowInteger(UInt8.self, key)
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    var value: UInt8?
    if optional(UInt8.self, .uint8, key, &value) { return value }
    return try slowIntegerIfPresent(UInt8.self, key)
  }

  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    if let value = fixed(UInt16.self, .uint16, key) { return value }
    return try slowInteger(UInt16.self, key)
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    var value: UInt16?
    if optional(UInt16.self, .uint16, key, &value) { return value }
    return try slowIntegerIfPresent(UInt16.self, key)
  }

  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    if let value = fixed(UInt32.self, .uint32, key) { return value }
    return try slowInteger(UInt32.self, key)
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    var value: UInt32?
    if optional(UInt32.self, .uint32, key, &value) { return value }
    return try slowIntegerIfPresent(UInt32.self, key)
  }

  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    if let value = fixed(UInt64.self, .uint64, key) { return value }
    return try slowInteger(UInt64.self, key)
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    var value: UInt64?
    if optional(UInt64.self, .uint64, key, &value) { return value }
    return try slowIntegerIfPresent(UInt64.self, key)
  }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    if let value = fixed(UInt128.self, .uint128, key) { return value }
    return try slowInteger(UInt128.self, key)
  }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    var value: UInt128?
    if optional(UInt128.self, .uint128, key, &value) { return value }
    return try slowIntegerIfPresent(UInt128.self, key)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    let entry = frame.entry(key)
    if entry.pointee.isKnown, frame.isPresent(entry), let plan = frame.pointee.plan {
      return try known(type, entry, plan.pointee.caches + Int(entry.pointee.slot), key)
    }
    return try slow(type, key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    let entry = frame.entry(key)
    if entry.pointee.isKnown, let plan = frame.pointee.plan {
      guard frame.isPresent(entry) else { return nil }
      return try known(type, entry, plan.pointee.caches + Int(entry.pointee.slot), key)
    }
    return try slowIfPresent(type, key)
  }

  @inline(__always)
  private func known<T: Decodable>(
    _ type: T.Type, _ entry: UnsafeMutablePointer<FieldPlace>,
    _ cache: UnsafeMutablePointer<DecodeCache>, _ key: Key
  ) throws -> T {
    if cache.pointee.type != ObjectIdentifier(type) { cache.pointee = DecodeCache(type) }
    let kind = entry.pointee.fieldKind
    let bytes =
      entry.pointee.width > 0
      ? UnsafeRawBufferPointer(
        start: frame.pointee.base + Int(entry.pointee.offset), count: Int(entry.pointee.width))
      : try frame.bytes(entry)
    frame.pointee.key = Int(entry.pointee.slot)
    // Nothing generic here may need the metadata of another type, such as `T?`, which the runtime
    // would look up each time.
    switch cache.pointee.strategy {
    case .direct:
      return try frame.descend(
        type, FoundValue(state: .value, kind: kind, bytes: bytes), cache: cache)
    case .date where kind == .date: return Leaf.bits(Leaf.date(bytes), as: type)
    case .uuid where kind == .uuid: return Leaf.bits(Leaf.uuid(bytes), as: type)
    case .int64 where kind == .int64:
      return Leaf.bits(bytes.loadUnaligned(as: Int64.self), as: type)
    default:
      return try frame.value(
        type, FoundValue(state: .value, kind: kind, bytes: bytes), key,
        strategy: cache.pointee.strategy, cache: cache)
    }
  }

  @inline(never)
  private func slow<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    var found = try frame.find(frame.name(of: key))
    // A caller that requests an optional accepts nil.
    if found.isNil, !(type is any ExpressibleByNilLiteral.Type) {
      found = try frame.findValue(frame.name(of: key))
      // A type may write itself as nil.
      if found.isNil, found.state != .null { throw frame.missing(found, type, key) }
    }
    return try frame.value(type, found: found, key)
  }

  @inline(never)
  private func slowIfPresent<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T? {
    let found = try frame.find(frame.name(of: key))
    // `Optional<Optional<T>>.some(nil)` was written as a null, but `.none` was not written.
    if found.state == .null, type is any ExpressibleByNilLiteral.Type {
      return try frame.value(type, found: found, key)
    }
    return found.isNil ? nil : try frame.value(type, found: found, key)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try FrameDecoder(frame: nested(key)).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try FrameDecoder(frame: nested(key)).unkeyedContainer()
  }

  private func nested(_ key: Key) throws -> DecodeFramePointer {
    let found = try frame.findValue(frame.name(of: key))
    if found.isNil { throw frame.missing(found, [String: Any].self, key) }
    return try frame.extra(found, key)
  }

  func superDecoder() throws -> any Decoder {
    let key = PathKey(stringValue: "super")
    return FrameDecoder(frame: try frame.extra(frame.find("super"), key))
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    FrameDecoder(frame: try frame.extra(frame.find(frame.name(of: key)), key))
  }
}

extension UnsafeMutablePointer<DecodeFrame> {
  /// A value whose field has no cache.
  func value<T: Decodable>(
    _ type: T.Type, found: FoundValue, _ key: (any CodingKey)?
  ) throws -> T {
    var cache = found.cache ?? pointee.state.pointee.noCache
    if pointee.state.pointee.noCache == cache, let coder = pointee.state.pointee.coder {
      cache = coder.cache(for: type)
    }
    if cache.pointee.type != ObjectIdentifier(type) { cache.pointee = DecodeCache(type) }
    return try value(type, found, key, strategy: cache.pointee.strategy, cache: cache)
  }

  /// The names of the present fields, or of the entries of a map.
  var allNames: [String] {
    switch pointee.mode {
    case .record:
      guard let owner = pointee.plan?.pointee.owner else { return [] }
      var names: [String] = []
      for (slot, field) in owner.shape.fields.enumerated() {
        guard let plan = pointee.plan, isPresent(plan.pointee.fieldEntries + slot) else { continue }
        names.append(contentsOf: owner.names(of: field.name))
      }
      return names + owner.defaultNames
    case .map:
      guard let kind = FieldKind(rawValue: pointee.elementKind) else { return [] }
      let from = pointee.elementStart
      guard from <= pointee.count else { return [] }
      var reader = ByteReader(
        UnsafeRawBufferPointer(start: pointee.base + from, count: pointee.count - from))
      var names: [String] = []
      while !reader.isAtEnd {
        guard let key = try? reader.bytes(.string), let name = try? Leaf.string(key),
          (try? reader.skip(kind)) != nil
        else { break }
        names.append(name)
      }
      return names
    case .open, .closed: return []
    }
  }
}
