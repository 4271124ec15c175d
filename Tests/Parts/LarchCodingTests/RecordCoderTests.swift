import Foundation
import Testing

@testable import Larch

@Suite("Records round trip")
struct RecordCoderTests {
  @Test("A person has the bytes that the format says")
  func personBytes() throws {
    let bench = CodingBench()
    let bytes = try bench.bytes(Person.sample)
    #expect(try bench.bytes(Person.sample) == bytes)
    #expect(bytes.count == 2 + 2 + 8 + 2 + 2 + 8 + 8 + 1 + 8 + 2 + 8 + 12 + 22 + 9)
    #expect(bench.shapes.count == 1)
    try bench.roundTrip(Person.sample)
  }

  @Test("A rich record round trips")
  func rich() throws {
    let bench = CodingBench()
    try bench.roundTrip(Rich.sample)
    var other = Rich.sample
    other.title = "t"
    other.second = other.address
    other.color = nil
    try bench.roundTrip(other)
    try bench.roundTrip(Rich.sample)
  }
}
