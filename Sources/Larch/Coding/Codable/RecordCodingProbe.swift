/// Coding alone, without a store: for the benchmark that compares it with hand-written code.
@_spi(Benchmark)
@_documentation(visibility: private)
public final class RecordCodingProbe {
  private let coder = RecordCoder(shapes: ShapeTable())

  /// A coder that has learned nothing yet.
  public init() {}

  /// The bytes of a record, valid until the next call.
  ///
  /// - Throws: `.encodingFailed` for a value that cannot be stored.
  public func encode<R: Codable>(_ value: borrowing R) throws -> UnsafeRawBufferPointer {
    try coder.encode(value)
  }

  /// The value of a record's bytes, which the same probe wrote.
  ///
  /// - Throws: `.decodingFailed` or `.corrupted` for bytes that are not a record of the type.
  public func decode<R: Codable>(_ type: R.Type, from bytes: UnsafeRawBufferPointer) throws -> R {
    try coder.decode(type, from: bytes)
  }
}

@available(*, unavailable)
extension RecordCodingProbe: Sendable {}
