/// The `Encoder` that is right for everything: it builds a tree of what it is told. Values inside
/// try the fast path again.
struct TreeEncoder: Encoder {
  let node: TreeNode
  let frame: EncodeFramePointer
  /// How many containers deep below the value of the frame.
  var level = 0
  let codingPath: [any CodingKey]

  var userInfo: [CodingUserInfoKey: Any] { frame.pointee.state.pointee.coder?.userInfo ?? [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    switch node.content {
    case .object: break
    default: node.content = .object
    }
    if let known = node.keyType, known != ObjectIdentifier(type) { node.hasSeveralKeyTypes = true }
    node.keyType = ObjectIdentifier(type)
    // Keys of strings and numbers are made at run time: a dictionary, not a list of fields.
    if MemoryLayout<Key>.size > 2 { node.isPlain = false }
    return KeyedEncodingContainer(TreeKeyedEncodingContainer<Key>(tree: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    switch node.content {
    case .list: break
    default: node.content = .list
    }
    return TreeUnkeyedEncodingContainer(tree: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    TreeSingleValueEncodingContainer(tree: self)
  }

  func put<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind, at node: TreeNode) {
    var bits: UInt128 = 0
    withUnsafeMutableBytes(of: &bits) { $0.storeBytes(of: value, as: V.self) }
    let clean = TreeNode()
    clean.content = .fixed(kind, bits)
    node.become(clean)
  }

  func put(_ value: String, at node: TreeNode) {
    let clean = TreeNode()
    clean.content = .bytes(.string, Array(value.utf8))
    node.become(clean)
  }

  func putNull(at node: TreeNode) {
    let clean = TreeNode()
    clean.content = .null
    node.become(clean)
  }

  /// A value with an `encode(to:)` of its own.
  func put<T: Encodable>(_ value: T, at node: TreeNode, key: (any CodingKey)?) throws {
    let place = TreePlace(depth: frame.pointee.depth, level: level, path: codingPath, key: key)
    node.become(try frame.leaf(value, at: place))
  }

  func child(_ node: TreeNode, _ key: any CodingKey) -> TreeEncoder {
    TreeEncoder(node: node, frame: frame, level: level + 1, codingPath: codingPath + [key])
  }
}

/// Where in a tree a value is being written: for the coding path and the depth of what is below.
struct TreePlace {
  let depth: Int
  let level: Int
  let path: [any CodingKey]
  let key: (any CodingKey)?
}

struct TreeKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let tree: TreeEncoder

  var codingPath: [any CodingKey] { tree.codingPath }

  private func put<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind, _ key: Key) {
    tree.put(value, kind, at: tree.node.member(key.stringValue))
  }

  private func skip(_ key: Key, _ kind: FieldKind?) {
    let known = tree.node.member(key.stringValue)
    guard case .nothing = known.content, known.children.isEmpty else { return }
    known.isAbsent = true
    known.absentKind = kind
  }

  func encodeNil(forKey key: Key) throws { tree.putNull(at: tree.node.member(key.stringValue)) }
  func encode(_ value: Bool, forKey key: Key) throws { put(value ? 1 as UInt8 : 0, .bool, key) }
  func encode(_ value: String, forKey key: Key) throws {
    tree.put(value, at: tree.node.member(key.stringValue))
  }
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
    try tree.put(value, at: tree.node.member(key.stringValue), key: key)
  }

  // A nil says what kind the field will have, so that the first value already shows the shape.
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { skip(key, .bool) }
  }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { skip(key, .string) }
  }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
    if let value { put(value, .double, key) } else { skip(key, .double) }
  }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
    if let value { put(value, .float, key) } else { skip(key, .float) }
  }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws {
    if let value { put(Int64(value), .int64, key) } else { skip(key, .int64) }
  }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws {
    if let value { put(value, .int8, key) } else { skip(key, .int8) }
  }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws {
    if let value { put(value, .int16, key) } else { skip(key, .int16) }
  }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws {
    if let value { put(value, .int32, key) } else { skip(key, .int32) }
  }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws {
    if let value { put(value, .int64, key) } else { skip(key, .int64) }
  }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws {
    if let value { put(value, .int128, key) } else { skip(key, .int128) }
  }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws {
    if let value { put(UInt64(value), .uint64, key) } else { skip(key, .uint64) }
  }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws {
    if let value { put(value, .uint8, key) } else { skip(key, .uint8) }
  }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws {
    if let value { put(value, .uint16, key) } else { skip(key, .uint16) }
  }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws {
    if let value { put(value, .uint32, key) } else { skip(key, .uint32) }
  }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws {
    if let value { put(value, .uint64, key) } else { skip(key, .uint64) }
  }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws {
    if let value { put(value, .uint128, key) } else { skip(key, .uint128) }
  }
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    if let value {
      try encode(value, forKey: key)
    } else {
      skip(key, EncodePlan.kind(of: T.self))
    }
  }

  private func nested(_ key: any CodingKey) -> TreeEncoder {
    tree.node.isPlain = false
    let node = tree.node.member(key.stringValue)
    node.isPlain = false
    node.isAbsent = false
    return tree.child(node, key)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { nested(key).container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key).unkeyedContainer()
  }
  func superEncoder() -> any Encoder { nested(PathKey(stringValue: "super")) }
  func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

struct TreeUnkeyedEncodingContainer: UnkeyedEncodingContainer {
  let tree: TreeEncoder

  var codingPath: [any CodingKey] { tree.codingPath }
  var count: Int { tree.node.children.count }

  private func put<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind) {
    tree.put(value, kind, at: tree.node.append())
  }

  func encodeNil() throws { tree.putNull(at: tree.node.append()) }
  func encode(_ value: Bool) throws { put(value ? 1 as UInt8 : 0, .bool) }
  func encode(_ value: String) throws { tree.put(value, at: tree.node.append()) }
  func encode(_ value: Double) throws { put(value, .double) }
  func encode(_ value: Float) throws { put(value, .float) }
  func encode(_ value: Int) throws { put(Int64(value), .int64) }
  func encode(_ value: Int8) throws { put(value, .int8) }
  func encode(_ value: Int16) throws { put(value, .int16) }
  func encode(_ value: Int32) throws { put(value, .int32) }
  func encode(_ value: Int64) throws { put(value, .int64) }
  func encode(_ value: Int128) throws { put(value, .int128) }
  func encode(_ value: UInt) throws { put(UInt64(value), .uint64) }
  func encode(_ value: UInt8) throws { put(value, .uint8) }
  func encode(_ value: UInt16) throws { put(value, .uint16) }
  func encode(_ value: UInt32) throws { put(value, .uint32) }
  func encode(_ value: UInt64) throws { put(value, .uint64) }
  func encode(_ value: UInt128) throws { put(value, .uint128) }
  func encode<T: Encodable>(_ value: T) throws {
    let key = PathKey(intValue: count)
    // Appended when it is known to be there: a value that throws leaves no element behind.
    let node = TreeNode()
    try tree.put(value, at: node, key: key)
    tree.node.children.append(node)
  }

  private func nested() -> TreeEncoder {
    let key = PathKey(intValue: count)
    let node = tree.node.append()
    node.isPlain = false
    return tree.child(node, key)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> { nested().container(keyedBy: type) }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
  func superEncoder() -> any Encoder { nested() }
}

struct TreeSingleValueEncodingContainer: SingleValueEncodingContainer {
  let tree: TreeEncoder

  var codingPath: [any CodingKey] { tree.codingPath }

  private func put<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind) {
    tree.put(value, kind, at: tree.node)
  }

  func encodeNil() throws { tree.putNull(at: tree.node) }
  func encode(_ value: Bool) throws { put(value ? 1 as UInt8 : 0, .bool) }
  func encode(_ value: String) throws { tree.put(value, at: tree.node) }
  func encode(_ value: Double) throws { put(value, .double) }
  func encode(_ value: Float) throws { put(value, .float) }
  func encode(_ value: Int) throws { put(Int64(value), .int64) }
  func encode(_ value: Int8) throws { put(value, .int8) }
  func encode(_ value: Int16) throws { put(value, .int16) }
  func encode(_ value: Int32) throws { put(value, .int32) }
  func encode(_ value: Int64) throws { put(value, .int64) }
  func encode(_ value: Int128) throws { put(value, .int128) }
  func encode(_ value: UInt) throws { put(UInt64(value), .uint64) }
  func encode(_ value: UInt8) throws { put(value, .uint8) }
  func encode(_ value: UInt16) throws { put(value, .uint16) }
  func encode(_ value: UInt32) throws { put(value, .uint32) }
  func encode(_ value: UInt64) throws { put(value, .uint64) }
  func encode(_ value: UInt128) throws { put(value, .uint128) }
  func encode<T: Encodable>(_ value: T) throws {
    try tree.put(value, at: tree.node, key: nil)
  }
}
