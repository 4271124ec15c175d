/// A checksum of 64 bits. Each step is reversible, so a change of one word always changes the result.
package struct LogChecksum {
  package private(set) var value: UInt64

  package init(seed: UInt64) { value = seed }

  /// The start of an epoch: records of other epochs do not fit.
  package init(salt: UInt64, epoch: UInt64) {
    value = salt
    add(epoch)
  }

  @inline(__always)
  package mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0x9E37_79B9_7F4A_7C15
    value = value &<< 29 | value &>> 35
  }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var place = 0
    while place &+ 8 <= bytes.count {
      add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
      place &+= 8
    }
    var rest = UInt64(bytes.count)
    while place < bytes.count {
      rest = rest &<< 8 | UInt64(bytes[place])
      place &+= 1
    }
    add(rest)
  }
}
