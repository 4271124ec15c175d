/// From a value that failed on the fast path to a tree, and from the tree to bytes.
extension EncodeFramePointer {
  /// The value as a tree, for the innermost frame, which is its own. Learns the shape of the type.
  func tree<T: Encodable>(of value: T, plan: UnsafeMutablePointer<EncodePlan.Hot>) throws
    -> TreeNode
  {
    // A frame is given out by a coder alone, which has set itself before.
    let coder = pointee.state.pointee.coder!
    pointee.mode = .written
    let node = TreeNode()
    try value.encode(
      to: TreeEncoder(node: node, frame: self, codingPath: pointee.state.pointee.codingPath))
    guard node.isObject, node.version == nil else {
      if plan.pointee.strategy == .direct { plan.pointee.owner.missed() }
      return node
    }
    guard node.isPlain, !coder.writesMaps else {
      node.isPlain = false
      if !coder.writesMaps { plan.pointee.owner.needsTree() }
      return node
    }
    if case .nothing = node.content { node.content = .object }
    let known = plan.pointee.version
    let seen: [(name: String, kind: FieldKind?)] = zip(node.names, node.children).map {
      name, child in
      guard child.isAbsent else { return (name: name, kind: child.kind ?? .tagged) }
      // A field that has a default is in the shape also while it is nil: in a record without it, the
      // default would be read for the nil.
      let kind = child.absentKind ?? coder.defaultKind(of: name, in: ObjectIdentifier(T.self))
      return (name: name, kind: kind)
    }
    node.version = try plan.pointee.owner.learn(seen, keyType: node.keyType, shapes: coder.shapes)
    if node.version == nil { node.isPlain = false }
    if node.hasSeveralKeyTypes {
      plan.pointee.owner.needsTree()
    } else if known != nil, known == node.version {
      plan.pointee.owner.missed()
    }
    return node
  }

  /// A value inside a tree: bytes when the fast path can write it, else a tree again.
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
      pointee.state.pointee.coder.adopted = node
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
      try pointee.state.pointee.appendSlotForm(node, depth: pointee.depth)
      endLong()
    }
  }
}

extension EncodeState {
  /// A tree in slot form.
  fileprivate mutating func appendSlotForm(_ node: TreeNode, depth: Int) throws {
    guard depth + treeLevels < RecordFormat.depthLimit else { throw tooDeep() }
    switch node.content {
    case .null: break
    case .fixed(let kind, let bits):
      withUnsafeBytes(of: bits.littleEndian) {
        append(UnsafeRawBufferPointer(rebasing: $0[..<kind.width]))
      }
    case .bytes(_, let bytes): bytes.withUnsafeBytes { append($0) }
    case .list: try appendList(node, depth: depth)
    case .nothing, .object:
      if let version = node.version {
        try appendRecord(node, version, depth: depth)
      } else {
        try appendMap(node, depth: depth)
      }
    }
  }

  private func tooDeep() -> EncodingError {
    EncodingError.invalidValue(
      (),
      .init(
        codingPath: codingPath,
        debugDescription: "Values lie deeper in each other than a record may hold."))
  }

  private mutating func appendElementForm(_ node: TreeNode, depth: Int) throws {
    guard let kind = node.kind else { return }
    if kind.hasLongLength {
      let offset = end
      append(fixed: UInt32(0))
      try appendSlotForm(node, depth: depth + 1)
      (base + offset).storeBytes(
        of: UInt32(truncatingIfNeeded: end - offset - 4), as: UInt32.self)
    } else {
      if case .bytes(_, let bytes) = node.content, kind.hasShortLength {
        append(varint: bytes.count)
      }
      try appendSlotForm(node, depth: depth)
    }
  }

  private mutating func appendTagged(_ node: TreeNode, depth: Int) throws {
    append(node.kind?.rawValue ?? 0)
    try appendElementForm(node, depth: depth)
  }

  /// The kind of all these values, `tagged` when there are several or a null.
  private func commonKind(_ nodes: some Collection<TreeNode>) -> FieldKind {
    guard let first = nodes.first?.kind else { return .tagged }
    return nodes.allSatisfy { $0.kind == first } ? first : .tagged
  }

  private mutating func appendList(_ node: TreeNode, depth: Int) throws {
    let kind = commonKind(node.children)
    append(node.children.isEmpty ? 0 : kind.rawValue)
    append(varint: node.children.count)
    for child in node.children {
      if kind == .tagged {
        try appendTagged(child, depth: depth)
      } else {
        try appendElementForm(child, depth: depth)
      }
    }
  }

  private mutating func appendMap(_ node: TreeNode, depth: Int) throws {
    let entries = zip(node.names, node.children).filter { !$0.1.isAbsent }
      .map { (key: Array($0.0.utf8), value: $0.1) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let kind = commonKind(entries.map(\.value))
    append(entries.isEmpty ? 0 : kind.rawValue)
    append(varint: entries.count)
    for entry in entries {
      append(varint: entry.key.count)
      entry.key.withUnsafeBytes { append($0) }
      if kind == .tagged {
        try appendTagged(entry.value, depth: depth)
      } else {
        try appendElementForm(entry.value, depth: depth)
      }
    }
  }

  private mutating func appendRecord(
    _ node: TreeNode, _ version: UnsafeMutablePointer<EncodeVersion>, depth: Int
  ) throws {
    let fields = version.pointee.shape._withUnsafeGuaranteedRef { $0.fields }
    let layouts = version.pointee.layouts
    let start = end
    let present = fields.map { field -> TreeNode? in
      guard let member = node.member(named: field.name), !member.isAbsent else { return nil }
      return member
    }
    reserve(version.pointee.slotsEnd)
    (base + start).initializeMemory(
      as: UInt8.self, repeating: 0, count: version.pointee.slotsEnd)
    end = start + version.pointee.slotsEnd
    var ends: [Int] = []
    for (slot, field) in fields.enumerated() where !field.kind.isFixed {
      if let member = present[slot] {
        if field.kind == .tagged {
          try appendTagged(member, depth: depth + 1)
        } else {
          try appendSlotForm(member, depth: depth + 1)
        }
      }
      ends.append(end - start)
    }
    var header = version.pointee.header
    let isWide = end - start > RecordFormat.narrowLimit
    if isWide {
      let growth = version.pointee.wideSlotsEnd - version.pointee.slotsEnd
      insertRoom(growth, at: start + version.pointee.slotsEnd)
      ends = ends.map { $0 + growth }
      header |= RecordFormat.wideBit
    }
    let record = base + start
    record.storeBytes(of: header, as: UInt16.self)
    var variables = ends.makeIterator()
    for (slot, field) in fields.enumerated() {
      let offset = Int(isWide ? layouts[slot].wideOffset : layouts[slot].offset)
      if let member = present[slot] {
        let byte = record.load(fromByteOffset: 2 + slot >> 3, as: UInt8.self)
        record.storeBytes(
          of: byte | 1 << UInt8(slot & 7), toByteOffset: 2 + slot >> 3, as: UInt8.self)
        if field.kind.isFixed {
          let after = end
          end = start + offset
          try appendSlotForm(member, depth: depth + 1)
          end = after
        }
      }
      if !field.kind.isFixed, let last = variables.next() {
        if isWide {
          record.storeBytes(of: UInt32(last), toByteOffset: offset, as: UInt32.self)
        } else {
          record.storeBytes(of: UInt16(last), toByteOffset: offset, as: UInt16.self)
        }
      }
    }
  }
}
