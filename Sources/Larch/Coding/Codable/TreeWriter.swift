/// Turns a value that failed on the fast path into a tree, and the tree into bytes.
extension EncodeFramePointer {
  /// The value as a tree, for the innermost frame, which is its own. Learns the shape of the type.
  func tree<T: Encodable>(of value: T, plan: UnsafeMutablePointer<EncodePlan.Hot>) throws
    -> TreeNode
  {
    let coder = coder
    pointee.mode = .written
    let node = TreeNode()
    try value.encode(
      to: TreeEncoder(
        node: node, frame: self, keyStrategy: plan.pointee.owner.keyStrategy,
        codingPath: pointee.state.pointee.codingPath))
    guard node.isObject, node.version == nil else {
      if plan.pointee.strategy == .direct { plan.pointee.owner.missed() }
      return node
    }
    guard node.isPlain, !coder.writesMaps else {
      node.isPlain = false
      keepNils(of: T.self, in: node)
      if !coder.writesMaps { plan.pointee.owner.needsTree() }
      return node
    }
    if case .nothing = node.content { node.content = .object }
    let known = plan.pointee.version
    let seen: [(name: String, kind: FieldKind?)] = zip(node.names, node.children).map {
      name, child in
      guard child.isAbsent else { return (name: name, kind: child.kind ?? .tagged) }
      // The shape includes a field with a default even if it is nil: otherwise the default would be
      // read for the nil.
      let kind = child.absentKind ?? coder.defaultKind(of: name, in: ObjectIdentifier(T.self))
      return (name: name, kind: kind)
    }
    node.version = try plan.pointee.owner.learn(seen, keyType: node.keyType, shapes: coder.shapes)
    if node.version == nil {
      node.isPlain = false
      keepNils(of: T.self, in: node)
    }
    if node.hasSeveralKeyTypes {
      plan.pointee.owner.needsTree()
    } else if known != nil, known == node.version {
      plan.pointee.owner.missed()
    }
    return node
  }

  /// A map leaves out what is nil. Where a default is declared, it would be read for the nil.
  private func keepNils<T>(of type: T.Type, in node: TreeNode) {
    for (name, child) in zip(node.names, node.children)
    where child.isAbsent && coder.defaultValue(of: name, in: ObjectIdentifier(type)) != nil {
      child.isAbsent = false
      child.content = .null
    }
  }

  /// A value in a tree: as bytes if the fast path can write it, otherwise as a tree again.
  func leaf<T: Encodable>(_ value: T, at place: TreePlace) throws -> TreeNode {
    let state = pointee.state
    guard state.pointee.current == self, let coder = state.pointee.coder else {
      return TreeNode()
    }
    coder.treePlaces.append(place)
    state.pointee.treeLevels += place.level
    let start = state.pointee.end
    defer {
      state.pointee.end = start
      state.pointee.treeLevels -= place.level
      coder.treePlaces.removeLast()
    }
    coder.adopted = nil
    pointee.elementKind = 0
    try write(value, plan: coder.plan(for: T.self), slot: EncodeFrame.treeSlot)
    if let node = coder.adopted {
      coder.adopted = nil
      return node
    }
    let node = TreeNode()
    let bytes = UnsafeRawBufferPointer(
      start: state.pointee.base + start, count: state.pointee.end - start)
    guard let kind = FieldKind(rawValue: pointee.elementKind) else {
      node.content = .null
      return node
    }
    if kind.isFixed, bytes.count <= 16 {
      var bits: UInt128 = 0
      withUnsafeMutableBytes(of: &bits) { $0.copyMemory(from: bytes) }
      node.content = .fixed(kind, bits)
    } else {
      node.content = .bytes(kind, Array(bytes))
    }
    return node
  }

  /// Writes a tree as the value of this frame.
  func write(_ node: TreeNode) throws {
    if pointee.sinkSlot == EncodeFrame.treeSlot {
      coder.adopted = node
      return
    }
    pointee.mode = .open
    switch node.content {
    case .null: emitNull()
    case .fixed(let kind, let bits):
      switch kind.width {
      case 1: emitValue(UInt8(truncatingIfNeeded: bits), kind)
      case 2: emitValue(UInt16(truncatingIfNeeded: bits), kind)
      case 4: emitValue(UInt32(truncatingIfNeeded: bits), kind)
      case 8: emitValue(UInt64(truncatingIfNeeded: bits), kind)
      default: emitValue(bits, kind)
      }
    case .bytes(.decimal, let bytes):
      bytes.withUnsafeBytes {
        emitValue($0.loadUnaligned(as: Leaf.DecimalBytes.self), .decimal)
      }
    case .bytes(let kind, let bytes) where kind.hasShortLength:
      bytes.withUnsafeBytes { emitValue($0, kind) }
    case .bytes, .nothing, .object, .list:
      guard let kind = node.kind, beginLong(kind) else { return }
      var writer = TreeWriter(state: pointee.state)
      try writer.appendSlot(node, kind, depth: pointee.depth + pointee.state.pointee.treeLevels)
      endLong()
    }
  }
}

/// Writes trees into the buffer of a coder.
private struct TreeWriter: RecordFormWriter {
  let state: UnsafeMutablePointer<EncodeState>

  var output: RecordOutput {
    get { state.pointee.output }
    nonmutating _modify { yield &state.pointee.output }
  }

  func kind(of node: TreeNode) -> FieldKind? { node.kind }

  func tooDeep() -> any Error {
    EncodingError.invalidValue(
      (),
      .init(
        codingPath: state.pointee.codingPath,
        debugDescription: "The values of a record are nested too deeply."))
  }

  mutating func appendScalar(_ node: TreeNode, _ kind: FieldKind) {
    switch node.content {
    case .fixed(let kind, let bits):
      withUnsafeBytes(of: bits) {
        output.append(UnsafeRawBufferPointer(rebasing: $0[..<kind.width]))
      }
    case .bytes(_, let bytes): bytes.withUnsafeBytes { output.append($0) }
    case .null, .nothing, .object, .list: break
    }
  }

  mutating func appendContainer(_ node: TreeNode, _ kind: FieldKind, depth: Int) throws {
    switch node.content {
    case .list: try appendList(node.children, depth: depth)
    case .nothing, .object:
      guard let version = node.version else {
        let entries = zip(node.names, node.children).filter { !$0.1.isAbsent }
        return try appendMap(
          entries.map { (key: Array($0.0.utf8), value: $0.1) }, depth: depth)
      }
      let shape = version.pointee.shape._withUnsafeGuaranteedRef { $0 }
      try appendRecord(node, shape, depth: depth)
    // A nested value that was written directly.
    case .null, .fixed, .bytes: appendScalar(node, kind)
    }
  }

  private mutating func appendRecord(_ node: TreeNode, _ shape: Shape, depth: Int) throws {
    var record = RecordBuilder(shape, in: &output)
    for (slot, field) in shape.fields.enumerated() {
      let member = node.member(named: field.name)
      if let member, !member.isAbsent { try appendSlot(member, field.kind, depth: depth + 1) }
      record.end(slot, isPresent: member?.isAbsent == false, in: &output)
    }
  }
}
