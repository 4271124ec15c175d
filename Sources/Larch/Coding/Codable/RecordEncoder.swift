/// The `Encoder` that a value on the fast path sees: its frame.
struct FrameEncoder: Encoder {
  let frame: EncodeFramePointer

  var codingPath: [any CodingKey] { frame.pointee.state.pointee.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { frame.pointee.state.pointee.coder?.userInfo ?? [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    guard frame.beginRecord(ObjectIdentifier(type)) else { return fresh() }
    if let reference = frame.pointee.plan.pointee.references[frame.pointee.depth] {
      return larchReturnEncodingContainer(reference)
    }
    return kept()
  }

  @inline(never)
  private func fresh<Key: CodingKey>() -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(FrameKeyedEncodingContainer<Key>(frame: frame))
  }

  @inline(never)
  private func kept<Key: CodingKey>() -> KeyedEncodingContainer<Key> {
    // Reached only from a frame with a plan.
    let plan = frame.pointee.plan!
    let depth = frame.pointee.depth
    let containers = frame.pointee.state.pointee.containers.takeUnretainedValue()
    if let reference = containers.reference(
      Key.self, depth: depth, { fresh() as KeyedEncodingContainer<Key> })
    {
      plan.pointee.references[depth] = reference
      return larchReturnEncodingContainer(reference)
    }
    return fresh()
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    _ = frame.beginList()
    return FrameUnkeyedEncodingContainer(frame: frame)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    FrameSingleValueEncodingContainer(frame: frame)
  }
}

struct FrameKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let frame: EncodeFramePointer

  var codingPath: [any CodingKey] { frame.pointee.state.pointee.codingPath }

  @inline(__always)
  private func put<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind, _ key: Key) {
    let slot = frame.slot(key)
    if slot >= 0 { frame.put(value, kind, slot: slot) }
  }

  // Not `put` of a string as bytes in every caller: the closure must be inlined only once.
  @inline(__always)
  private func put(text value: String, _ key: Key) {
    let slot = frame.slot(key)
    if slot >= 0 { Leaf.withUTF8(value) { frame.put($0, .string, slot: slot) } }
  }

  /// The synthesised code encodes nil for an absent optional: the field stays absent. A key that
  /// the shape does not have was always nil so far, or will be learned when it has a value.
  @inline(__always)
  private func skip(_ key: Key) {}

  func encodeNil(forKey key: Key) throws {
    let slot = frame.slot(key)
    if slot >= 0 { frame.putNull(slot: slot) }
  }

  func encode(_ value: Bool, forKey key: Key) throws { put(value ? 1 as UInt8 : 0, .bool, key) }
  func encode(_ value: String, forKey key: Key) throws { put(text: value, key) }
  func encode(_ value: Double, forKey key: Key) throws { put(value, .double, key) }
  func encode(_ value: Float, forKey key: Key) throws { put(value, .float, key) }
  func encode(_ value: Int, forKey key: Key) throws { put(Int64(value), .int64, key) }
  func encode(_ value: Int8, forKey key: Key) throws { put(value, .int8, key) }
  func encode(_ value: Int16, forKey key: Key) throws { put(value, .int16, key) }
  func encode(_ value: Int32, forKey key: Key) throws { put(value, .int32, key) }
  func encode(_ value: Int64, forKey key: Key) throws { put(value, .int64, key) }
  func encode(_ value: Int128, forKey key: Key) throws { put(value, .int128, key) }
  func encode(_ value: UInt, forKey key: Key) throws { put(UInt64(value), .uint64, key) }
  func encode(_ value: UInt8, forKey key: Key) throws { put(value, .uint8, key) }
  func encode(_ value: UInt16, forKey key: Key) throws { put(value, .uint16, key) }
  func encode(_ value: UInt32, forKey key: Key) throws { put(value, .uint32, key) }
  func encode(_ value: UInt64, forKey key: Key) throws { put(value, .uint64, key) }
  func encode(_ value: UInt128, forKey key: Key) throws { put(value, .uint128, key) }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    let slot = frame.slot(key)
    if slot < 0 { return }
    guard let version = frame.pointee.version else { return }
    let cache = version.pointee.caches + slot
    if cache.pointee.type != ObjectIdentifier(T.self) {
      cache.pointee.plan = frame.plan(for: T.self)
      cache.pointee.type = ObjectIdentifier(T.self)
    }
    guard let plan = cache.pointee.plan else { return }
    try frame.write(value, plan: plan, slot: slot)
  }

  // Implements every `encodeIfPresent`: the defaults would call twice more.
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws {
    if let value { put(value ? 1 as UInt8 : 0, .bool, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws {
    if let value { put(text: value, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
    if let value { put(value, .double, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
    if let value { put(value, .float, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws {
    if let value { put(Int64(value), .int64, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws {
    if let value { put(value, .int8, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws {
    if let value { put(value, .int16, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws {
    if let value { put(value, .int32, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws {
    if let value { put(value, .int64, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws {
    if let value { put(value, .int128, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws {
    if let value { put(UInt64(value), .uint64, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws {
    if let value { put(value, .uint8, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws {
    if let value { put(value, .uint16, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws {
    if let value { put(value, .uint32, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws {
    if let value { put(value, .uint64, key) } else { skip(key) }
  }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws {
    if let value { put(value, .uint128, key) } else { skip(key) }
  }
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { skip(key) }
  }

  // A container that only a tree can hold: the frame fails, and what is written here is ignored.
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    frame.discardingTree(codingPath).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    frame.discardingTree(codingPath).unkeyedContainer()
  }
  func superEncoder() -> any Encoder { frame.discardingTree(codingPath) }
  func superEncoder(forKey key: Key) -> any Encoder { frame.discardingTree(codingPath) }
}

struct FrameUnkeyedEncodingContainer: UnkeyedEncodingContainer {
  let frame: EncodeFramePointer

  var codingPath: [any CodingKey] { frame.pointee.state.pointee.codingPath }
  var count: Int { frame.pointee.mode == .list ? frame.pointee.count : 0 }

  /// Whether the list of this frame is the current value; if not, the frame has failed, or it is
  /// closed and the container was kept.
  @inline(__always)
  private var isWritable: Bool {
    if frame.pointee.mode == .list, frame.pointee.state.pointee.current == frame,
      !frame.pointee.failed
    {
      return true
    }
    if frame.pointee.mode != .closed, frame.pointee.mode != .discarding { frame.fail() }
    return false
  }

  @inline(__always)
  private func add<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind) {
    if isWritable { frame.add(value, kind) }
  }

  func encodeNil() throws { if isWritable { frame.addNull() } }
  func encode(_ value: Bool) throws { add(value ? 1 as UInt8 : 0, .bool) }
  func encode(_ value: String) throws {
    if isWritable { Leaf.withUTF8(value) { frame.add($0, .string) } }
  }
  func encode(_ value: Double) throws { add(value, .double) }
  func encode(_ value: Float) throws { add(value, .float) }
  func encode(_ value: Int) throws { add(Int64(value), .int64) }
  func encode(_ value: Int8) throws { add(value, .int8) }
  func encode(_ value: Int16) throws { add(value, .int16) }
  func encode(_ value: Int32) throws { add(value, .int32) }
  func encode(_ value: Int64) throws { add(value, .int64) }
  func encode(_ value: Int128) throws { add(value, .int128) }
  func encode(_ value: UInt) throws { add(UInt64(value), .uint64) }
  func encode(_ value: UInt8) throws { add(value, .uint8) }
  func encode(_ value: UInt16) throws { add(value, .uint16) }
  func encode(_ value: UInt32) throws { add(value, .uint32) }
  func encode(_ value: UInt64) throws { add(value, .uint64) }
  func encode(_ value: UInt128) throws { add(value, .uint128) }

  func encode<T: Encodable>(_ value: T) throws {
    guard isWritable else { return }
    let plan = frame.plan(for: T.self)
    try frame.write(value, plan: plan, slot: EncodeFrame.elementSlot)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> {
    frame.discardingTree(codingPath).container(keyedBy: type)
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    frame.discardingTree(codingPath).unkeyedContainer()
  }
  func superEncoder() -> any Encoder { frame.discardingTree(codingPath) }
}

struct FrameSingleValueEncodingContainer: SingleValueEncodingContainer {
  let frame: EncodeFramePointer

  var codingPath: [any CodingKey] { frame.pointee.state.pointee.codingPath }

  func encodeNil() throws { frame.emitNull() }
  func encode(_ value: Bool) throws { frame.emitValue(value ? 1 as UInt8 : 0, .bool) }
  func encode(_ value: String) throws { Leaf.withUTF8(value) { frame.emitValue($0, .string) } }
  func encode(_ value: Double) throws { frame.emitValue(value, .double) }
  func encode(_ value: Float) throws { frame.emitValue(value, .float) }
  func encode(_ value: Int) throws { frame.emitValue(Int64(value), .int64) }
  func encode(_ value: Int8) throws { frame.emitValue(value, .int8) }
  func encode(_ value: Int16) throws { frame.emitValue(value, .int16) }
  func encode(_ value: Int32) throws { frame.emitValue(value, .int32) }
  func encode(_ value: Int64) throws { frame.emitValue(value, .int64) }
  func encode(_ value: Int128) throws { frame.emitValue(value, .int128) }
  func encode(_ value: UInt) throws { frame.emitValue(UInt64(value), .uint64) }
  func encode(_ value: UInt8) throws { frame.emitValue(value, .uint8) }
  func encode(_ value: UInt16) throws { frame.emitValue(value, .uint16) }
  func encode(_ value: UInt32) throws { frame.emitValue(value, .uint32) }
  func encode(_ value: UInt64) throws { frame.emitValue(value, .uint64) }
  func encode(_ value: UInt128) throws { frame.emitValue(value, .uint128) }

  func encode<T: Encodable>(_ value: T) throws {
    guard frame.beginSingle() else { return }
    let plan = frame.plan(for: T.self)
    let slot = frame.pointee.sinkSlot
    let target = slot <= EncodeFrame.detachedSlot ? frame : frame.pointee.sink
    try target.write(value, plan: plan, slot: slot)
  }
}
