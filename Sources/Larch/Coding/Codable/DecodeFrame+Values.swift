internal import Foundation

/// Converts stored bytes to the requested value, even if the stored kind is another one.
extension UnsafeMutablePointer<DecodeFrame> {
  // MARK: Errors

  /// The path of the container of this frame and the key.
  func path(_ key: (any CodingKey)?) -> [any CodingKey] {
    key.map { codingPath + [$0] } ?? codingPath
  }

  func missing(
    _ found: FoundValue, _ type: any Any.Type, _ key: any CodingKey
  ) -> any Error {
    switch found.state {
    case .missing:
      DecodingError.keyNotFound(
        key,
        .init(
          codingPath: path(key),
          debugDescription:
            "expected \(type), but the stored record has no such field and no default is declared"))
    default:
      DecodingError.valueNotFound(
        type, .init(codingPath: path(key), debugDescription: "expected \(type), found nil"))
    }
  }

  func mismatch(_ found: FoundValue, _ type: any Any.Type, _ key: (any CodingKey)?) -> any Error {
    if found.isNil {
      return DecodingError.valueNotFound(
        type, .init(codingPath: path(key), debugDescription: "expected \(type), found nil"))
    }
    return DecodingError.typeMismatch(
      type,
      .init(
        codingPath: path(key), debugDescription: "expected \(type), found \(found.kind.name)"))
  }

  private func outOfRange(
    _ found: FoundValue, _ type: any Any.Type, _ key: (any CodingKey)?
  ) -> any Error {
    DecodingError.dataCorrupted(
      .init(
        codingPath: path(key),
        debugDescription: "expected \(type), found a value of kind \(found.kind.name) out of range"
      ))
  }

  // MARK: Primitives

  func bool(_ found: FoundValue, _ key: (any CodingKey)?) throws -> Bool {
    guard found.state == .value, found.kind == .bool else { throw mismatch(found, Bool.self, key) }
    return try Self.bool(found.bytes.load(as: UInt8.self))
  }

  @inline(__always)
  static func bool(_ byte: UInt8) throws -> Bool {
    if byte > 1 { throw ByteReader.damaged("bool") }
    return byte != 0
  }

  /// Any stored integer, if the type can hold it.
  func integer<I: FixedWidthInteger>(
    _ found: FoundValue, _ type: I.Type, _ key: (any CodingKey)?
  ) throws -> I {
    guard found.state == .value else { throw mismatch(found, type, key) }
    let bytes = found.bytes
    let value: I? =
      switch found.kind {
      case .int64: I(exactly: bytes.loadUnaligned(as: Int64.self))
      case .int8: I(exactly: bytes.loadUnaligned(as: Int8.self))
      case .int16: I(exactly: bytes.loadUnaligned(as: Int16.self))
      case .int32: I(exactly: bytes.loadUnaligned(as: Int32.self))
      case .uint64: I(exactly: bytes.loadUnaligned(as: UInt64.self))
      case .uint8: I(exactly: bytes.loadUnaligned(as: UInt8.self))
      case .uint16: I(exactly: bytes.loadUnaligned(as: UInt16.self))
      case .uint32: I(exactly: bytes.loadUnaligned(as: UInt32.self))
      case .int128: I(exactly: bytes.loadUnaligned(as: Int128.self))
      case .uint128: I(exactly: bytes.loadUnaligned(as: UInt128.self))
      default: throw mismatch(found, type, key)
      }
    guard let value else { throw outOfRange(found, type, key) }
    return value
  }

  /// A stored floating-point number, or an integer that the type represents exactly. A double that
  /// was a float, or becomes one, is rounded; a date is read as its seconds, like its own Codable.
  func float<F: BinaryFloatingPoint>(
    _ found: FoundValue, _ type: F.Type, _ key: (any CodingKey)?
  ) throws -> F {
    guard found.state == .value else { throw mismatch(found, type, key) }
    switch found.kind {
    case .double, .date:
      let value = found.bytes.loadUnaligned(as: Double.self)
      let rounded = F(value)
      guard rounded.isFinite || !value.isFinite else { throw outOfRange(found, type, key) }
      return rounded
    case .float: return F(found.bytes.loadUnaligned(as: Float.self))
    default:
      let integer = try integer(found, Int128.self, key)
      guard let value = F(exactly: integer) else { throw outOfRange(found, type, key) }
      return value
    }
  }

  func string(_ found: FoundValue, _ key: (any CodingKey)?) throws -> String {
    guard found.state == .value else { throw mismatch(found, String.self, key) }
    switch found.kind {
    case .string, .url: return try Leaf.string(found.bytes)
    case .uuid: return Leaf.uuid(found.bytes).uuidString
    default: throw mismatch(found, String.self, key)
    }
  }

  // MARK: Any type

  /// A value of any type from a found field.
  func value<T: Decodable>(
    _ type: T.Type, _ found: FoundValue, _ key: (any CodingKey)?,
    strategy: DecodeCache.Strategy, cache: UnsafeMutablePointer<DecodeCache>
  ) throws -> T {
    guard found.state == .value, strategy != .direct else {
      return try descend(type, found, cache: cache)
    }
    return try leafOrOther(type, found, key, strategy: strategy, cache: cache)
  }

  // In a separate function, so that the metadata of `T?` is not looked up for every value.
  @inline(never)
  private func leafOrOther<T: Decodable>(
    _ type: T.Type, _ found: FoundValue, _ key: (any CodingKey)?,
    strategy: DecodeCache.Strategy, cache: UnsafeMutablePointer<DecodeCache>
  ) throws -> T {
    if let value = try leaf(type, found.kind, found.bytes, strategy) { return value }
    if let value = try converted(type, found, key, strategy) { return value }
    return try descend(type, found, cache: cache)
  }

  /// A leaf of the kind with which its type is written; otherwise nil.
  private func leaf<T>(
    _ type: T.Type, _ kind: FieldKind, _ bytes: UnsafeRawBufferPointer,
    _ strategy: DecodeCache.Strategy
  ) throws -> T? {
    switch (strategy, kind) {
    case (.date, .date): return Leaf.bits(Leaf.date(bytes), as: type)
    case (.uuid, .uuid): return Leaf.bits(Leaf.uuid(bytes), as: type)
    case (.data, .data): return Leaf.bits(Data(bytes), as: type)
    case (.url, .url), (.url, .string):
      guard let url = URL(string: try Leaf.string(bytes)) else {
        throw ByteReader.damaged("URL")
      }
      return Leaf.bits(url, as: type)
    case (.int64, .int64): return Leaf.bits(bytes.loadUnaligned(as: Int64.self), as: type)
    case (.decimal, .decimal): return Leaf.bits(try Leaf.decimal(bytes), as: type)
    case (.string, .string): return Leaf.bits(try Leaf.string(bytes), as: type)
    case (.strings, .list): return try Leaf.strings(bytes).map { Leaf.bits($0, as: type) }
    case (.ints, .list):
      return try Leaf.packed(bytes, .int64, Int.self).map { Leaf.bits($0, as: type) }
    case (.doubles, .list):
      return try Leaf.packed(bytes, .double, Double.self).map { Leaf.bits($0, as: type) }
    default: return nil
    }
  }

  private func converted<T>(
    _ type: T.Type, _ found: FoundValue, _ key: (any CodingKey)?, _ strategy: DecodeCache.Strategy
  ) throws -> T? {
    guard found.state == .value, strategy == .decimal else { return nil }
    switch found.kind {
    case .double, .float:
      let number = try float(found, Double.self, key)
      // `Decimal` has no infinity, and traps for one.
      guard !number.isInfinite else { throw outOfRange(found, type, key) }
      return Leaf.bits(Decimal(number), as: type)
    case .int8, .int16, .int32, .int64:
      return Leaf.bits(Decimal(try integer(found, Int64.self, key)), as: type)
    case .uint8, .uint16, .uint32, .uint64:
      return Leaf.bits(Decimal(try integer(found, UInt64.self, key)), as: type)
    default: return nil
    }
  }

  /// Reads a value through its own `init(from:)`, in the frame below the innermost one.
  @inline(__always)
  func descend<T: Decodable>(
    _ type: T.Type, _ found: FoundValue, cache: UnsafeMutablePointer<DecodeCache>
  ) throws -> T {
    let state = pointee.state
    let parent = state.pointee.current
    let frame = parent + 1
    // Read from the parent: the innermost frame has no next one.
    guard parent.pointee.depth + 1 < RecordFormat.depthLimit,
      pointee.depth + 1 < RecordFormat.depthLimit
    else { throw tooDeep() }
    frame.open(found, owner: ObjectIdentifier(type), cache: cache, parent: self)
    state.pointee.current = frame
    let extraCount = state.pointee.extraCount
    defer {
      frame.close()
      state.pointee.current = parent
      if state.pointee.extraCount != extraCount {
        state.pointee.coder?.closeExtraFrames(after: extraCount)
      }
    }
    return try T(from: FrameDecoder(frame: frame))
  }

  func tooDeep() -> any Error {
    LarchError(.corrupted, "The values of a record are nested too deeply.") {
      $0.field = PathKey.text(codingPath)
    }
  }

  @inline(__always)
  func open(
    _ found: FoundValue, owner: ObjectIdentifier, cache: UnsafeMutablePointer<DecodeCache>,
    parent: DecodeFramePointer
  ) {
    pointee.mode = .open
    pointee.kind = found.state == .value ? found.kind.rawValue : 0
    pointee.base = found.bytes.baseAddress ?? UnsafeRawPointer(pointee.state)
    pointee.count = found.bytes.count
    pointee.owner = owner
    pointee.cache = cache
    pointee.parent = parent
    pointee.entries = pointee.state.pointee.noEntries
    pointee.key = -1
  }

  /// Invalidates a container: later reads from it throw.
  @inline(__always)
  func close() {
    pointee.mode = .closed
    pointee.count = 0
    pointee.kind = 0
    pointee.elementCount = 0
    pointee.entries = pointee.state.pointee.noEntries
  }

  /// A frame for a nested container or a super decoder, which may alternate with others.
  func extra(_ found: FoundValue, _ key: any CodingKey) throws -> DecodeFramePointer {
    guard let coder = pointee.state.pointee.coder, pointee.depth + 1 < RecordFormat.depthLimit
    else { throw tooDeep() }
    let frame = coder.extraFrame(depth: pointee.depth + 1, path: codingPath + [key])
    frame.open(
      found, owner: pointee.owner, cache: pointee.state.pointee.noCache, parent: self)
    return frame
  }

  // MARK: The coding path

  /// The keys from the record to the value of this frame.
  var codingPath: [any CodingKey] {
    guard let coder = pointee.state.pointee.coder else { return [] }
    var path: [any CodingKey] = []
    var frame = self
    while frame.pointee.depth >= 0 {
      if frame.pointee.isExtra {
        return (coder.extraPaths[frame.pointee.extraIndex] + path.reversed())
      }
      let parent = frame.pointee.parent
      if let key = parent.keyOfChild { path.append(key) }
      frame = parent
    }
    return path.reversed()
  }

  private var keyOfChild: (any CodingKey)? {
    guard pointee.key >= 0 else { return nil }
    switch pointee.mode {
    case .record:
      guard let fields = pointee.plan?.pointee.owner.shape.fields, pointee.key < fields.count
      else { return nil }
      return PathKey(stringValue: fields[pointee.key].name)
    case .map:
      guard pointee.key + pointee.keyCount <= pointee.count else { return nil }
      let name = UnsafeRawBufferPointer(
        start: pointee.base + pointee.key, count: pointee.keyCount)
      return PathKey(stringValue: String(decoding: name, as: UTF8.self))
    case .open: return PathKey(intValue: pointee.key)
    case .closed: return nil
    }
  }
}

extension Leaf {
  static func date(_ bytes: UnsafeRawBufferPointer) -> Date {
    Date(timeIntervalSinceReferenceDate: bytes.loadUnaligned(as: Double.self))
  }

  static func uuid(_ bytes: UnsafeRawBufferPointer) -> UUID {
    UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  static func decimal(_ bytes: UnsafeRawBufferPointer) throws -> Decimal {
    guard let base = bytes.baseAddress, bytes.count == 18 else { throw ByteReader.damaged() }
    return try decimal(base)
  }

  /// Text as it was written. Bytes that are not UTF-8 are damage and are not repaired.
  @inline(__always)
  package static func string(_ bytes: UnsafeRawBufferPointer) throws -> String {
    if SmallString.isTrusted, let start = bytes.baseAddress,
      let words = SmallString.words(start, bytes.count)
    {
      // The self-test of `SmallString` has shown that these words are a string.
      return unsafeBitCast(words, to: String.self)
    }
    return try longString(bytes)
  }

  @inline(never)
  private static func longString(_ bytes: UnsafeRawBufferPointer) throws -> String {
    guard let text = SmallString.text(bytes) else {
      throw ByteReader.damaged("text that is not UTF-8")
    }
    return text
  }

  /// The elements of a list of strings; nil if they have another kind.
  static func strings(_ bytes: UnsafeRawBufferPointer) throws -> [String]? {
    var reader = ByteReader(bytes)
    let (kind, count) = try reader.listHeader(isMap: false)
    guard let kind else { return [] }
    guard kind == .string else { return nil }
    var array: [String] = []
    array.reserveCapacity(count)
    for _ in 0..<count { array.append(try string(reader.bytes(.string))) }
    return array
  }

  /// The elements of a list of numbers; nil if they have another kind.
  static func packed<E: BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, _ wanted: FieldKind, _ type: E.Type
  ) throws -> [E]? {
    var reader = ByteReader(bytes)
    let (kind, count) = try reader.listHeader(isMap: false)
    guard let kind else { return [] }
    guard kind == wanted else { return nil }
    let packed = try reader.take(count &* MemoryLayout<E>.size)
    return [E](unsafeUninitializedCapacity: count) { buffer, initialized in
      UnsafeMutableRawBufferPointer(buffer).copyMemory(from: packed)
      initialized = count
    }
  }
}
