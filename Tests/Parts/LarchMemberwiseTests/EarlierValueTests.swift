import LarchTestSupport
import Testing

@testable import Larch

/// The value of an earlier record is made from a later one in memory: only fields that differ are read.
@Suite("Values of earlier records")
struct EarlierValueTests {
  /// The value of the earlier bytes, as `comparableBytes`; nil if Codable must read them.
  private func earlier<Value: RandomValue>(
    _ bytes: [UInt8], than later: Value, writtenAs written: [UInt8], _ codec: MemberwiseCodec,
    _ harness: MemberwiseHarness
  ) throws -> [UInt8]? {
    var found: [UInt8]?
    let isMade = try withUnsafePointer(to: later) { later in
      try bytes.withUnsafeBytes { record in
        try written.withUnsafeBytes { written in
          try codec.withValue(of: record, from: later, writtenAs: written) {
            found = try harness.comparableBytes(
              of: $0.assumingMemoryBound(to: Value.self).pointee)
          }
        }
      }
    }
    #expect(isMade == (found != nil))
    return found
  }

  @Test(
    "They equal the decoded ones, and leave the later value alone", arguments: MemberwiseTests.types
  )
  func equality(type: any RandomValue.Type) throws {
    func run<Value: RandomValue>(_ type: Value.Type) throws {
      var random = SeededGenerator(seed: 0xEA41)
      let harness = MemberwiseHarness()
      let codec = try #require(MemberwiseCodec(type, shapes: harness.shapes))
      _ = try harness.encode(Value.full(&random), codec)
      var made = 0
      for round in 0..<300 {
        let later = Value.random(&random)
        let written = try harness.encode(later, codec)
        let expected = try harness.comparableBytes(of: later)
        let before = Value.random(&random)
        let bytes = try harness.encode(before, codec)
        if let found = try earlier(bytes, than: later, writtenAs: written, codec, harness) {
          made += 1
          #expect(try found == harness.comparableBytes(of: before), "round \(round)")
        }
        let same = try earlier(written, than: later, writtenAs: written, codec, harness)
        #expect(same == (codec.isExact ? expected : nil), "round \(round)")
        #expect(try harness.comparableBytes(of: later) == expected, "round \(round)")
      }
      #expect(made == (codec.isExact ? 300 : 0))
    }
    try run(type)
  }

  @Test(
    "Of damaged bytes, they equal what Codable reads, or are refused",
    arguments: MemberwiseTests.types)
  func damaged(type: any RandomValue.Type) throws {
    func run<Value: RandomValue>(_ type: Value.Type) throws {
      var random = SeededGenerator(seed: 0xEA4BAD)
      let harness = MemberwiseHarness()
      let codec = try #require(MemberwiseCodec(type, shapes: harness.shapes))
      _ = try harness.encode(Value.full(&random), codec)
      var made = 0
      for round in 0..<1000 {
        let later = Value.random(&random)
        let written = try harness.encode(later, codec)
        let expected = try harness.comparableBytes(of: later)
        let bytes = MemberwiseTests.damage(written, &random)
        if let found = try earlier(bytes, than: later, writtenAs: written, codec, harness) {
          made += 1
          let theirs = try bytes.withUnsafeBytes { try harness.codableValue(type, from: $0) }
          #expect(try found == harness.comparableBytes(of: theirs), "round \(round)")
        }
        #expect(try harness.comparableBytes(of: later) == expected, "round \(round)")
      }
      #expect(made < 1000 && (made > 0) == codec.isExact)
    }
    try run(type)
  }

  @Test("Without a number of a library or a dictionary, every type of the samples takes part")
  func exact() {
    let exact = MemberwiseTests.types.filter { MemberwisePlan.plan(for: $0).isExact }
    #expect(exact.count > MemberwiseTests.types.count / 2, "\(exact)")
  }
}
