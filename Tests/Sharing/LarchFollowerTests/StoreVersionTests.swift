import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct StoreVersionTests {
  private func version(
    _ position: UInt64, token: UInt64 = 7, transaction: UInt64 = 1
  ) -> StoreVersion {
    StoreVersion(
      transaction,
      place: LogPlace(position: position, token: LogToken(random: token, checksum: token &* 3)))
  }

  @Test func `a version without a log is its number as before`() throws {
    let (three, ten) = (StoreVersion(3), StoreVersion(10))
    #expect(three < ten)
    #expect(three.description == "3")
    #expect(StoreVersion("10") == ten)
    #expect(three.position == nil)
  }

  @Test func `versions of one log are compared by their positions, on any machine`() {
    #expect(version(5, transaction: 100) == version(5, transaction: 7))
    #expect(version(5, transaction: 100) < version(6, transaction: 7))
    #expect(Set([version(5, transaction: 1), version(5, transaction: 2)]).count == 1)
    #expect(version(5, token: 7) != version(5, token: 8))
    #expect((version(5, token: 7) < version(5, token: 8)) != (version(5, token: 8) < version(5)))
  }

  @Test func `versions from before and after the log began keep their order`() {
    let before = StoreVersion(9)
    let after = version(1, transaction: 10)
    #expect(before < after)
    #expect(before != after)
    #expect(!(after < before))
    let same = version(1, transaction: 9)
    #expect(before < same && !(same < before) && before != same)
  }

  @Test func `a version is a text and a coded value, and back`() throws {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<1000 {
      let version = StoreVersion(
        .random(in: .min ... .max, using: &random),
        place: Bool.random(using: &random)
          ? LogPlace(
            position: .random(in: .min ... .max, using: &random),
            token: LogToken(
              random: .random(in: .min ... .max, using: &random),
              checksum: .random(in: .min ... .max, using: &random))) : nil)
      #expect(StoreVersion(version.description) == version)
      let coded = try JSONEncoder().encode([version])
      #expect(try JSONDecoder().decode([StoreVersion].self, from: coded) == [version])
    }
  }

  @Test(arguments: [
    "", ".", "1.", ".1", "-1", "+1", "x", "1.2", "1.2.3", " 1", "1 ", "99999999999999999999",
    "1.0000000000000001000000000000000", "1.000000000000000100000000000000011",
    "1.+00000000000000100000000000000000", "1.000000000000000g0000000000000001",
    "1.é000000000000000000000000000000",
  ])
  func `a text that is no version gives none`(text: String) {
    #expect(StoreVersion(text) == nil)
    let coded = try? JSONEncoder().encode(text)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(StoreVersion.self, from: coded ?? Data())
    }
  }
}
