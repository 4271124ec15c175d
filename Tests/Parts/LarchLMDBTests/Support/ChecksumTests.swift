import Testing

@testable import Larch

@Suite("Checksum")
struct ChecksumTests {
  static func crc(_ bytes: [UInt8]) -> UInt32 {
    var sum = Checksum()
    bytes.withUnsafeBytes { sum.add($0) }
    return sum.value
  }

  @Test(
    "It is CRC-32C by the published vectors",
    arguments: [
      ([UInt8]("123456789".utf8), UInt32(0xE306_9283)),
      ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
      ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
      ([UInt8](0..<32), 0x46DD_794E),
      ([], 0),
    ] as [([UInt8], UInt32)])
  func vectors(bytes: [UInt8], expected: UInt32) {
    #expect(Self.crc(bytes) == expected)
  }

  @Test("Pieces give the same sum as the whole, wherever it is cut")
  func pieces() {
    let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 * 37) }
    for cut in 0...bytes.count {
      var sum = Checksum()
      bytes[..<cut].withUnsafeBytes { sum.add($0) }
      bytes[cut...].withUnsafeBytes { sum.add($0) }
      #expect(sum.value == Self.crc(bytes))
    }
  }
}
