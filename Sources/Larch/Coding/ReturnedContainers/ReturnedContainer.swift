/// Gives a keyed container that was made before once more, without naming its type.
///
/// A `KeyedDecodingContainer<Key>` is a reference to a box of the standard library. To copy one,
/// generic code first asks the runtime for its metadata, which costs more than reading a few fields.
/// The two C functions behind this copy the reference and nothing else. That a container is one
/// reference which is returned in memory is true of every stable Swift but promised by none, so it
/// is tested once in a process, and where it does not hold the containers are copied by Swift.
enum ReturnedContainer {
  /// Whether a container is what the C functions take it for. Found out once.
  static let isTrusted: Bool = selfTest()

  /// The reference that a container is, not counted; nil where that is not known.
  static func reference<Key>(of container: KeyedDecodingContainer<Key>) -> UnsafeRawPointer? {
    isTrusted ? unsafeBitCast(container, to: UnsafeRawPointer.self) : nil
  }

  /// The reference that a container is, not counted; nil where that is not known.
  static func reference<Key>(of container: KeyedEncodingContainer<Key>) -> UnsafeRawPointer? {
    isTrusted ? unsafeBitCast(container, to: UnsafeRawPointer.self) : nil
  }

  private static func selfTest() -> Bool {
    let word = MemoryLayout<UnsafeRawPointer>.size
    guard MemoryLayout<KeyedDecodingContainer<ProbeKey>>.size == word,
      MemoryLayout<KeyedEncodingContainer<ProbeKey>>.size == word
    else { return false }
    return returnsDecoding(ProbeKey.self) && returnsEncoding(ProbeKey.self)
  }

  // Generic and never specialised, as the callers are.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  private static func returnsDecoding<Key: CodingKey>(_ type: Key.Type) -> Bool {
    weak var box: AnyObject?
    func test() -> Bool {
      let made = KeyedDecodingContainer(DecodingProbe<Key>())
      let reference = unsafeBitCast(made, to: UnsafeRawPointer.self)
      box = Unmanaged<AnyObject>.fromOpaque(reference).takeUnretainedValue()
      for _ in 0..<3 {
        let copy: KeyedDecodingContainer<Key> = larchReturnDecodingContainer(reference)
        guard unsafeBitCast(copy, to: UnsafeRawPointer.self) == reference, copy.allKeys.isEmpty
        else { return false }
      }
      return withExtendedLifetime(made) { box != nil }
    }
    // Counted right, the box is gone now and not before.
    return test() && box == nil
  }

  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  private static func returnsEncoding<Key: CodingKey>(_ type: Key.Type) -> Bool {
    weak var box: AnyObject?
    func test() -> Bool {
      let made = KeyedEncodingContainer(RefusingContainer<Key>())
      let reference = unsafeBitCast(made, to: UnsafeRawPointer.self)
      box = Unmanaged<AnyObject>.fromOpaque(reference).takeUnretainedValue()
      for _ in 0..<3 {
        let copy: KeyedEncodingContainer<Key> = larchReturnEncodingContainer(reference)
        guard unsafeBitCast(copy, to: UnsafeRawPointer.self) == reference, copy.codingPath.isEmpty
        else { return false }
      }
      return withExtendedLifetime(made) { box != nil }
    }
    return test() && box == nil
  }
}

/// The container that the reference is, counted once more. The caller keeps the container itself.
@_silgen_name("larch_return_decoding_container")
func larchReturnDecodingContainer<Key: CodingKey>(
  _ reference: UnsafeRawPointer
) -> KeyedDecodingContainer<Key>

/// The container that the reference is, counted once more. The caller keeps the container itself.
@_silgen_name("larch_return_encoding_container")
func larchReturnEncodingContainer<Key: CodingKey>(
  _ reference: UnsafeRawPointer
) -> KeyedEncodingContainer<Key>

// MARK: - For the test

private enum ProbeKey: String, CodingKey { case one, two }

private struct NothingThere: Error {}

private struct DecodingProbe<Key: CodingKey>: KeyedDecodingContainerProtocol {
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }
  func contains(_ key: Key) -> Bool { false }
  func decodeNil(forKey key: Key) throws -> Bool { throw NothingThere() }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { throw NothingThere() }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw NothingThere() }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw NothingThere()
  }
  func superDecoder() throws -> any Decoder { throw NothingThere() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw NothingThere() }
}
