import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hand-written codings are never bypassed")
struct ZooTests {
  /// A coder that codes proved types memberwise, beside one that never does.
  final class Pair {
    let shapes = ShapeTable()
    let plain: RecordCoder
    let proving: RecordCoder
    private(set) var refuted: [String] = []

    init() {
      plain = RecordCoder(shapes: shapes)
      proving = RecordCoder(shapes: shapes)
      proving.memberwise.provesTypes { [unowned self] in refuted.append($0) }
    }

    func face<Member: ZooMember>(_ read: () throws -> Member) -> String {
      do { return try read().face } catch { return "\(error)" }
    }

    func bytes(_ write: () throws -> UnsafeRawBufferPointer) -> Result<[UInt8], ZooError> {
      do { return .success([UInt8](try write())) } catch { return .failure(ZooError()) }
    }

    /// Whether the records, and the values that are read from them, are coded alike.
    func isSame<Member: ZooMember>(_ type: Member.Type, _ record: any Encodable) throws -> Bool {
      let bytes = [UInt8](try plain.encodeThroughCodable(record))
      return bytes.withUnsafeBytes { bytes in
        let own = face { try plain.decodeThroughCodable(type, from: bytes) }
        let got = face { try proving.decode(type, from: bytes) }
        guard own == got else { return false }
        guard let value = try? plain.decodeThroughCodable(type, from: bytes) else { return true }
        return self.bytes { try plain.encodeThroughCodable(value) }
          == self.bytes { try proving.encode(value) }
      }
    }
  }

  @Test("The zoo has at least a hundred members")
  func size() { #expect(Zoo.members.count >= 100) }

  @Test("Each is coded as its own Codable does", arguments: Zoo.members)
  func same(cage: ZooCage) throws {
    func run<Member: ZooMember>(_ type: Member.Type) throws {
      let pair = Pair()
      for round in 0..<3 {
        for (number, record) in Member.records.enumerated() {
          #expect(try pair.isSame(type, record), "round \(round), record \(number)")
        }
      }
      #expect(pair.refuted.isEmpty, "the sample had to find it")
    }
    try run(cage.type)
  }

  @Test(
    "The proof says in which direction the coding is the compiler's",
    arguments: Zoo.members + Zoo.unguessable + Zoo.invisible)
  func verdict(cage: ZooCage) {
    let plan = MemberwisePlan.plan(for: cage.type, proving: true)
    let reason = plan.proof?.summary ?? plan.reasonForFallback ?? "memberwise"
    #expect(ZooVerdict(plan) == cage.verdict, "\(reason)")
  }

  @Test(
    "Without the option nothing is coded memberwise that did not opt in", arguments: Zoo.members)
  func off(cage: ZooCage) {
    #expect(MemberwiseCodec(cage.type, shapes: ShapeTable()) == nil)
  }

  @Test("A type that is CustomCoded is not examined")
  func customCoded() throws {
    let plan = MemberwisePlan.plan(for: Zoo.OptedOut.self, proving: true)
    #expect(plan.reasonForFallback?.contains("it is CustomCoded") == true)
  }

  @Test("A coding that traps on an extreme value stops the program")
  func trapping() async {
    await #expect(processExitsWith: .failure) {
      _ = MemberwisePlan.plan(for: Zoo.Trapping.self, proving: true)
    }
  }

  @Test("Nothing finds a coding that only counts its calls")
  func invisible() throws {
    let pair = Pair()
    let bytes = [UInt8](try pair.plain.encodeThroughCodable(Twin()))
    try bytes.withUnsafeBytes { bytes in
      for _ in 0..<5000 { _ = try pair.proving.decode(Zoo.Counting.self, from: bytes) }
    }
    #expect(pair.refuted.isEmpty)
  }
}

@Suite("The sample of a proved type", .serialized)
struct CodingSampleTests {
  @Test("It finds a difference on one value in 1,000, and no such value is bypassed after that")
  func rare() throws {
    let pair = ZooTests.Pair()
    let plan = MemberwisePlan.plan(for: Zoo.Rare.self, proving: true)
    #expect(ZooVerdict(plan) == .both)
    var count = 0
    while pair.refuted.isEmpty, count < 4_000_000 {
      count += 1
      let value = Zoo.Rare(count: count % 1_000_000)
      let bytes = [UInt8](try pair.proving.encode(value))
      _ = try bytes.withUnsafeBytes { try pair.proving.decode(Zoo.Rare.self, from: $0) }
    }
    #expect(pair.refuted == [plan.typeName])
    #expect(plan.reasonForFallback?.contains("does not write and read exactly") == true)
    let other = ZooTests.Pair()
    for coder in [pair.proving, other.proving] {
      let bytes = [UInt8](try coder.encodeThroughCodable(Zoo.Rare(count: 1357)))
      for _ in 0..<3 {
        let read = try bytes.withUnsafeBytes { try coder.decode(Zoo.Rare.self, from: $0) }
        #expect(read.count == -1357)
      }
    }
  }

  @Test("It finds what encode(to:) does to one value")
  func masking() throws {
    let pair = ZooTests.Pair()
    var found = 0
    for number in 0..<20_000 where pair.refuted.isEmpty {
      _ = try pair.proving.encode(Zoo.Masking(name: number % 10 == 0 ? "hunter2" : "\(number)"))
      found = number
    }
    #expect(pair.refuted.count == 1)
    #expect(found < 64, "the first records are all coded both ways")
  }

  @Test("A value that init(from:) refuses is refused when it is sampled")
  func rejecting() throws {
    let pair = ZooTests.Pair()
    let good = [UInt8](try pair.plain.encodeThroughCodable(Twin()))
    let bad = [UInt8](try pair.plain.encodeThroughCodable(Twin(count: 7777)))
    for _ in 0..<10 {
      _ = try good.withUnsafeBytes { try pair.proving.decode(Zoo.Rejecting.self, from: $0) }
    }
    #expect(throws: LarchError.self) {
      try bad.withUnsafeBytes { try pair.proving.decode(Zoo.Rejecting.self, from: $0) }
    }
    #expect(pair.refuted.count == 1)
  }

  @Test("It chooses all of the first 64 records, and about one in 64 in the end")
  func density() {
    var sample = CodingSample(seed: 7)
    let first = (0..<64).count { _ in sample.isDue() }
    let young = (0..<1000).count { _ in sample.isDue() }
    let old = (0..<640_000).count { _ in sample.isDue() }
    #expect(first == 64)
    #expect((90..<170).contains(young))
    #expect((9000..<11_000).contains(old))
  }
}
