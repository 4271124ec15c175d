/// Listeners by single values.
///
/// A bulk write asks for each of its records, and nearly always in vain. So there is a bit for each
/// hash, sixteen times as many as values: a few steps show that nobody waits for a value.
struct PointTable {
  /// By the hash of the value. Two values with one hash wake some listeners in vain, and nobody
  /// keeps or compares their bytes.
  private var listeners: [UInt64: ListenerBag] = [:]
  /// A power of two words. Bits of values that are no longer there stay until the next growth.
  private var bits: [UInt64] = []
  /// The number of values whose bits were set.
  private var marks = 0

  var isEmpty: Bool { listeners.isEmpty }

  mutating func add(_ listener: ChangeListener, _ value: [UInt8]) {
    let hash = Self.hash(value)
    listeners[hash, default: ListenerBag()].add(listener)
    marks += 1
    if marks > 4 * bits.count { return markAll() }
    mark(hash)
  }

  mutating func remove(_ listener: ChangeListener, _ value: [UInt8]) {
    let hash = Self.hash(value)
    listeners[hash]?.remove(listener)
    guard listeners[hash]?.isEmpty == true else { return }
    listeners[hash] = nil
    if listeners.isEmpty { (bits, marks) = ([], 0) }
  }

  private mutating func mark(_ hash: UInt64) {
    let place = Int(truncatingIfNeeded: hash >> 16)
    bits[place & (bits.count - 1)] |= 1 << (hash >> 8 & 63)
  }

  /// Begins with bits for twice as many values as there are.
  private mutating func markAll() {
    marks = listeners.count
    var count = 1
    while 2 * count < marks { count *= 2 }
    bits = [UInt64](repeating: 0, count: count)
    for hash in listeners.keys { mark(hash) }
  }

  // MARK: Searching

  /// Finds the listeners of some values.
  ///
  /// - Parameter values: calls its closure with each value.
  func find(
    _ values: ((UnsafeRawBufferPointer) -> Void) -> Void, into found: inout [ChangeListener]
  ) {
    if isEmpty { return }
    var hashes: [UInt64] = []
    bits.withUnsafeBufferPointer { bits in
      values { value in
        let hash = ByteHash.of(value)
        let word = bits[Int(truncatingIfNeeded: hash >> 16) & (bits.count - 1)]
        if word & 1 << (hash >> 8 & 63) != 0 { hashes.append(hash) }
      }
    }
    for hash in hashes { listeners[hash]?.forEach { found.append($0) } }
  }

  /// Whether a listener has a value, or perhaps one with the same hash.
  func has(_ value: UnsafeRawBufferPointer) -> Bool {
    if isEmpty { return false }
    let hash = ByteHash.of(value)
    let word = bits[Int(truncatingIfNeeded: hash >> 16) & (bits.count - 1)]
    return word & 1 << (hash >> 8 & 63) != 0 && listeners[hash] != nil
  }

  func forEach(_ body: (ChangeListener) -> Void) {
    for listeners in listeners.values { listeners.forEach(body) }
  }

  private static func hash(_ value: [UInt8]) -> UInt64 {
    value.withUnsafeBytes { ByteHash.of($0) }
  }
}
