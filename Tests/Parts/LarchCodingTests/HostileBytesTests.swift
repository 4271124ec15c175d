import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hostile bytes")
struct HostileBytesTests {
  /// Changes bytes like damage, or like someone who knows the format.
  static func mutate(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0...Int.random(in: 0..<3, using: &random) {
      guard !bytes.isEmpty else { break }
      let index = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
      case 2: bytes[index] = [0, 1, 0x7F, 0x80, 0xFF, 38].randomElement(using: &random)!
      case 3: bytes.removeLast(bytes.count - index)
      case 4: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
      case 5: bytes.remove(at: index)
      case 6: for i in index..<min(index + 4, bytes.count) { bytes[i] = 0xFF }
      default:
        let from = Int.random(in: 0..<bytes.count, using: &random)
        for i in 0..<min(8, bytes.count - max(index, from)) { bytes[index + i] = bytes[from + i] }
      }
    }
    return bytes
  }

  @Test("100,000 damaged records give values or typed errors, never a trap")
  func mutations() throws {
    let bench = CodingBench()
    var rich = Rich.sample
    rich.second = rich.address
    for _ in 0..<2 {
      _ = try bench.bytes(rich)
      _ = try bench.bytes(CodableFeatureTests.Bag())
    }
    let seeds: [[UInt8]] = try [
      bench.bytes(Person.sample), bench.bytes(rich), bench.bytes(CodableFeatureTests.Bag()),
      bench.bytes([CodableFeatureTests.Shape2.named("n", style: .red), .point]),
      bench.bytes(["a": [1, nil, 3], "b": []]),
      bench.bytes(CodableFeatureTests.Leafy("a", [.init("b"), .init("c")], best: .init("d"))),
    ]
    let seed: UInt64 = 0x1A7C
    var random = SeededGenerator(seed: seed)
    let paths = ["name", "city", "address.city", "counts.a", "tags"].map {
      FieldPath($0.split(separator: ".").map(String.init))
    }
    var (values, errors) = (0, 0)
    func attempt(_ body: () throws -> Void) {
      do {
        try body()
        values += 1
      } catch {
        errors += 1
        #expect(error is LarchError, "seed \(seed): \(error)")
      }
    }
    for round in 0..<100_000 {
      let bytes = Self.mutate(seeds[round % seeds.count], &random)
      bytes.withUnsafeBytes { bytes in
        switch round % seeds.count {
        case 0: attempt { _ = try bench.coder.decode(Person.self, from: bytes) }
        case 1: attempt { _ = try bench.coder.decode(Rich.self, from: bytes) }
        case 2: attempt { _ = try bench.coder.decode(CodableFeatureTests.Bag.self, from: bytes) }
        case 3:
          attempt { _ = try bench.coder.decode([CodableFeatureTests.Shape2].self, from: bytes) }
        case 4: attempt { _ = try bench.coder.decode([String: [Int?]].self, from: bytes) }
        default: attempt { _ = try bench.coder.decode(CodableFeatureTests.Leafy.self, from: bytes) }
        }
        if round % 4 == 0 {
          attempt { _ = try RawRecord(bytes, shapes: bench.shapes).json() }
          for path in paths { attempt { _ = try path.read(in: bytes, shapes: bench.shapes) } }
        }
      }
    }
    #expect(values > 1000 && errors > 1000)
  }

  @Test("Damaged shapes give shapes or typed errors")
  func shapes() throws {
    let bench = CodingBench()
    _ = try bench.bytes(Rich.sample)
    let encoded = try bench.shapes.shape(UInt16(bench.shapes.count)).encoded()
    var random = SeededGenerator(seed: 7)
    for _ in 0..<10_000 {
      Self.mutate(encoded, &random).withUnsafeBytes { bytes in
        do {
          let shape = try Shape(id: 1, decoding: bytes)
          #expect(shape.encoded() == Array(bytes))
        } catch { #expect((error as? LarchError)?.code == .corrupted) }
      }
    }
  }

  @Test("Text that is not UTF-8 is refused")
  func text() throws {
    struct Text: Codable, Equatable { var t: String }
    let bench = CodingBench()
    let good = try bench.bytes(Text(t: "aé"))
    #expect(try bench.decode(Text.self, good) == Text(t: "aé"))
    var bad = good
    bad[bad.count - 1] = 0xFF
    #expect(throws: LarchError.self) { try bench.decode(Text.self, bad) }
  }
}
