/// How to write the values of one Swift type, learned from writing them.
final class EncodePlan {
  /// The data that containers read for every field, in plain memory without reference counts.
  struct Hot {
    var strategy: Strategy
    /// The newest shape of the type.
    var version: UnsafeMutablePointer<EncodeVersion>?
    /// The keys of the fast path: those of the first value that had any.
    var keyType: ObjectIdentifier?
    /// The container of the type at each depth as an immortal reference, if `ReturnedContainer` is
    /// trusted.
    let references: UnsafeMutablePointer<UnsafeRawPointer?>
    unowned(unsafe) let owner: EncodePlan
  }

  enum Strategy: UInt8 {
    case date, uuid, data, url, decimal, int64
    case string, strings, ints, doubles
    /// Its own `encode(to:)`, in one pass.
    case direct
    /// Set or Dictionary: with Larch's own coding, since theirs has no fixed order.
    case sorted
    /// First to a tree, with `encode(to:)`.
    case tree
  }

  let typeName: String
  /// How the type names its fields.
  let keyStrategy: KeyStrategy
  let hot: UnsafeMutablePointer<Hot>
  /// The fields seen so far; kind nil if only nil was seen.
  private(set) var fields: [(name: String, kind: FieldKind?)] = []
  private var versions: [UnsafeMutablePointer<EncodeVersion>] = []
  /// The number of failures of the fast path that a new shape would not prevent.
  private var misses = 0
  private(set) var writesMaps = false
  /// For the strategy of that name.
  let sorted: (any SortedEncodable.Type)?

  /// After this number of failures, a type does not use the fast path any more.
  private static let missLimit = 8

  init(_ type: any Encodable.Type) {
    typeName = String(describing: type)
    keyStrategy = KeyStrategy.of(type)
    sorted = type as? any SortedEncodable.Type
    let strategy = Leaf.strategy(of: type) ?? (sorted == nil ? .direct : .sorted)
    hot = .allocate(capacity: 1)
    let references = UnsafeMutablePointer<UnsafeRawPointer?>.allocate(
      capacity: RecordFormat.depthLimit)
    references.initialize(repeating: nil, count: RecordFormat.depthLimit)
    hot.initialize(
      to: Hot(
        strategy: strategy, version: nil, keyType: nil, references: references, owner: self))
  }

  deinit {
    hot.pointee.references.deallocate()
    hot.deallocate()
    for version in versions { EncodeVersion.free(version) }
  }

  /// The shapes may have been undone: they are searched or created again for the next value.
  func forgetShapes() {
    hot.pointee.version = nil
  }

  /// The fast path failed although the shape has all fields of the value.
  func missed() {
    misses += 1
    if misses >= Self.missLimit { hot.pointee.strategy = .tree }
  }

  /// Values of the type use containers that only the tree can write.
  func needsTree() { hot.pointee.strategy = .tree }

  /// Records the fields of a value in the order of writing, and returns the shape for it; nil if
  /// the type has too many shapes, so that its values become maps.
  func learn(
    _ seen: [(name: String, kind: FieldKind?)], keyType: ObjectIdentifier?, shapes: ShapeTable
  ) throws -> UnsafeMutablePointer<EncodeVersion>? {
    if writesMaps { return nil }
    let isNew = merge(seen)
    if let known = hot.pointee.keyType {
      // The same byte is the key of another field there, and a version has one slot for it.
      if let keyType, keyType != known { needsTree() }
    } else {
      hot.pointee.keyType = keyType
    }
    if let version = hot.pointee.version, !isNew { return version }
    guard let shape = try findShape(shapes) else {
      writesMaps = true
      needsTree()
      return nil
    }
    // The stored shape may have the names with more general kinds.
    for (index, field) in shape.fields.enumerated() {
      if let known = fields.firstIndex(where: { $0.name == field.name }) {
        fields[known].kind = field.kind
      } else {
        fields.insert((field.name, field.kind), at: min(index, fields.count))
      }
    }
    let version = EncodeVersion.make(shape)
    versions.append(version)
    hot.pointee.version = version
    return version
  }

  private func merge(_ seen: [(name: String, kind: FieldKind?)]) -> Bool {
    var isNew = false
    var position = 0
    for (name, kind) in seen {
      if let index = fields.firstIndex(where: { $0.name == name }) {
        position = index + 1
        guard let kind, fields[index].kind != kind, fields[index].kind != .tagged else { continue }
        fields[index].kind = fields[index].kind == nil ? kind : .tagged
        isNew = true
      } else {
        fields.insert((name, kind), at: position)
        position += 1
        if kind != nil { isNew = true }
      }
    }
    return isNew
  }

  private func findShape(_ shapes: ShapeTable) throws -> Shape? {
    guard fields.count <= RecordFormat.fieldLimit,
      fields.allSatisfy({ $0.name.utf8.count <= 0xFFFF }), typeName.utf8.count <= 0xFFFF
    else { return nil }
    let found = try shapes.first(typeName: typeName) { shape in
      shape.fields.count == fields.count
        && zip(shape.fields, fields).allSatisfy { stored, seen in
          stored.name == seen.name
            && (seen.kind == nil || stored.kind == seen.kind || stored.kind == .tagged)
        }
    }
    if let found { return found }
    let known = fields.compactMap { field in
      field.kind.map { ShapeField(name: field.name, kind: $0) }
    }
    if let found = try shapes.first(typeName: typeName, where: { $0.fields == known }) {
      return found
    }
    guard try shapes.shapeCount(typeName: typeName) < RecordFormat.shapesPerTypeLimit,
      shapes.count < Int(RecordFormat.shapeMask)
    else { return nil }
    return try shapes.intern(typeName: typeName, fields: known)
  }
}

/// A shape with its tables for writing. Frames keep theirs while the type learns the next one, so
/// versions live as long as the plan.
struct EncodeVersion {
  let shape: Unmanaged<Shape>
  let layouts: UnsafeMutablePointer<FieldLayout>
  /// Key byte to slot, for the keys of the plan; filled at the first use of a key.
  let keySlots: UnsafeMutablePointer<UInt16>
  /// For each slot: the last type that was written there, and its plan.
  let caches: UnsafeMutablePointer<Cache>
  let header: UInt16
  let fieldCount: Int
  let variableCount: Int
  let slotsEnd: Int
  let wideSlotsEnd: Int

  struct Cache {
    var type: ObjectIdentifier?
    var plan: UnsafeMutablePointer<EncodePlan.Hot>?
  }

  static func make(_ shape: Shape) -> UnsafeMutablePointer<EncodeVersion> {
    let count = shape.fields.count
    let keySlots = UnsafeMutablePointer<UInt16>.allocate(capacity: 256)
    keySlots.initialize(repeating: EncodeFrame.unresolved, count: 256)
    let caches = UnsafeMutablePointer<Cache>.allocate(capacity: max(count, 1))
    caches.initialize(repeating: Cache(), count: max(count, 1))
    let version = UnsafeMutablePointer<EncodeVersion>.allocate(capacity: 1)
    version.initialize(
      to: EncodeVersion(
        shape: .passRetained(shape), layouts: shape.layouts, keySlots: keySlots, caches: caches,
        header: shape.id, fieldCount: count,
        variableCount: shape.fields.count { !$0.kind.isFixed },
        slotsEnd: shape.slotsEnd, wideSlotsEnd: shape.wideSlotsEnd))
    return version
  }

  static func free(_ version: UnsafeMutablePointer<EncodeVersion>) {
    version.pointee.keySlots.deallocate()
    version.pointee.caches.deallocate()
    version.pointee.shape.release()
    version.deallocate()
  }
}

extension EncodeFramePointer {
  /// The coder of a frame whose value is being written.
  @inline(__always)
  var coder: RecordCoder {
    // Only a coder hands out a frame, after setting itself here.
    pointee.state.pointee.coder!
  }

  /// The plan for a type; only for a frame whose value is being written.
  @inline(__always)
  func plan<T: Encodable>(for type: T.Type) -> UnsafeMutablePointer<EncodePlan.Hot> {
    coder.plan(for: type)
  }

  /// The slot of a key, or a negative number if nothing can be written for it.
  ///
  /// A coding key of one byte is that byte: `stringValue` is read once for each, and later the
  /// table has the slot. Others are compared with the field after the last one, then looked up.
  @inline(__always)
  func slot<Key: CodingKey>(_ key: Key) -> Int {
    if MemoryLayout<Key>.size == 1 {
      // It has one byte, and any byte is a `UInt8`.
      let byte = unsafeBitCast(key, to: UInt8.self)
      let slot = pointee.keySlots[Int(byte)]
      if slot != EncodeFrame.unresolved {
        pointee.slot = Int(slot)
        return Int(slot)
      }
      return resolve(name(of: key), byte: Int(byte))
    }
    return resolve(name(of: key), byte: -1)
  }

  /// The stored name of a field. A container that outlives its value has no plan any more.
  @inline(never)
  private func name<Key: CodingKey>(of key: Key) -> String {
    guard pointee.mode == .record, pointee.keySlots != pointee.state.pointee.noSlots,
      let plan = pointee.plan
    else { return key.stringValue }
    return plan.pointee.owner.keyStrategy.fieldName(of: key)
  }

  @inline(never)
  private func resolve(_ name: String, byte: Int) -> Int {
    // The empty table: closed, failed, or a nested value is being written.
    if pointee.keySlots == pointee.state.pointee.noSlots || pointee.mode != .record {
      if pointee.mode == .record { fail() }
      return -1
    }
    guard let version = pointee.version else { return -1 }
    let found = version.pointee.shape._withUnsafeGuaranteedRef { shape in
      let next = pointee.slot &+ 1
      if next < shape.fields.count, shape.fields[next].name == name { return next }
      return shape.slot(of: name) ?? -1
    }
    if found < 0 {
      fail()
      return -1
    }
    if byte >= 0 { pointee.keySlots[byte] = UInt16(found) }
    pointee.slot = found
    return found
  }
}
