internal import Foundation

/// Writes values of any `Encodable` type as records and reads them back.
///
/// A coder learns its types and keeps its buffers, so use one coder for many records. Only one
/// thread at a time may use it, like its table of shapes.
final class RecordCoder {
  let shapes: ShapeTable
  /// Passed to every `encode(to:)` and `init(from:)`.
  @exclusivity(unchecked) var userInfo: [CodingUserInfoKey: Any] = [:]
  /// Whether values become maps without shapes: for bytes that outlive the table.
  let writesMaps: Bool

  @exclusivity(unchecked) let state: UnsafeMutablePointer<EncodeState>
  @exclusivity(unchecked) private var plans: [ObjectIdentifier: EncodePlan] = [:]
  @exclusivity(unchecked) private var lastType: ObjectIdentifier?
  /// Not counted; `plans` owns it.
  @exclusivity(unchecked) private var lastPlan: UnsafeMutablePointer<EncodePlan.Hot>?
  @exclusivity(unchecked) private var generation = 0
  /// The places of values in trees that are being written, from the outermost.
  @exclusivity(unchecked) var treePlaces: [TreePlace] = []
  /// A tree that is being moved into the surrounding tree.
  @exclusivity(unchecked) var adopted: TreeNode?
  @exclusivity(unchecked) private var isEncoding = false
  /// For code of the program that encodes a record while another one is being encoded.
  @exclusivity(unchecked) private var innerCoder: RecordCoder?

  @exclusivity(unchecked) let decodeState: UnsafeMutablePointer<DecodeState>
  @exclusivity(unchecked) private var decodePlans: [DecodePlan.Identity: DecodePlan] = [:]
  @exclusivity(unchecked) private var decodeCaches:
    [ObjectIdentifier: UnsafeMutablePointer<DecodeCache>] = [:]
  @exclusivity(unchecked) private var lastDecodedType: ObjectIdentifier?
  @exclusivity(unchecked) private var lastDecodeCache: UnsafeMutablePointer<DecodeCache>
  @exclusivity(unchecked) private var decodeGeneration = 0
  @exclusivity(unchecked) private var isDecoding = false
  @exclusivity(unchecked) private var extraFrames: [DecodeFramePointer]
  /// The coding path of each frame outside the stack.
  @exclusivity(unchecked) var extraPaths: [[any CodingKey]]
  @exclusivity(unchecked) private var defaults: [ObjectIdentifier: FieldDefaults] = [:]
  @exclusivity(unchecked) private var aliases: [ObjectIdentifier: [String: [String]]] = [:]

  let memberwise: MemberwiseCodecs
  /// Whether the record that was encoded last is read back with every bit of the value in memory.
  @exclusivity(unchecked) private(set) var isExact = false

  init(shapes: ShapeTable, writesMaps: Bool = false) {
    self.shapes = shapes
    memberwise = MemberwiseCodecs(shapes: shapes)
    self.writesMaps = writesMaps
    generation = shapes.generation
    (state, decodeState, extraFrames) = FramePool.take()
    extraPaths = Array(repeating: [], count: extraFrames.count)
    lastDecodeCache = decodeState.pointee.noCache
    state.pointee.coder = self
    decodeState.pointee.coder = self
    memberwise.belong(to: self)
  }

  deinit {
    FramePool.give(back: (state, decodeState, extraFrames))
    for cache in decodeCaches.values { cache.deallocate() }
  }

  /// The plan for a type, created at its first use.
  @inline(__always)
  func plan<T: Encodable>(for type: T.Type) -> UnsafeMutablePointer<EncodePlan.Hot> {
    if lastType == ObjectIdentifier(type), let lastPlan { return lastPlan }
    return otherPlan(for: type)
  }

  @inline(never)
  private func otherPlan(for type: any Encodable.Type) -> UnsafeMutablePointer<EncodePlan.Hot> {
    let id = ObjectIdentifier(type)
    let plan: EncodePlan
    if let known = plans[id] {
      plan = known
    } else {
      plan = EncodePlan(type)
      plans[id] = plan
    }
    lastType = id
    lastPlan = plan.hot
    return plan.hot
  }

  /// The bytes of a record, valid until the next call.
  func encode<R: Encodable>(_ value: R) throws -> UnsafeRawBufferPointer {
    if isEncoding {
      let inner = innerCoder ?? RecordCoder(shapes: shapes, writesMaps: writesMaps)
      innerCoder = inner
      inner.userInfo = userInfo
      return try inner.encode(value)
    }
    isExact = false
    guard !writesMaps, let codec = memberwise.codec(for: R.self) else {
      return try encodeThroughCodable(value)
    }
    if let record = encodeMemberwise(value, codec) {
      isExact = codec._withUnsafeGuaranteedRef { $0.isExact }
      return record
    }
    return learnWriting(value, try encodeThroughCodable(value), codec)
  }

  /// The same with the type's own `encode(to:)`, even if it is `MemberwiseCoded`.
  func encodeThroughCodable<R: Encodable>(_ value: R) throws -> UnsafeRawBufferPointer {
    if generation != shapes.generation {
      for plan in plans.values { plan.forgetShapes() }
      generation = shapes.generation
    }
    isEncoding = true
    defer { isEncoding = false }
    let root = state.pointee.frames - 1
    state.pointee.current = root
    state.pointee.end = 0
    state.pointee.treeLevels = 0
    do {
      try root.write(value, plan: plan(for: R.self), slot: EncodeFrame.detachedSlot)
    } catch {
      treePlaces = []
      throw Self.encodingError(error)
    }
    if root.pointee.elementKind != FieldKind.record.rawValue {
      state.pointee.wrapTagged(root.pointee.elementKind)
    }
    guard state.pointee.end <= RecordFormat.lengthLimit else {
      throw LarchError(.recordTooLarge, "The record is longer than 2 GiB; split it.")
    }
    return UnsafeRawBufferPointer(start: state.pointee.base, count: state.pointee.end)
  }

  // MARK: Decoding

  /// A value from the bytes of a record.
  func decode<R: Decodable>(_ type: R.Type, from bytes: UnsafeRawBufferPointer) throws -> R {
    guard !writesMaps, let codec = memberwise.codec(for: type) else {
      return try decodeThroughCodable(type, from: bytes)
    }
    return try decodeMemberwise(type, from: bytes, codec)
  }

  /// The same with the type's own `init(from:)`, even if it is `MemberwiseCoded`.
  func decodeThroughCodable<R: Decodable>(
    _ type: R.Type, from bytes: UnsafeRawBufferPointer
  ) throws -> R {
    if isDecoding { return try innerDecoder().decodeThroughCodable(type, from: bytes) }
    return try decodeThroughCodable(type) { () throws in try RecordFormat.value(of: bytes) }
  }

  /// The value of one field, in the slot form of its kind.
  func decodeField<T: Decodable>(
    _ type: T.Type, _ kind: FieldKind, _ bytes: UnsafeRawBufferPointer
  ) throws -> T {
    if isDecoding { return try innerDecoder().decodeField(type, kind, bytes) }
    return try decodeThroughCodable(type) { () throws in
      if kind == .tagged { return try DecodeFramePointer.untag(bytes) }
      return FoundValue(state: .value, kind: kind, bytes: bytes)
    }
  }

  /// For code of the program that decodes a record while another one is being decoded.
  private func innerDecoder() -> RecordCoder {
    let inner = innerCoder ?? RecordCoder(shapes: shapes, writesMaps: writesMaps)
    innerCoder = inner
    inner.userInfo = userInfo
    inner.defaults = defaults
    inner.aliases = aliases
    return inner
  }

  @inline(__always)
  private func decodeThroughCodable<R: Decodable>(
    _ type: R.Type, _ find: () throws -> FoundValue
  ) throws -> R {
    if decodeGeneration != shapes.generation {
      forgetDecodePlans()
      decodeGeneration = shapes.generation
    }
    isDecoding = true
    let root = decodeState.pointee.frames - 1
    decodeState.pointee.current = root
    defer { isDecoding = false }
    do {
      let found = try find()
      let cache = cache(for: type)
      guard cache.pointee.strategy == .direct else {
        return try root.value(type, found: found, nil)
      }
      return try root.descend(type, found, cache: cache)
    } catch {
      throw Self.decodingError(error)
    }
  }

  /// Sets values for fields that stored records of `type` may not have, by coding key. They are
  /// encoded here and decoded for each record that needs them.
  func setDefaults<R>(for type: R.Type, _ values: [String: any Encodable]) throws {
    var encoded: [String: [UInt8]] = [:]
    for (name, value) in values {
      // Without shapes, since reading must never create one.
      let coder = RecordCoder(shapes: ShapeTable(), writesMaps: true)
      encoded[name] = try Array(coder.encode(value).dropFirst(2))
    }
    defaults[ObjectIdentifier(type)] = FieldDefaults(encoded)
    memberwise.declaresMissingFields()
    forgetDecodePlans()
  }

  /// Sets older names of fields of `type`, by coding key; they are used if the stored shape does
  /// not have the key.
  func setAliases<R>(for type: R.Type, _ names: [String: [String]]) {
    aliases[ObjectIdentifier(type)] = names
    memberwise.declaresMissingFields()
    forgetDecodePlans()
  }

  /// The same for all types that have older names.
  func setAliases(_ all: FieldAliases) {
    guard !all.isEmpty else { return }
    for (owner, names) in all.byOwner { aliases[owner] = names }
    memberwise.declaresMissingFields()
    forgetDecodePlans()
  }

  /// The older names of a field of a type.
  func olderNames(of name: String, in owner: ObjectIdentifier) -> [String] {
    aliases.isEmpty ? [] : aliases[owner]?[name] ?? []
  }

  /// The tagged value for a missing field.
  func defaultValue(of name: String, in owner: ObjectIdentifier) -> UnsafeRawBufferPointer? {
    defaults.isEmpty ? nil : defaults[owner]?.values[name]
  }

  /// The kind of that value.
  func defaultKind(of name: String, in owner: ObjectIdentifier) -> FieldKind? {
    defaultValue(of: name, in: owner)?.first.flatMap { FieldKind(rawValue: $0) }
  }

  private func forgetDecodePlans() {
    for cache in decodeCaches.values { cache.pointee.plan = nil }
    decodePlans = [:]
  }

  func decodePlan(_ identity: DecodePlan.Identity) throws -> UnsafeMutablePointer<DecodePlan.Hot> {
    if let plan = decodePlans[identity] { return plan.hot }
    guard identity.header & RecordFormat.reservedBit == 0 else {
      throw LarchError(.newerFormat, "The record was written by a newer format; update Larch.")
    }
    let shape = try shapes.shape(identity.header & RecordFormat.shapeMask)
    let plan = DecodePlan(
      identity, shape: shape, aliases: aliases[identity.owner] ?? [:],
      defaults: defaults[identity.owner])
    decodePlans[identity] = plan
    return plan.hot
  }

  /// The cache for values of a type outside fields: elements, and whole records.
  func cache(for type: any Any.Type) -> UnsafeMutablePointer<DecodeCache> {
    let id = ObjectIdentifier(type)
    if lastDecodedType == id { return lastDecodeCache }
    let cache: UnsafeMutablePointer<DecodeCache>
    if let known = decodeCaches[id] {
      cache = known
    } else {
      cache = .allocate(capacity: 1)
      cache.initialize(to: DecodeCache(type))
      decodeCaches[id] = cache
    }
    lastDecodedType = id
    lastDecodeCache = cache
    return cache
  }

  func extraFrame(depth: Int, path: [any CodingKey]) -> DecodeFramePointer {
    let index = decodeState.pointee.extraCount
    if index == extraFrames.count {
      extraFrames.append(FramePool.extraFrame(decodeState))
      extraPaths.append([])
    }
    decodeState.pointee.extraCount += 1
    extraPaths[index] = path
    let frame = extraFrames[index]
    frame.pointee.extraIndex = index
    frame.pointee.depth = depth
    return frame
  }

  func closeExtraFrames(after count: Int) {
    for index in count..<decodeState.pointee.extraCount { extraFrames[index].close() }
    decodeState.pointee.extraCount = count
  }

  private static func decodingError(_ error: any Error) -> any Error {
    if error is LarchError { return error }
    let context: DecodingError.Context
    let message: StaticString
    switch error as? DecodingError {
    case .valueNotFound(_, let known), .keyNotFound(_, let known):
      context = known
      message =
        "A stored record does not fit its type; make the field optional or declare a default."
    // Neither helps where the field has a value.
    case .typeMismatch(_, let known), .dataCorrupted(let known):
      context = known
      message =
        "A type refuses a stored value; accept the value again, or rewrite it in a migration."
    default:
      return LarchError(
        .decodingFailed, "The record's own init(from:) threw an error.", underlying: error)
    }
    return LarchError(.decodingFailed, message, underlying: error) {
      $0.field = PathKey.text(context.codingPath)
      $0.detail = context.debugDescription
    }
  }

  // MARK: Errors

  private static func encodingError(_ error: any Error) -> any Error {
    if error is LarchError { return error }
    guard case .invalidValue(_, let context)? = error as? EncodingError else {
      return LarchError(
        .encodingFailed, "The record's own encode(to:) threw an error.", underlying: error)
    }
    return LarchError(
      .encodingFailed, "The record holds a value that cannot be stored.",
      underlying: error
    ) {
      $0.field = PathKey.text(context.codingPath)
      $0.detail = context.debugDescription
    }
  }
}

extension EncodeState {
  /// Turns the written slot form into a record of shape 0.
  fileprivate mutating func wrapTagged(_ raw: UInt8) {
    if let kind = FieldKind(rawValue: raw) { output.insertLength(kind, at: 0) }
    output.insertRoom(3, at: 0)
    output.base.storeBytes(of: 0, as: UInt16.self)
    output.base.storeBytes(of: raw, toByteOffset: 2, as: UInt8.self)
  }

  /// The keys from the record to the innermost value.
  var codingPath: [any CodingKey] {
    guard let coder else { return [] }
    var path: [any CodingKey] = []
    var places = coder.treePlaces[...]
    var frame = frames
    while frame < current {
      if let place = places.first, place.depth == frame.pointee.depth {
        places.removeFirst()
        path = place.path
        if let key = place.key { path.append(key) }
      } else {
        switch frame.pointee.mode {
        case .record:
          if let shape = frame.pointee.version?.pointee.shape.takeUnretainedValue(),
            shape.fields.indices.contains(frame.pointee.slot)
          {
            path.append(PathKey(stringValue: shape.fields[frame.pointee.slot].name))
          }
        case .list: path.append(PathKey(intValue: frame.pointee.count))
        case .map:
          let key = UnsafeRawBufferPointer(
            start: base + frame.pointee.keyOffset, count: frame.pointee.keyCount)
          path.append(PathKey(stringValue: String(decoding: key, as: UTF8.self)))
        default: break
        }
      }
      frame += 1
    }
    return path
  }
}
