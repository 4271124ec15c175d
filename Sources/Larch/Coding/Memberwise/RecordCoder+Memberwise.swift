/// The memberwise codecs of one coder, by type.
final class MemberwiseCodecs {
  private let shapes: ShapeTable
  /// Called with the name of a type whose proof a record has refuted; nil if types must opt in.
  private var onRefutation: ((String) -> Void)?
  private var terms = MemberwiseProgram.Terms()
  @exclusivity(unchecked) private var byType: [ObjectIdentifier: MemberwiseCodec?] = [:]
  @exclusivity(unchecked) private var lastType: ObjectIdentifier?
  /// Not counted; `byType` owns it.
  @exclusivity(unchecked) private var lastCodec: Unmanaged<MemberwiseCodec>?

  /// Writes bytes that can be compared independently of the store's shapes.
  private(set) lazy var comparingCoder = RecordCoder(shapes: ShapeTable(), writesMaps: true)

  init(shapes: ShapeTable) { self.shapes = shapes }

  /// Sets the coder that owns this.
  func belong(to coder: RecordCoder) { terms.coder = coder }

  /// Nil for a type that did not opt in, or cannot be coded memberwise.
  @inline(__always)
  func codec(for type: Any.Type) -> Unmanaged<MemberwiseCodec>? {
    if lastType == ObjectIdentifier(type) { return lastCodec }
    return otherCodec(for: type)
  }

  @inline(never)
  private func otherCodec(for type: Any.Type) -> Unmanaged<MemberwiseCodec>? {
    let id = ObjectIdentifier(type)
    let codec: MemberwiseCodec?
    if let known = byType[id] {
      codec = known
    } else {
      codec = MemberwiseCodec(
        type, shapes: shapes, terms: terms, proving: onRefutation != nil)
      byType[id] = .some(codec)
    }
    lastType = id
    lastCodec = codec.map(Unmanaged.passUnretained)
    return lastCodec
  }

  /// Also codes types memberwise that did not opt in and pass a proof.
  func provesTypes(onRefutation: @escaping (String) -> Void) {
    self.onRefutation = onRefutation
    forget()
  }

  /// A record of the type was coded differently by its own Codable.
  func refute(_ codec: MemberwiseCodec) {
    codec.plan.refute()
    onRefutation?(codec.plan.typeName)
  }

  /// Called when fields may have defaults or older names, which Codable handles.
  func declaresMissingFields() {
    terms.readsMissingAsNil = false
    forget()
  }

  private func forget() {
    byType = [:]
    lastType = nil
    lastCodec = nil
  }
}

extension RecordCoder: MemberwiseReference {
  /// The record of a value whose type opted in, or nil if Codable must write it.
  @inline(__always)
  func encodeMemberwise<R: Encodable>(
    _ value: R, _ codec: Unmanaged<MemberwiseCodec>
  ) -> UnsafeRawBufferPointer? {
    let isDue = codec._withUnsafeGuaranteedRef { $0.isSampled && $0.isDue() }
    if isDue { return encodeSampled(value, codec.takeUnretainedValue()) }
    // A copy, so that it is not read from memory for each field.
    var output = state.pointee.output
    output.count = 0
    let isWritten = withUnsafePointer(to: value) { value in
      codec._withUnsafeGuaranteedRef { $0.encode(UnsafeRawPointer(value), to: &output) }
    }
    state.pointee.output = output
    guard isWritten else { return nil }
    #if DEBUG
      if codec._withUnsafeGuaranteedRef({ $0.isSampled }) { return output.bytes }
      // Codable decides; the caller uses it, and notices if this result was different.
      let ours = [UInt8](output.bytes)
      guard let theirs = try? codableBytes(of: value), ours == theirs else { return nil }
      return UnsafeRawBufferPointer(start: state.pointee.base, count: state.pointee.end)
    #else
      return output.bytes
    #endif
  }

  /// Shows Codable's record to the codec, and returns the record: the comparison uses the buffer.
  @inline(never)
  func learnWriting<R: Encodable>(
    _ value: R, _ record: UnsafeRawBufferPointer,
    _ codec: Unmanaged<MemberwiseCodec>
  ) -> UnsafeRawBufferPointer {
    let codec = codec.takeUnretainedValue()
    guard codec.wantsWritingLessons else { return record }
    let bytes = [UInt8](record)
    bytes.withUnsafeBytes { bytes in
      withUnsafePointer(to: value) { codec.learnWriting(UnsafeRawPointer($0), bytes, self) }
      state.pointee.end = 0
      state.pointee.output.append(bytes)
    }
    return UnsafeRawBufferPointer(start: state.pointee.base, count: bytes.count)
  }

  /// A value of a type that opted in, through Codable if necessary.
  @inline(__always)
  func decodeMemberwise<R: Decodable>(
    _ type: R.Type, from record: UnsafeRawBufferPointer, _ codec: Unmanaged<MemberwiseCodec>
  ) throws -> R {
    let isDue = codec._withUnsafeGuaranteedRef { $0.isSampled && $0.isDue() }
    if isDue { return try decodeSampled(type, from: record, codec.takeUnretainedValue()) }
    if codec._withUnsafeGuaranteedRef({ $0.runsCode }) {
      return try decodeRunningCode(type, from: record, codec.takeUnretainedValue())
    }
    // No code of the program runs between the two, so one buffer is enough.
    let target = codec._withUnsafeGuaranteedRef { codec in
      codec.decode(record, into: codec.scratch) ? codec.scratch : nil
    }
    guard let target else {
      return try decodeLearning(type, from: record, codec.takeUnretainedValue())
    }
    #if DEBUG
      let value = target.assumingMemoryBound(to: type).move()
      let isChecked = codec._withUnsafeGuaranteedRef { !$0.isSampled && $0.sample.isDue() }
      if !isChecked { return value }
      return try codec.takeUnretainedValue().checkReading(value, record, self)
    #else
      return target.assumingMemoryBound(to: type).move()
    #endif
  }

  /// The same for a type in which other types are read through Codable: they may read further records.
  @inline(never)
  private func decodeRunningCode<R: Decodable>(
    _ type: R.Type, from record: UnsafeRawBufferPointer, _ codec: MemberwiseCodec
  ) throws -> R {
    try withUnsafeTemporaryAllocation(of: type, capacity: 1) { room throws in
      // There is always room for one.
      let target = room.baseAddress!
      guard codec.decode(record, into: target) else {
        return try decodeLearning(type, from: record, codec)
      }
      #if DEBUG
        if !codec.isSampled, codec.sample.isDue() {
          return try codec.checkReading(target.move(), record, self)
        }
      #endif
      return target.move()
    }
  }

  /// Initializes the memory at `target` from a record, as `decode` does. A value that is returned is copied by
  /// each caller, through the functions of its type.
  @inline(__always)
  func decode<R: Decodable>(
    _ record: UnsafeRawBufferPointer, into target: UnsafeMutablePointer<R>
  ) throws {
    guard !writesMaps, let codec = memberwise.codec(for: R.self) else {
      return target.initialize(to: try decodeThroughCodable(R.self, from: record))
    }
    let isRead = codec._withUnsafeGuaranteedRef {
      !$0.isSampled && $0.decode(record, into: UnsafeMutableRawPointer(target))
    }
    guard isRead else {
      return target.initialize(to: try decodeMemberwise(R.self, from: record, codec))
    }
    #if DEBUG
      guard codec._withUnsafeGuaranteedRef({ $0.sample.isDue() }) else { return }
      let checked = try codec.takeUnretainedValue().checkReading(target.move(), record, self)
      target.initialize(to: checked)
    #endif
  }

  @inline(never)
  func decodeLearning<R: Decodable>(
    _ type: R.Type, from record: UnsafeRawBufferPointer, _ codec: MemberwiseCodec
  ) throws -> R {
    let value = try decodeThroughCodable(type, from: record)
    if codec.wantsLessons {
      withUnsafePointer(to: value) { codec.learnReading(UnsafeRawPointer($0), record, self) }
    }
    return value
  }

  func codableBytes<Value: Encodable>(of value: Value) throws -> [UInt8] {
    [UInt8](try encodeThroughCodable(value))
  }

  func comparableBytes<Value: Encodable>(of value: Value) throws -> [UInt8] {
    // The bytes are in the coder's buffer, which another coder reuses after its end.
    let coder = memberwise.comparingCoder
    return try withExtendedLifetime(coder) { [UInt8](try coder.encode(value)) }
  }

  func codableValue<Value: Decodable>(
    _ type: Value.Type, from record: UnsafeRawBufferPointer
  ) throws -> Value {
    try decodeThroughCodable(type, from: record)
  }
}
