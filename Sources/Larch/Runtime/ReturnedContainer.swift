internal import CLarch

/// Returns an existing keyed container again, without naming its type.
///
/// A `KeyedDecodingContainer<Key>` is a reference to a box of the standard library. To copy one,
/// generic code first looks up its metadata in the runtime and then counts the reference, which
/// costs more than reading a few fields. Here the boxes are immortal, and a C function returns the
/// bare reference. Swift promises none of this, so it is tested once per process; if the test
/// fails, every value gets a new container.
///
/// The gain, by `make bench-instructions`: a record is decoded in 3,682 instructions in place of
/// 5,259, found in 5,233 in place of 6,804, and saved with many others in 26,589 in place of
/// 28,149. Boxes kept by Swift itself were between: 4,192, 5,737 and 27,070.
enum ReturnedContainer {
  /// Whether containers have the form that the C functions expect. Found out once.
  static let isTrusted = RuntimeFeature.returnedContainer.passes(selfTest)

  private static func selfTest() -> Bool {
    let word = MemoryLayout<UnsafeRawPointer>.size
    guard MemoryLayout<KeyedDecodingContainer<ProbeKey>>.size == word,
      MemoryLayout<KeyedEncodingContainer<ProbeKey>>.size == word, makesImmortal()
    else { return false }
    return returnsDecoding(ProbeKey.self) && returnsEncoding(ProbeKey.self)
  }

  private static func makesImmortal() -> Bool {
    final class Watched {
      let ended: UnsafeMutablePointer<Bool>
      init(_ ended: UnsafeMutablePointer<Bool>) { self.ended = ended }
      deinit { ended.pointee = true }
    }
    // It lives as long as the object may.
    let ended = UnsafeMutablePointer<Bool>.allocate(capacity: 1)
    ended.initialize(to: false)
    let object = Unmanaged.passRetained(Watched(ended))
    guard larch_make_immortal(object.toOpaque()) != 0 else { return false }
    // The only reference.
    object.release()
    return !ended.pointee
  }

  // Generic and never specialised, like the callers.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  private static func returnsDecoding<Key: CodingKey>(_ type: Key.Type) -> Bool {
    let box = immortal(KeyedDecodingContainer(DecodingProbe<Key>()))
    for _ in 0..<3 {
      let copy: KeyedDecodingContainer<Key> = larchReturnDecodingContainer(box)
      // Of one word: this runs only if the size was checked.
      guard unsafeBitCast(copy, to: UnsafeRawPointer.self) == box, copy.allKeys.isEmpty
      else { return false }
    }
    return true
  }

  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  private static func returnsEncoding<Key: CodingKey>(_ type: Key.Type) -> Bool {
    let box = immortal(KeyedEncodingContainer(RefusingEncoder<Key>()))
    for _ in 0..<3 {
      let copy: KeyedEncodingContainer<Key> = larchReturnEncodingContainer(box)
      // Of one word: this runs only if the size was checked.
      guard unsafeBitCast(copy, to: UnsafeRawPointer.self) == box, copy.codingPath.isEmpty
      else { return false }
    }
    return true
  }

  fileprivate static func immortal<Container>(_ container: Container) -> UnsafeRawPointer {
    // A container is one reference; `isTrusted` checks its size before.
    let box = unsafeBitCast(container, to: UnsafeMutableRawPointer.self)
    _ = Unmanaged<AnyObject>.fromOpaque(box).retain()
    _ = larch_make_immortal(box)
    return UnsafeRawPointer(box)
  }
}

/// The immortal containers of a coder's frames. Like the frames, they are never freed but reused by
/// later coders, so their number is limited by the number of simultaneous coders, depths and key
/// types.
final class ImmortalContainers {
  private struct Place: Hashable {
    let keyType: ObjectIdentifier
    let depth: Int
  }

  private var references: [Place: UnsafeRawPointer] = [:]

  /// The container for these keys at this depth, created at its first use; nil if containers cannot
  /// be returned in this way.
  func reference<Container>(
    _ keyType: any Any.Type, depth: Int, _ make: () -> Container
  ) -> UnsafeRawPointer? {
    guard ReturnedContainer.isTrusted else { return nil }
    let place = Place(keyType: ObjectIdentifier(keyType), depth: depth)
    if let known = references[place] { return known }
    let made = ReturnedContainer.immortal(make())
    references[place] = made
    return made
  }
}

/// The container of an immortal reference.
@_silgen_name("larch_return_decoding_container")
func larchReturnDecodingContainer<Key: CodingKey>(
  _ reference: UnsafeRawPointer
) -> KeyedDecodingContainer<Key>

/// The container of an immortal reference.
@_silgen_name("larch_return_encoding_container")
func larchReturnEncodingContainer<Key: CodingKey>(
  _ reference: UnsafeRawPointer
) -> KeyedEncodingContainer<Key>

// MARK: - For the test

private enum ProbeKey: String, CodingKey { case one, two }

private struct NoStoredValue: Error {}

private struct DecodingProbe<Key: CodingKey>: KeyedDecodingContainerProtocol {
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }
  func contains(_ key: Key) -> Bool { false }
  func decodeNil(forKey key: Key) throws -> Bool { throw NoStoredValue() }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { throw NoStoredValue() }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw NoStoredValue() }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw NoStoredValue()
  }
  func superDecoder() throws -> any Decoder { throw NoStoredValue() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw NoStoredValue() }
}
