/// A hash table from bytes to numbers, without an allocation per key.
struct ByteTable: ~Copyable {
  private struct Slot {
    var hash: UInt64
    var start: Int
    var count: Int
    /// Negative in a free slot.
    var value: Int
  }

  private var slots: UnsafeMutablePointer<Slot>
  private var mask: Int
  private(set) var count = 0
  private var keys = ByteBuffer()
  /// Random, so that nobody can choose keys that collide.
  private let seed = UInt64.random(in: .min ... .max)

  init() {
    mask = 63
    slots = ByteTable.freeSlots(64)
  }

  deinit { slots.deallocate() }

  private static func freeSlots(_ count: Int) -> UnsafeMutablePointer<Slot> {
    let slots = UnsafeMutablePointer<Slot>.allocate(capacity: count)
    slots.initialize(repeating: Slot(hash: 0, start: 0, count: 0, value: -1), count: count)
    return slots
  }

  /// The number of a key; nil if it has none.
  func value(of key: UnsafeRawBufferPointer) -> Int? {
    let slot = slots + place(of: key, hash(key))
    return slot.pointee.value < 0 ? nil : slot.pointee.value
  }

  /// The number of a key, which becomes this one if it had none.
  mutating func value(of key: UnsafeRawBufferPointer, orSet value: Int) -> Int {
    let hash = hash(key)
    let found = place(of: key, hash)
    if slots[found].value >= 0 { return slots[found].value }
    slots[found] = Slot(hash: hash, start: keys.count, count: key.count, value: value)
    keys.append(key)
    count += 1
    if count * 2 > mask { grow() }
    return value
  }

  /// The slot of the key, or the free one for it.
  private func place(of key: UnsafeRawBufferPointer, _ hash: UInt64) -> Int {
    var place = Int(truncatingIfNeeded: hash) & mask
    while true {
      let slot = slots + place
      if slot.pointee.value < 0 { return place }
      if slot.pointee.hash == hash, slot.pointee.count == key.count {
        let start = slot.pointee.start
        if UnsafeRawBufferPointer(rebasing: keys.bytes[start..<start + key.count]).equals(key) {
          return place
        }
      }
      place = (place + 1) & mask
    }
  }

  private mutating func grow() {
    let old = slots
    let oldCount = mask + 1
    mask = oldCount * 2 - 1
    slots = ByteTable.freeSlots(oldCount * 2)
    for number in 0..<oldCount where old[number].value >= 0 {
      var place = Int(truncatingIfNeeded: old[number].hash) & mask
      while slots[place].value >= 0 { place = (place + 1) & mask }
      slots[place] = old[number]
    }
    old.deallocate()
  }

  private func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
    var hash = seed ^ UInt64(truncatingIfNeeded: key.count)
    var rest = key
    while rest.count >= 8 {
      hash = ByteTable.mix(hash, rest.loadUnaligned(as: UInt64.self))
      rest = UnsafeRawBufferPointer(rebasing: rest[8...])
    }
    var last: UInt64 = 0
    for byte in rest { last = last << 8 | UInt64(byte) }
    return ByteTable.mix(hash, last)
  }

  private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return product.high ^ product.low
  }
}
