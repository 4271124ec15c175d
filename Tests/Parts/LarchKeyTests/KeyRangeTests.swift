import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Ranges of keys agree with Swift's operators")
struct KeyRangeTests {
  private func prefix(_ write: (inout KeyWriter) -> Void) -> KeyPrefix {
    var writer = KeyWriter()
    write(&writer)
    return KeyPrefix(writer)
  }

  private func contains(_ range: KeyRange, _ key: SampleKey) -> Bool {
    key.bytes.withUnsafeBytes { range.contains($0) }
  }

  @Test(arguments: [true, false])
  func `intervals of optional doubles contain neither nil nor NaN`(isLast: Bool) {
    var random = SeededGenerator(seed: 31)
    let form = Optional<Double>.keyCoding.form
    for _ in 0..<20_000 {
      let value: Double? = random.next() % 5 == 0 ? nil : KeySamples.double(&random)
      let low = KeySamples.double(&random)
      let high = KeySamples.double(&random)
      let city = KeySamples.string(&random)
      let other = random.next() % 4 == 0 ? KeySamples.string(&random) : city
      let before = prefix { $0.append(string: city, isLast: false) }
      if before.isCut { continue }
      func bound(_ value: Double) -> KeyPrefix {
        prefix {
          $0.append(string: city, isLast: false)
          Optional<Double>.keyCoding.write(value, to: &$0, isLast: isLast)
        }
      }
      var writer = KeyWriter()
      writer.append(string: other, isLast: false)
      Optional<Double>.keyCoding.write(value, to: &writer, isLast: isLast)
      if !isLast { writer.append(int64: Int64(random.next() % 3) - 1) }
      let key = writer.bytes
      func holds(_ from: KeyRange.Bound, _ to: KeyRange.Bound) -> Bool {
        KeyRange.between(from, to, after: before, form: form, isLast: isLast).contains(key)
      }
      let isHere = compareNFC(city, other) == 0
      let number = value ?? .nan
      #expect(
        holds(.including(bound(low)), .excluding(bound(high)))
          == (isHere && low <= number && number < high))
      #expect(
        holds(.excluding(bound(low)), .including(bound(high)))
          == (isHere && low < number && number <= high))
      #expect(holds(.excluding(bound(low)), .unbounded) == (isHere && low < number))
      #expect(holds(.unbounded, .including(bound(high))) == (isHere && number <= high))
      #expect(
        KeyRange.isNil(after: before, isLast: isLast).contains(key) == (isHere && value == nil))
      #expect(KeyRange.isNotNil(after: before).contains(key) == (isHere && value != nil))
      #expect(KeyRange.equal(to: before, isComplete: false).contains(key) == isHere)
    }
  }

  @Test(arguments: [true, false])
  func `intervals and prefixes of strings have all matches, and others only if marked so`(
    isLast: Bool
  ) {
    var random = SeededGenerator(seed: 33)
    for _ in 0..<30_000 {
      let text = KeySamples.string(&random)
      var low = KeySamples.string(&random)
      if random.next() % 3 == 0 { low = String(text.prefix(Int(random.next() % 140))) }
      let high = random.next() % 4 == 0 ? text : KeySamples.string(&random)
      var writer = KeyWriter()
      writer.append(string: text, isLast: isLast)
      if !isLast { writer.append(int64: -1) }
      let key = writer.bytes
      func bound(_ text: String) -> KeyPrefix { prefix { $0.append(string: text, isLast: isLast) } }
      func check(_ range: KeyRange, _ expected: Bool) {
        let actual = range.contains(key)
        #expect(actual == expected || (actual && range.needsCheck), "\(text) \(low) \(high)")
        #expect(!(range.isEmpty && actual))
      }
      let empty = KeyPrefix()
      let above = compareNFC(text, low)
      let below = compareNFC(text, high)
      let form = String.keyCoding.form
      check(
        .between(
          .including(bound(low)), .including(bound(high)), after: empty, form: form, isLast: isLast
        ),
        above >= 0 && below <= 0)
      check(
        .between(
          .excluding(bound(low)), .excluding(bound(high)), after: empty, form: form, isLast: isLast
        ),
        above > 0 && below < 0)
      check(.equal(to: bound(low), isComplete: isLast), above == 0)
      var copy = low
      let beginning = copy.withUTF8 { utf8 in
        prefix { $0.append(stringPrefixUTF8: UnsafeRawBufferPointer(utf8), isLast: isLast) }
      }
      let range = KeyRange.beginning(with: beginning)
      check(range, NFC.normalized(text).starts(with: NFC.normalized(low)))
      if text.hasPrefix(low) { #expect(range.contains(key)) }
    }
  }

  @Test func `an interval whose lower bound exceeds its upper is empty`() {
    let one = prefix { $0.append(int64: 1) }
    let two = prefix { $0.append(int64: 2) }
    let form = Int.keyCoding.form
    func range(_ from: KeyRange.Bound, _ to: KeyRange.Bound) -> KeyRange {
      .between(from, to, after: KeyPrefix(), form: form, isLast: true)
    }
    #expect(range(.including(two), .including(one)).isEmpty)
    #expect(range(.including(one), .excluding(one)).isEmpty)
    #expect(!range(.including(one), .including(one)).isEmpty)
    #expect(KeyRange.none.isEmpty)
  }
}
