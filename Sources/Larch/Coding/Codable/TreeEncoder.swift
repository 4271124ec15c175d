/// The `Encoder` that can encode everything: it builds a tree of the values. Nested values try the
/// fast path again.
struct TreeEncoder: Encoder {
  let node: TreeNode
  let frame: EncodeFramePointer
  /// The number of containers between the value of the frame and this one.
  var level = 0
  /// How the type names the fields of this node; the keys of a container in it stay as they are.
  var keyStrategy = KeyStrategy.asWritten
  let codingPath: [any CodingKey]

  var userInfo: [CodingUserInfoKey: Any] { frame.pointee.state.pointee.coder?.userInfo ?? [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    switch node.content {
    case .object: break
    default: node.content = .object
    }
    if let known = node.keyType, known != ObjectIdentifier(type) { node.hasSeveralKeyTypes = true }
    node.keyType = ObjectIdentifier(type)
    // Such keys are made at run time: it is a dictionary, not a record.
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

  /// Adds a value of any type: directly for types that Codable names, and with `encode(to:)` for
  /// all others.
  func put<T: Encodable>(_ value: T, at node: TreeNode, key: (any CodingKey)?) throws {
    let clean = TreeNode()
    switch StandardType.primitiveKind(T.self) {
    case .string:
      clean.content = .bytes(.string, Array(Leaf.bits(value, as: String.self).utf8))
    case .some(let kind):
      clean.content = .fixed(kind, withUnsafeBytes(of: value) { Self.bits($0) })
    case nil:
      let place = TreePlace(depth: frame.pointee.depth, level: level, path: codingPath, key: key)
      return node.become(try frame.leaf(value, at: place))
    }
    node.become(clean)
  }

  func put<V: FixedWidthInteger>(wide value: V, _ kind: FieldKind, at node: TreeNode) {
    let clean = TreeNode()
    clean.content = .fixed(kind, UInt128(truncatingIfNeeded: value))
    node.become(clean)
  }

  func putNull(at node: TreeNode) {
    let clean = TreeNode()
    clean.content = .null
    node.become(clean)
  }

  private static func bits(_ bytes: UnsafeRawBufferPointer) -> UInt128 {
    var bits: UInt128 = 0
    withUnsafeMutableBytes(of: &bits) { $0.copyMemory(from: bytes) }
    return bits
  }

  /// The member for a key.
  func member<Key: CodingKey>(_ key: Key) -> TreeNode {
    node.member(keyStrategy.fieldName(of: key))
  }

  func child(_ node: TreeNode, _ key: any CodingKey) -> TreeEncoder {
    TreeEncoder(node: node, frame: frame, level: level + 1, codingPath: codingPath + [key])
  }
}

/// The place in a tree of the value being written: for the coding path and the depth.
struct TreePlace {
  let depth: Int
  let level: Int
  let path: [any CodingKey]
  let key: (any CodingKey)?
}

struct TreeKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let tree: TreeEncoder

  var codingPath: [any CodingKey] { tree.codingPath }

  func encodeNil(forKey key: Key) throws { tree.putNull(at: tree.member(key)) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try tree.put(value, at: tree.member(key), key: key)
  }
  // The default implementations of these throw.
  func encode(_ value: Int128, forKey key: Key) throws {
    tree.put(wide: value, .int128, at: tree.member(key))
  }
  func encode(_ value: UInt128, forKey key: Key) throws {
    tree.put(wide: value, .uint128, at: tree.member(key))
  }

  /// Notes the kind of a nil field, so that the first value already has the right shape.
  private func offer<T: Encodable>(_ value: T?, _ key: Key, _ kind: FieldKind? = nil) throws {
    if let value { return try encode(value, forKey: key) }
    let known = tree.member(key)
    guard case .nothing = known.content, known.children.isEmpty else { return }
    known.isAbsent = true
    known.absentKind = kind ?? EncodePlan.kind(of: T.self)
  }

  // The default implementations of these ignore nil.
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws {
    try offer(value, key, .int128)
  }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try offer(value, key) }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws {
    try offer(value, key, .uint128)
  }
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try offer(value, key) }

  private func nested(_ key: some CodingKey) -> TreeEncoder {
    tree.node.isPlain = false
    let node = tree.member(key)
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

  func encodeNil() throws { tree.putNull(at: tree.node.append()) }
  func encode(_ value: Int128) throws { tree.put(wide: value, .int128, at: tree.node.append()) }
  func encode(_ value: UInt128) throws { tree.put(wide: value, .uint128, at: tree.node.append()) }
  func encode<T: Encodable>(_ value: T) throws {
    let key = PathKey(intValue: count)
    // Appended after encoding: a value that throws leaves no element.
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

  func encodeNil() throws { tree.putNull(at: tree.node) }
  func encode(_ value: Int128) throws { tree.put(wide: value, .int128, at: tree.node) }
  func encode(_ value: UInt128) throws { tree.put(wide: value, .uint128, at: tree.node) }
  func encode<T: Encodable>(_ value: T) throws {
    try tree.put(value, at: tree.node, key: nil)
  }
}
