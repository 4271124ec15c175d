import LarchTestSupport
import Testing

@testable import Larch

@Suite("Checksums")
struct ChecksumTests {
  @Test func `the checksum of the standard's text is that of the standard`() {
    var checksum = Checksum()
    Array("123456789".utf8).withUnsafeBytes { checksum.add($0) }
    #expect(checksum.value == 0xE306_9283)
  }

  @Test func `a long value has the checksum of its pieces`() {
    var random = SeededGenerator(seed: 12)
    let bytes = (0..<8_192).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    bytes.withUnsafeBytes { bytes in
      for _ in 0..<3_000 {
        let start = Int(random.next() % 64)
        let count = Int(random.next() % UInt64(random.next() % 2 == 0 ? 900 : 8_000))
        let value = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
        var whole = Checksum()
        whole.add(value)
        var pieces = Checksum()
        // Short pieces are read word by word.
        for place in stride(from: 0, to: count, by: 37) {
          pieces.add(UnsafeRawBufferPointer(rebasing: value[place..<min(count, place + 37)]))
        }
        #expect(whole.value == pieces.value, "\(count) bytes from \(start)")
      }
    }
  }

  @Test func `long text is valid exactly if the library says so`() {
    var random = SeededGenerator(seed: 13)
    let parts = ["a", "é", "日", "😀", "\u{0}"]
    for _ in 0..<2_000 {
      var bytes: [UInt8] = []
      let count = Int(random.next() % 300)
      let isASCII = random.next() % 2 == 0
      while bytes.count < count {
        bytes += Array((isASCII ? "x" : parts[Int(random.next() % 5)]).utf8)
      }
      if random.next() % 3 == 0, !bytes.isEmpty {
        bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      let found = bytes.withUnsafeBytes { SmallString.text($0) }
      let expected = String(validating: bytes, as: UTF8.self)
      #expect(found.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }
  }
}
