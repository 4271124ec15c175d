/// The first sixteen bytes of a key as two numbers, filled up with zeros. If it is less for one of two
/// keys, that one comes first; if it is the same, the keys themselves tell.
struct ByteHead: Equatable {
  let first: UInt64
  let second: UInt64

  /// Of no key at all: none has a greater one.
  static let greatest = ByteHead(first: .max, second: .max)

  private init(first: UInt64, second: UInt64) { (self.first, self.second) = (first, second) }

  init(_ key: UnsafeRawBufferPointer) {
    first = Self.word(key, from: 0)
    second = key.count > 8 ? Self.word(key, from: 8) : 0
  }

  init(_ key: [UInt8]) { self = key.withUnsafeBytes { ByteHead($0) } }

  /// The first eight bytes alone.
  static func first(of key: UnsafeRawBufferPointer) -> UInt64 { word(key, from: 0) }

  @inline(__always)
  private static func word(_ key: UnsafeRawBufferPointer, from start: Int) -> UInt64 {
    if key.count - start >= 8 {
      return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
    var word: UInt64 = 0
    for place in start..<key.count { word = word << 8 | UInt64(key[place]) }
    // Eight zeros are not a shift.
    return key.count == start ? 0 : word << UInt64(8 * (8 - (key.count - start)))
  }

  @inline(__always)
  static func < (a: ByteHead, b: ByteHead) -> Bool {
    a.first != b.first ? a.first < b.first : a.second < b.second
  }
}
