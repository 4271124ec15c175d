/// A hash of records, by which observers find out whether rows are the same as before.
///
/// Two records that differ have equal hashes with a chance of 1 in 2^64, since the key is a secret of
/// the process. A hash of the standard library takes five times as long for a record of 60 bytes, which
/// would be a fifth of the time to decode it.
enum RecordHash {
  private static let (first, second) = (
    UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)
  )

  static func of(_ id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) -> Int {
    // The lengths keep neighbours apart.
    let lengths =
      UInt64(truncatingIfNeeded: id.count) << 48 ^ UInt64(truncatingIfNeeded: record.count)
    return Int(truncatingIfNeeded: add(record, to: add(id, to: mix(first ^ lengths, second))))
  }

  /// The hash of a hash and what follows it.
  static func of(_ hash: Int, _ next: Int) -> Int {
    let (hash, next) = (UInt64(bitPattern: Int64(hash)), UInt64(bitPattern: Int64(next)))
    return Int(truncatingIfNeeded: mix(mix(hash ^ first, second) ^ next, first))
  }

  private static func add(_ bytes: UnsafeRawBufferPointer, to hash: UInt64) -> UInt64 {
    var (hash, place) = (hash, 0)
    let (count, key) = (bytes.count, second)
    func word(_ place: Int) -> UInt64 {
      bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
    }
    while count - place > 16 {
      hash = mix(word(place) ^ key, word(place + 8) ^ hash)
      place += 16
    }
    // The last words overlap those before.
    if count - place >= 8 { return mix(word(place) ^ key, word(count - 8) ^ hash) }
    var rest: UInt64 = 0
    while place < count {
      rest = rest << 8 | UInt64(bytes[place])
      place += 1
    }
    return mix(rest ^ key, hash)
  }

  private static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}
