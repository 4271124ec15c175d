import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Codings that the compiler made")
struct HerdTests {
  @Test("They pass the proof in both directions", arguments: Herd.taken)
  func taken(row: HerdRow) {
    let plan = MemberwisePlan.plan(for: row.type, proving: true)
    #expect(ZooVerdict(plan) == .both, "\(plan.reasonForFallback ?? plan.proof?.summary ?? "")")
  }

  @Test("Those without a memberwise form say why", arguments: Herd.left)
  func left(row: HerdRow) {
    let plan = MemberwisePlan.plan(for: row.type, proving: true)
    #expect(
      plan.reasonForFallback?.contains(row.reason ?? "") == true, "\(plan.reasonForFallback ?? "")")
  }

  @Test(
    "They are coded as Codable does, memberwise where that is possible",
    arguments: Herd.taken + Herd.left)
  func same(row: HerdRow) throws {
    func run<Member: HerdMember>(_ type: Member.Type) throws {
      let shapes = ShapeTable()
      let plain = RecordCoder(shapes: shapes)
      let proving = RecordCoder(shapes: shapes)
      var refuted: [String] = []
      proving.memberwise.provesTypes { refuted.append($0) }
      for round in 0..<100 {
        for value in Member.values {
          let own = [UInt8](try plain.encodeThroughCodable(value))
          let got = [UInt8](try proving.encode(value))
          #expect(own == got, "round \(round)")
          try own.withUnsafeBytes { bytes in
            let read = try proving.decode(type, from: bytes)
            #expect(try plain.encodeThroughCodable(read).elementsEqual(own), "round \(round)")
          }
        }
      }
      #expect(refuted.isEmpty)
      let codec = proving.memberwise.codec(for: type)?.takeUnretainedValue()
      #expect((codec?.writtenShape ?? 0 != 0) == (row.reason == nil))
    }
    try run(row.type)
  }

  @Test("A type is examined once")
  func once() {
    let first = MemberwisePlan.plan(for: Herd.Person.self, proving: true)
    #expect(first === MemberwisePlan.plan(for: Herd.Person.self, proving: true))
  }
}
