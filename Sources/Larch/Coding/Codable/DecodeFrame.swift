/// The state of a coder while it reads; each coder has one.
struct DecodeState {
  /// `RecordFormat.depthLimit` frames, one per nesting level of the value being read.
  let frames: UnsafeMutablePointer<DecodeFrame>
  /// The frame of the innermost value; `frames - 1` if idle.
  var current: UnsafeMutablePointer<DecodeFrame>
  /// 256 times an unresolved entry.
  let noEntries: UnsafeMutablePointer<FieldPlace>
  /// A placeholder for no cache. It stays empty: it lives longer than any plan.
  let noCache: UnsafeMutablePointer<DecodeCache>
  /// The number of used frames outside the stack.
  var extraCount = 0
  // The coder returns the state before it is deallocated.
  unowned(unsafe) var coder: RecordCoder?
  /// The containers of these frames, which are reused with them.
  let containers = Unmanaged.passRetained(ImmortalContainers())
}

/// A value that is being read. Like the frames for writing, it is memory of the coder, and a
/// container is one pointer. The bytes may be arbitrary: an invalid step throws.
struct DecodeFrame {
  enum Mode: UInt8 {
    case closed
    case open
    case record
    case map
  }

  let state: UnsafeMutablePointer<DecodeState>
  var depth: Int
  /// Whether its place is outside the stack of frames: a nested container or super decoder.
  let isExtra: Bool
  /// Its number among the frames outside the stack.
  var extraIndex = 0
  var mode = Mode.closed
  /// The kind of the value, 0 for null, and its slot form.
  var kind: UInt8 = 0
  var base: UnsafeRawPointer
  var count = 0
  /// The Swift type that is being read.
  var owner: ObjectIdentifier
  /// The place of the cached plan for it.
  var cache: UnsafeMutablePointer<DecodeCache>
  /// For a record: the fields by key byte; nothing is resolved for other values.
  var entries: UnsafeMutablePointer<FieldPlace>
  var plan: UnsafeMutablePointer<DecodePlan.Hot>?
  /// For a list or map: the kind and number of the elements, and their start.
  var elementKind: UInt8 = 0
  var elementCount = 0
  var elementStart = 0
  /// For a map: the start of the entry after the last one that was found.
  var cursor = 0
  /// The key of the value being read: the slot, the index, or the place of the map key.
  var key = -1
  var keyCount = 0
  var parent: UnsafeMutablePointer<DecodeFrame>
}

typealias DecodeFramePointer = UnsafeMutablePointer<DecodeFrame>

/// The result of searching for a key or an element.
package struct FoundValue {
  enum State {
    /// The stored shape or map has no such key.
    case missing
    /// The field exists and is nil.
    case absent
    /// A nil that was written explicitly.
    case null
    case value
  }

  var state: State
  /// `bool` if there is no value.
  package var kind = FieldKind.bool
  package var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  var cache: UnsafeMutablePointer<DecodeCache>?

  package var isNil: Bool { state != .value }
}

extension UnsafeMutablePointer<DecodeFrame> {
  // MARK: Fields of a record

  @inline(__always)
  func entry<Key: CodingKey>(_ key: Key) -> UnsafeMutablePointer<FieldPlace> {
    if MemoryLayout<Key>.size == 1 {
      // It has one byte, and any byte is a `UInt8`.
      let byte = unsafeBitCast(key, to: UInt8.self)
      let entry = pointee.entries + Int(byte)
      if entry.pointee.kind != FieldPlace.unresolved { return entry }
      return resolve(name(of: key), byte: Int(byte))
    }
    return resolve(name(of: key), byte: -1)
  }

  /// The stored name of a field. A frame outside the stack has the keys of a nested container, which
  /// stay as they are.
  @inline(never)
  func name<Key: CodingKey>(of key: Key) -> String { keyStrategy.fieldName(of: key) }

  /// A container that outlives its value has no cache any more.
  var keyStrategy: KeyStrategy {
    switch pointee.mode {
    case .record, .map: pointee.isExtra ? .asWritten : pointee.cache.pointee.keyStrategy
    case .open, .closed: .asWritten
    }
  }

  @inline(never)
  private func resolve(_ name: String, byte: Int) -> UnsafeMutablePointer<FieldPlace> {
    guard pointee.mode == .record, let plan = pointee.plan else {
      return pointee.state.pointee.noEntries
    }
    let byte = pointee.entries == pointee.state.pointee.noEntries ? -1 : byte
    guard let slot = plan.pointee.owner.slot(of: name) else {
      if byte >= 0 { pointee.entries[byte].kind = FieldPlace.missing }
      return pointee.state.pointee.noEntries
    }
    let entry = plan.pointee.fieldEntries + slot
    if byte >= 0 { pointee.entries[byte] = entry.pointee }
    return entry
  }

  @inline(__always)
  func isPresent(_ entry: UnsafeMutablePointer<FieldPlace>) -> Bool {
    pointee.base.load(fromByteOffset: Int(entry.pointee.maskOffset), as: UInt8.self)
      & entry.pointee.bit != 0
  }

  @inline(__always)
  func load<V: BitwiseCopyable>(_ entry: UnsafeMutablePointer<FieldPlace>, as type: V.Type) -> V {
    pointee.base.loadUnaligned(fromByteOffset: Int(entry.pointee.offset), as: type)
  }

  /// The bytes of a variable field.
  @inline(__always)
  func bytes(_ entry: UnsafeMutablePointer<FieldPlace>) throws -> UnsafeRawBufferPointer {
    guard let plan = pointee.plan else { throw ByteReader.damaged() }
    let base = pointee.base
    let start: Int
    let end: Int
    if plan.pointee.isWide {
      end = Int(base.loadUnaligned(fromByteOffset: Int(entry.pointee.offset), as: UInt32.self))
      start =
        entry.pointee.previousEnd == 0
        ? plan.pointee.slotsEnd
        : Int(
          base.loadUnaligned(fromByteOffset: Int(entry.pointee.previousEnd), as: UInt32.self))
    } else {
      end = Int(base.loadUnaligned(fromByteOffset: Int(entry.pointee.offset), as: UInt16.self))
      start =
        entry.pointee.previousEnd == 0
        ? plan.pointee.slotsEnd
        : Int(
          base.loadUnaligned(fromByteOffset: Int(entry.pointee.previousEnd), as: UInt16.self))
    }
    guard start >= plan.pointee.slotsEnd, start <= end, end <= pointee.count else {
      throw ByteReader.damaged("offset of a field")
    }
    return UnsafeRawBufferPointer(start: base + start, count: end &- start)
  }

  /// The stored value of a key, whatever the value of this frame is.
  func find(_ name: String) throws -> FoundValue {
    switch pointee.mode {
    case .record:
      guard let plan = pointee.plan else { break }
      guard let slot = plan.pointee.owner.slot(of: name) else {
        return try findDefault(name, plan)
      }
      pointee.key = slot
      let entry = plan.pointee.fieldEntries + slot
      guard isPresent(entry) else { return FoundValue(state: .absent) }
      let kind = entry.pointee.fieldKind
      let cache = plan.pointee.caches + slot
      if kind.isFixed {
        let bytes = UnsafeRawBufferPointer(
          start: pointee.base + Int(entry.pointee.offset), count: kind.width)
        return FoundValue(state: .value, kind: kind, bytes: bytes, cache: cache)
      }
      let bytes = try bytes(entry)
      guard kind == .tagged else {
        return FoundValue(state: .value, kind: kind, bytes: bytes, cache: cache)
      }
      var found = try Self.untag(bytes)
      found.cache = cache
      return found
    case .map:
      let found = try findEntry(name)
      return found.state == .missing ? try findMissingEntry(name) : found
    case .open, .closed: break
    }
    throw ByteReader.damaged("container used after its value was read")
  }

  /// A field of a record that is written as a map.
  private func findMissingEntry(_ name: String) throws -> FoundValue {
    guard let coder = pointee.state.pointee.coder else { return FoundValue(state: .missing) }
    for older in coder.olderNames(of: name, in: pointee.owner) {
      let found = try findEntry(older)
      if found.state != .missing { return found }
    }
    guard let bytes = coder.defaultValue(of: name, in: pointee.owner) else {
      return FoundValue(state: .missing)
    }
    return try Self.untag(bytes)
  }

  /// The stored value of a key that must have one: a declared default replaces nil.
  func findValue(_ name: String) throws -> FoundValue {
    let found = try find(name)
    guard found.isNil, let coder = pointee.state.pointee.coder,
      let bytes = coder.defaultValue(of: name, in: pointee.owner)
    else { return found }
    return try Self.untag(bytes)
  }

  static func untag(_ bytes: UnsafeRawBufferPointer) throws -> FoundValue {
    var reader = ByteReader(bytes)
    let value = try reader.tagged()
    guard reader.isAtEnd else { throw ByteReader.damaged("tagged value") }
    guard let kind = value.kind else { return FoundValue(state: .null) }
    return FoundValue(state: .value, kind: kind, bytes: value.bytes)
  }

  private func findDefault(
    _ name: String, _ plan: UnsafeMutablePointer<DecodePlan.Hot>
  ) throws -> FoundValue {
    guard let bytes = plan.pointee.owner.defaultValue(of: name) else {
      return FoundValue(state: .missing)
    }
    return try Self.untag(bytes)
  }

  private func findEntry(_ name: String) throws -> FoundValue {
    var name = name
    return try name.withUTF8 { wanted in
      let wanted = UnsafeRawBufferPointer(wanted)
      // Entries are usually read in order: the next one first, then all others.
      if let found = try scan(for: wanted, from: pointee.cursor, to: pointee.count) {
        return found
      }
      return try scan(for: wanted, from: pointee.elementStart, to: pointee.cursor)
        ?? FoundValue(state: .missing)
    }
  }

  private func scan(
    for wanted: UnsafeRawBufferPointer, from: Int, to: Int
  ) throws -> FoundValue? {
    guard let kind = FieldKind(rawValue: pointee.elementKind), from <= to, to <= pointee.count
    else { return nil }
    var reader = ByteReader(UnsafeRawBufferPointer(start: pointee.base + from, count: to - from))
    while !reader.isAtEnd {
      let key = try reader.bytes(.string)
      guard key.elementsEqual(wanted) else {
        try reader.skip(kind)
        continue
      }
      pointee.key = UnsafeRawPointer(key.baseAddress ?? pointee.base) - pointee.base
      pointee.keyCount = key.count
      let value = try Self.element(&reader, kind)
      pointee.cursor = from + reader.offset
      return value
    }
    return nil
  }

  /// The next element of a list or value of a map.
  static func element(_ reader: inout ByteReader, _ kind: FieldKind) throws -> FoundValue {
    if kind != .tagged {
      return FoundValue(state: .value, kind: kind, bytes: try reader.bytes(kind))
    }
    let value = try reader.tagged()
    guard let kind = value.kind else { return FoundValue(state: .null) }
    return FoundValue(state: .value, kind: kind, bytes: value.bytes)
  }

  // MARK: Containers

  /// Prepares this frame for keys, as a record or a map.
  @inline(__always)
  func beginKeyed(_ keyType: ObjectIdentifier) throws {
    if pointee.kind == FieldKind.record.rawValue, pointee.count >= 2,
      let plan = pointee.cache.pointee.plan
    {
      let header = pointee.base.loadUnaligned(as: UInt16.self)
      if plan.pointee.identity.keyType == keyType, plan.pointee.identity.header == header,
        plan.pointee.identity.owner == pointee.owner
      {
        return try beginRecord(plan)
      }
    }
    try beginOtherKeyed(keyType)
  }

  @inline(__always)
  private func beginRecord(_ plan: UnsafeMutablePointer<DecodePlan.Hot>) throws {
    guard pointee.count >= plan.pointee.slotsEnd else { throw ByteReader.damaged("length") }
    let noEntries = pointee.state.pointee.noEntries
    // Containers of several key types may be read alternately, and the byte of a key stands for another
    // field in each: then fields are found by name.
    let isMixed =
      pointee.mode == .record && (pointee.plan != plan || pointee.entries == noEntries)
    pointee.mode = .record
    pointee.plan = plan
    pointee.entries = isMixed ? noEntries : plan.pointee.entries
  }

  @inline(never)
  private func beginOtherKeyed(_ keyType: ObjectIdentifier) throws {
    switch FieldKind(rawValue: pointee.kind) {
    case .record:
      guard pointee.count >= 2, let coder = pointee.state.pointee.coder else {
        throw ByteReader.damaged()
      }
      let header = pointee.base.loadUnaligned(as: UInt16.self)
      let plan = try coder.decodePlan(
        DecodePlan.Identity(owner: pointee.owner, keyType: keyType, header: header))
      if pointee.cache != pointee.state.pointee.noCache { pointee.cache.pointee.plan = plan }
      try beginRecord(plan)
    case .map:
      var reader = ByteReader(UnsafeRawBufferPointer(start: pointee.base, count: pointee.count))
      let header = try reader.listHeader(isMap: true)
      pointee.mode = .map
      pointee.elementKind = header.kind?.rawValue ?? 0
      pointee.elementCount = header.count
      pointee.elementStart = reader.offset
      pointee.cursor = reader.offset
      pointee.entries = pointee.state.pointee.noEntries
    default:
      throw mismatch([String: Any].self, "keys and values")
    }
  }

  func beginList() throws {
    if pointee.kind == FieldKind.data.rawValue {
      // Data that is decoded by its own init(from:) reads its bytes one by one.
      pointee.elementKind = FieldKind.uint8.rawValue
      pointee.elementCount = pointee.count
      pointee.elementStart = 0
      return
    }
    guard pointee.kind == FieldKind.list.rawValue else { throw mismatch([Any].self, "a list") }
    var reader = ByteReader(UnsafeRawBufferPointer(start: pointee.base, count: pointee.count))
    let header = try reader.listHeader(isMap: false)
    pointee.elementKind = header.kind?.rawValue ?? 0
    pointee.elementCount = header.count
    pointee.elementStart = reader.offset
  }

  /// The error for a value of another type.
  func mismatch(_ type: any Any.Type, _ wanted: String) -> any Error {
    guard pointee.mode != .closed else {
      return ByteReader.damaged("container used after its value was read")
    }
    let path = codingPath
    guard let kind = FieldKind(rawValue: pointee.kind) else {
      return DecodingError.valueNotFound(
        type, .init(codingPath: path, debugDescription: "expected \(wanted), found nil"))
    }
    return DecodingError.typeMismatch(
      type, .init(codingPath: path, debugDescription: "expected \(wanted), found \(kind.name)"))
  }
}
