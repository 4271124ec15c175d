/// The memberwise codecs of one coder, by type.
final class MemberwiseCodecs {
  private let shapes: ShapeTable
  /// False once defaults or older names of fields were declared to the coder.
  private var readsMissingAsNil = true
  @exclusivity(unchecked) private var byType: [ObjectIdentifier: MemberwiseCodec?] = [:]
  @exclusivity(unchecked) private var lastType: ObjectIdentifier?
  @exclusivity(unchecked) private var lastCodec: MemberwiseCodec?

  /// Writes bytes that can be compared whatever the shapes of the store are.
  private(set) lazy var comparingCoder = RecordCoder(shapes: ShapeTable(), writesMaps: true)

  init(shapes: ShapeTable) { self.shapes = shapes }

  /// Nil for a type that did not opt in, or cannot be coded so.
  @inline(__always)
  func codec(for type: Any.Type) -> MemberwiseCodec? {
    if lastType == ObjectIdentifier(type) { return lastCodec }
    return otherCodec(for: type)
  }

  @inline(never)
  private func otherCodec(for type: Any.Type) -> MemberwiseCodec? {
    let id = ObjectIdentifier(type)
    let codec: MemberwiseCodec?
    if let known = byType[id] {
      codec = known
    } else {
      codec = MemberwiseCodec(type, shapes: shapes, readsMissingAsNil: readsMissingAsNil)
      byType[id] = .some(codec)
    }
    lastType = id
    lastCodec = codec
    return codec
  }

  /// Fields may now have defaults or older names, which are Codable's to find.
  func declaresMissingFields() {
    readsMissingAsNil = false
    byType = [:]
    lastType = nil
    lastCodec = nil
  }
}

extension RecordCoder: MemberwiseReference {
  /// The record of a value whose type opted in, or nil when Codable has to write it.
  @inline(__always)
  func encodeMemberwise<R: Encodable>(
    _ value: R, _ codec: MemberwiseCodec
  ) -> UnsafeRawBufferPointer? {
    var output = MemberwiseOutput(
      base: state.pointee.base, capacity: state.pointee.capacity, count: 0)
    let isWritten = withUnsafePointer(to: value) {
      codec.encode(UnsafeRawPointer($0), to: &output)
    }
    state.pointee.base = output.base
    state.pointee.capacity = output.capacity
    guard isWritten else { return nil }
    #if DEBUG
      // Codable decides; the caller goes on through it, and learns when this was different.
      let ours = [UInt8](output.bytes)
      guard let theirs = try? codableBytes(of: value), ours == theirs else { return nil }
      return UnsafeRawBufferPointer(start: state.pointee.base, count: state.pointee.end)
    #else
      return output.bytes
    #endif
  }

  /// Shows the codec what Codable wrote, and gives the record back: proving uses the buffer.
  @inline(never)
  func learnWriting<R: Encodable>(
    _ value: R, _ record: UnsafeRawBufferPointer, _ codec: MemberwiseCodec
  ) -> UnsafeRawBufferPointer {
    guard codec.wantsLessons else { return record }
    let bytes = [UInt8](record)
    bytes.withUnsafeBytes { bytes in
      withUnsafePointer(to: value) { codec.learnWriting(UnsafeRawPointer($0), bytes, self) }
      state.pointee.end = 0
      state.pointee.reserve(bytes.count)
      UnsafeMutableRawBufferPointer(start: state.pointee.base, count: bytes.count)
        .copyMemory(from: bytes)
      state.pointee.end = bytes.count
    }
    return UnsafeRawBufferPointer(start: state.pointee.base, count: bytes.count)
  }

  /// A value of a type that opted in, through Codable where it has to be.
  @inline(__always)
  func decodeMemberwise<R: Decodable>(
    _ type: R.Type, from record: UnsafeRawBufferPointer, _ codec: MemberwiseCodec
  ) throws -> R {
    try withUnsafeTemporaryAllocation(of: type, capacity: 1) { memory in
      guard let target = memory.baseAddress else {
        return try decodeThroughCodable(type, from: record)
      }
      if codec.decode(record, into: UnsafeMutableRawPointer(target)) {
        #if DEBUG
          defer { target.deinitialize(count: 1) }
          return try codec.checkReading(target, record, self)
        #else
          return target.move()
        #endif
      }
      target.initialize(to: try decodeThroughCodable(type, from: record))
      if codec.wantsLessons { codec.learnReading(UnsafeRawPointer(target), record, self) }
      return target.move()
    }
  }

  func codableBytes<Value: Encodable>(of value: Value) throws -> [UInt8] {
    [UInt8](try encodeThroughCodable(value))
  }

  func comparableBytes<Value: Encodable>(of value: Value) throws -> [UInt8] {
    // The bytes live in the coder's buffer, which another coder takes over when it is gone.
    let coder = memberwise.comparingCoder
    return try withExtendedLifetime(coder) { [UInt8](try coder.encode(value)) }
  }

  func codableValue<Value: Decodable>(
    _ type: Value.Type, from record: UnsafeRawBufferPointer
  ) throws -> Value {
    try decodeThroughCodable(type, from: record)
  }
}
