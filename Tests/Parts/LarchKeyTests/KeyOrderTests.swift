import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Bytes of keys sort as values do")
struct KeyOrderTests {
  static let pairs = 50_000

  private func check<K: IndexKey>(
    seed: UInt64, _ make: (inout SeededGenerator) -> K, _ order: (K, K) -> Int
  ) throws {
    var random = SeededGenerator(seed: seed)
    let form = K.keyCoding.form
    try #require(KeyForm(form.description) == form)
    for number in 0..<Self.pairs {
      let a = make(&random)
      let b = number % 16 == 0 ? a : make(&random)
      let expected = order(a, b)
      for isLast in [true, false] {
        let keyA = SampleKey(a, isLast: isLast)
        let keyB = SampleKey(b, isLast: isLast)
        let actual = keyA.order(keyB)
        // Two cut keys of different values may be equal; a cut and a whole key are never equal.
        let isRight = actual == expected || (actual == 0 && keyA.isCut && keyB.isCut)
        if !isRight || keyA.bytes.isEmpty || keyA.bytes.count > 500 {
          Issue.record("seed \(seed), pair \(number), last \(isLast): \(a) and \(b): \(actual)")
          return
        }
        if isLast { try checkReading(a, keyA, form, seed: seed) }
      }
    }
  }

  private func checkReading<K: IndexKey>(
    _ value: K, _ key: SampleKey, _ form: KeyForm, seed: UInt64
  ) throws {
    let decoded = try key.bytes.withUnsafeBytes { try KeyReader.read($0, as: form) }
    try #require(decoded.isCut == key.isCut, "seed \(seed): \(value)")
    if decoded.isCut { return }
    var writer = KeyWriter()
    let isOfForm = writer.append(decoded.values, as: form)
    try #require(isOfForm)
    try #require([UInt8](writer.bytes) == key.bytes, "seed \(seed): \(value)")
  }

  private func checkBoth<K: IndexKey>(
    seed: UInt64, _ make: (inout SeededGenerator) -> K, _ order: (K, K) -> Int
  ) throws {
    try check(seed: seed, make, order)
    try check(
      seed: seed + 1, { random -> K? in random.next() % 4 == 0 ? nil : make(&random) },
      { ReferenceOrder.optional($0, $1, order) })
  }

  private func checkInteger<T: FixedWidthInteger & IndexKey>(_: T.Type) throws {
    try checkBoth(
      seed: 1, { KeySamples.integer(T.self, &$0) }, { ReferenceOrder.of($0, $1) })
  }

  @Test func `signed integers`() throws {
    try checkInteger(Int.self)
    try checkInteger(Int8.self)
    try checkInteger(Int16.self)
    try checkInteger(Int32.self)
    try checkInteger(Int64.self)
  }

  @Test func `unsigned integers`() throws {
    try checkInteger(UInt.self)
    try checkInteger(UInt8.self)
    try checkInteger(UInt16.self)
    try checkInteger(UInt32.self)
    try checkInteger(UInt64.self)
  }

  @Test func `booleans`() throws {
    try checkBoth(
      seed: 2, { $0.next() % 2 == 0 }, { ReferenceOrder.of($0 ? 1 : 0, $1 ? 1 : 0) })
  }

  @Test func `doubles and floats`() throws {
    try checkBoth(seed: 3, { KeySamples.double(&$0) }, { ReferenceOrder.floating($0, $1) })
    try checkBoth(seed: 4, { Float(KeySamples.double(&$0)) }, { ReferenceOrder.floating($0, $1) })
  }

  @Test func `dates`() throws {
    try checkBoth(seed: 5, { KeySamples.date(&$0) }) {
      ReferenceOrder.floating($0.timeIntervalSinceReferenceDate, $1.timeIntervalSinceReferenceDate)
    }
  }

  @Test func `UUIDs`() throws {
    try checkBoth(seed: 6, { KeySamples.uuid(&$0) }, ReferenceOrder.uuid)
  }

  @Test func `data`() throws {
    try checkBoth(seed: 7, { KeySamples.data(&$0) }, ReferenceOrder.data)
  }

  @Test func `strings, by their normal form`() throws {
    try checkBoth(seed: 8, { KeySamples.string(&$0) }, { compareNFC($0, $1).signum() })
  }

  @Test func `composites of two to four parts`() throws {
    typealias Pair = CompositeKey<String, Int, Bool>
    try checkBoth(
      seed: 9, { Pair(KeySamples.string(&$0), Int($0.next() % 3), true) },
      { a, b in
        let first = compareNFC(a.first, b.first).signum()
        return first != 0 ? first : ReferenceOrder.of(a.rest.0, b.rest.0)
      })
    typealias Triple = CompositeKey<Data, String?, Double>
    try checkBoth(
      seed: 11,
      {
        Triple(
          KeySamples.data(&$0), $0.next() % 3 == 0 ? nil : KeySamples.string(&$0),
          KeySamples.double(&$0))
      },
      { a, b in
        let first = ReferenceOrder.data(a.first, b.first)
        if first != 0 { return first }
        let second = ReferenceOrder.optional(a.rest.0, b.rest.0) { compareNFC($0, $1).signum() }
        return second != 0 ? second : ReferenceOrder.floating(a.rest.1, b.rest.1)
      })
    typealias Four = CompositeKey<Data, Data, Data, Data>
    try checkBoth(
      seed: 13,
      {
        Four(
          KeySamples.data(&$0), KeySamples.data(&$0), KeySamples.data(&$0), KeySamples.data(&$0))
      },
      { a, b in
        for (x, y) in [(a.first, b.first), (a.rest.0, b.rest.0), (a.rest.1, b.rest.1)] {
          let order = ReferenceOrder.data(x, y)
          if order != 0 { return order }
        }
        return ReferenceOrder.data(a.rest.2, b.rest.2)
      })
  }

  @Test func `a key of five strings is cut at 500 bytes and still in order`() {
    var random = SeededGenerator(seed: 21)
    for number in 0..<20_000 {
      var lists: [[String]] = []
      for _ in 0..<2 {
        lists.append(
          (0..<5).map { _ in String(repeating: "\0", count: 49 + Int(random.next() % 3)) })
      }
      let keys = lists.map { list in
        var writer = KeyWriter()
        for (place, text) in list.enumerated() { writer.append(string: text, isLast: place == 4) }
        return (bytes: [UInt8](writer.bytes), isCut: writer.isCut)
      }
      let expected = lists[0].lexicographicallyPrecedes(lists[1], by: { compareNFC($0, $1) < 0 })
      let isBefore = keys[0].bytes.lexicographicallyPrecedes(keys[1].bytes)
      let isAfter = keys[1].bytes.lexicographicallyPrecedes(keys[0].bytes)
      #expect(keys[0].bytes.count <= 500 && keys[0].isCut == (keys[0].bytes.count == 500))
      if lists[0] == lists[1] {
        #expect(!isBefore && !isAfter, "pair \(number)")
      } else {
        #expect(isBefore == expected || (keys[0].isCut && keys[1].isCut && !isAfter))
        #expect(isBefore || isAfter || (keys[0].isCut && keys[1].isCut), "pair \(number)")
      }
    }
  }
}
