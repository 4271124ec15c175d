/// Chooses the records of a proved type that are coded both ways: the first 64, then one in eight on
/// average up to 1,024, then one in 64, at random distances, so that no rhythm of the data escapes.
///
/// Coding both ways costs about ten times as much as memberwise coding alone, so one in 64 costs a
/// sixth of it.
struct CodingSample {
  private var seen = 0
  private var distance = 1
  private var state: UInt64

  init(seed: UInt64 = .random(in: 1 ... .max)) { state = seed | 1 }

  /// Whether the next record is one of them.
  mutating func isDue() -> Bool {
    seen &+= 1
    distance &-= 1
    guard distance == 0 else { return false }
    state ^= state &<< 13
    state ^= state &>> 7
    state ^= state &<< 17
    // Uniform from 1, with the wanted mean.
    distance =
      seen < 64 ? 1 : 1 &+ Int(truncatingIfNeeded: state &>> 33) % (seen < 1024 ? 15 : 127)
    return true
  }
}

extension MemberwiseCodec {
  /// Whether two values have the same stored properties, bit by bit; nil if that is not known.
  func isSame<Value>(_ ours: Value, _ theirs: Value) -> Bool? {
    guard let comparer = comparing else { return nil }
    var outputs = (RecordOutput(), RecordOutput())
    defer {
      outputs.0.deallocate()
      outputs.1.deallocate()
    }
    let isWritten = withUnsafePointer(to: ours) {
      comparer.encode(UnsafeRawPointer($0), to: &outputs.0)
    }
    // Too long for this comparison.
    guard isWritten else { return nil }
    return withUnsafePointer(to: theirs) {
      comparer.encode(UnsafeRawPointer($0), to: &outputs.1)
    } && outputs.0.bytes.elementsEqual(outputs.1.bytes)
  }
}

extension RecordCoder {
  /// Encodes both ways. Codable's record is used; nil if one of them cannot write the value.
  @inline(never)
  func encodeSampled<R: Encodable>(_ value: R, _ codec: MemberwiseCodec) -> UnsafeRawBufferPointer?
  {
    var output = RecordOutput()
    defer { output.deallocate() }
    let isWritten = withUnsafePointer(to: value) {
      codec.encode(UnsafeRawPointer($0), to: &output)
    }
    guard isWritten else { return nil }
    guard let theirs = try? encodeThroughCodable(value) else {
      memberwise.refute(codec)
      return nil
    }
    if !output.bytes.elementsEqual(theirs), !hasSameFields(output.bytes, theirs) {
      memberwise.refute(codec)
    }
    return theirs
  }

  /// Whether two records have the same fields, though in different shapes: Codable may use a newer
  /// one for a nested type.
  private func hasSameFields(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    func fields(_ record: UnsafeRawBufferPointer) -> FieldValue? {
      guard record.count >= 2,
        record.loadUnaligned(as: UInt16.self) & RecordFormat.shapeMask != 0
      else { return nil }
      return try? FieldValue(.value(.record, record), shapes: shapes).withoutNulls
    }
    guard let first = fields(a), let second = fields(b) else { return false }
    return first == second
  }

  /// Decodes both ways. Codable's value or error is used.
  @inline(never)
  func decodeSampled<R: Decodable>(
    _ type: R.Type, from record: UnsafeRawBufferPointer, _ codec: MemberwiseCodec
  ) throws -> R {
    guard codec.decode(record, into: codec.scratch) else {
      return try decodeLearning(type, from: record, codec)
    }
    let ours = codec.scratch.assumingMemoryBound(to: type).move()
    let theirs: R
    do {
      theirs = try decodeThroughCodable(type, from: record)
    } catch {
      memberwise.refute(codec)
      throw error
    }
    if codec.isSame(ours, theirs) == false { memberwise.refute(codec) }
    return theirs
  }
}

extension FieldValue {
  /// The same without fields that are nil, which a shape may not have at all.
  fileprivate var withoutNulls: FieldValue {
    switch self {
    case .record(let fields):
      .record(fields.filter { $0.value != .null }.mapValues(\.withoutNulls))
    case .list(let elements): .list(elements.map(\.withoutNulls))
    default: self
    }
  }
}
