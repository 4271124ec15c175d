import LarchTestSupport
import Testing

@testable import Larch

@Suite("The sort of ids by their bits")
struct RadixSortTests {
  private func check<Number: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ numbers: [Number], _ text: String
  ) {
    var sorted = numbers
    RadixSort.sort(&sorted)
    #expect(sorted == numbers.sorted(), "\(text)")
  }

  /// Numbers of many kinds: of any bits, in a row, with equal first or last bits, equal, few with many
  /// others far away.
  private func numbers<Number: FixedWidthInteger & UnsignedInteger>(
    _ kind: Int, _ count: Int, _ random: inout SeededGenerator
  ) -> [Number] {
    (0..<count).map { place in
      let any = Number.random(in: 0...Number.max, using: &random)
      return switch kind {
      case 0: any
      case 1: Number(count - place)
      case 2: Number(7) << (Number.bitWidth - 8) | any & 0xFFFF
      case 3: any & (Number.max << (Number.bitWidth - 5))
      case 4: 42
      case 5: place % 50 == 0 ? any : any & 0x3F
      default: (any & 1) << (Number.bitWidth - 1) | any & 0xFF00
      }
    }
  }

  @Test("It is the order of the numbers", arguments: 0..<7)
  func order(kind: Int) {
    var random = SeededGenerator(seed: UInt64(kind) + 11)
    for count in [0, 1, 2, 3, 15, 16, 17, 18, 100, 511, 513, 1_500, 5_000] {
      check(numbers(kind, count, &random) as [UInt64], "kind \(kind), \(count) of 64 bits")
      check(numbers(kind, count, &random) as [UInt128], "kind \(kind), \(count) of 128 bits")
    }
  }

  @Test("Of the lower bits none moves if only the higher ones are sorted", arguments: 0..<7)
  func higherBits(kind: Int) {
    var random = SeededGenerator(seed: UInt64(kind) + 31)
    for count in [2, 16, 17, 100, 1_500, 5_000] {
      let highs: [UInt64] = numbers(kind, count, &random)
      let made = highs.enumerated().map { UInt128($1) << 64 | UInt128($0) << 8 | UInt128($1 % 200) }
      var sorted = made
      sorted.withUnsafeMutableBufferPointer { RadixSort.sort($0, from: 64) }
      #expect(sorted == made.sorted(), "kind \(kind), \(count)")
    }
  }

  @Test("A list has each id once, in the order of bytes", arguments: [8, 16, nil])
  func list(width: Int?) throws {
    var random = SeededGenerator(seed: UInt64(width ?? 1))
    for count in [0, 1, 2, 40, 700] {
      var list = IDList(width: width)
      var ids: [[UInt8]] = []
      for _ in 0..<count {
        let size = width ?? 1 + Int.random(in: 0..<20, using: &random)
        let bytes = (0..<size).map { _ in UInt8.random(in: 0..<4, using: &random) }
        let id = !ids.isEmpty && Bool.random(using: &random) ? ids[ids.count / 2] : bytes
        ids.append(id)
        id.withUnsafeBytes { list.append($0) }
      }
      list.finish()
      let wanted = Set(ids).sorted { $0.lexicographicallyPrecedes($1) }
      #expect(list.count == wanted.count)
      for (place, id) in wanted.enumerated() {
        #expect([UInt8](list[place]) == id)
        for other in [id, id.dropLast() + [9]] {
          let first = wanted.firstIndex { !$0.lexicographicallyPrecedes(other) } ?? wanted.count
          let from = Int.random(in: 0...first, using: &random)
          let found = other.withUnsafeBytes { list.place(atOrAfter: $0, from: from) }
          #expect(found == first)
        }
      }
      list.removeAll()
      #expect(list.count == 0)
      guard let width, !wanted.isEmpty else { continue }
      ids.flatMap { $0 }.withUnsafeBytes { list.append(run: $0) }
      list.finish()
      let count = (wanted.count + 1) / 2
      for descends in [false, true] {
        let copied = [UInt8](unsafeUninitializedCapacity: count * width) { target, filled in
          list.copy(
            count, from: descends ? wanted.count - 1 : 0, descends: descends,
            to: target.baseAddress!)
          filled = count * width
        }
        let part = (descends ? wanted.reversed() : wanted).prefix(count)
        #expect(copied == part.flatMap { $0 })
      }
    }
  }
}
