import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Values are compared like their keys")
struct FilterOrderTests {
  /// The bytes of whole keys give the order of the index; a cut key decides less.
  private func check<Key: IndexKey>(
    _ type: Key.Type, _ values: [Key], location: SourceLocation = #_sourceLocation
  ) {
    let keys = values.map { value in
      var writer = KeyWriter()
      Key.keyCoding.write(value, to: &writer, isLast: true)
      return (bytes: [UInt8](writer.bytes), isCut: writer.isCut, values: Key.values(of: value))
    }
    for (number, a) in keys.enumerated() {
      for (other, b) in keys.enumerated() {
        let order = KeyValue.compare(a.values, b.values)
        #expect(order.signum() == -KeyValue.compare(b.values, a.values).signum())
        if a.isCut && b.isCut && a.bytes == b.bytes { continue }
        let expected =
          a.bytes == b.bytes ? 0 : a.bytes.lexicographicallyPrecedes(b.bytes) ? -1 : 1
        if order.signum() != expected {
          Issue.record(
            "\(type) \(number) and \(other): \(a.values) and \(b.values)", sourceLocation: location)
          return
        }
      }
    }
  }

  private func optionals<T>(_ values: [T]) -> [T?] { values.map { $0 } + [nil] }

  @Test("Of every standard type, optional or not, and of several parts")
  func everyType() {
    check(Int.self, DslRow.numbers)
    check(Int?.self, optionals(DslRow.numbers))
    check(UInt8.self, [0, 1, 127, 128, 255])
    check(Int8.self, [-128, -1, 0, 1, 127])
    check(UInt64.self, [0, 1, .max])
    check(Bool?.self, [true, false, nil])
    check(Double.self, DslRow.reals)
    check(Double?.self, optionals(DslRow.reals))
    check(Float.self, DslRow.reals.map { Float($0) })
    check(Date?.self, optionals(DslRow.dates))
    check(String.self, DslRow.texts)
    check(String?.self, optionals(DslRow.texts))
    check(Data.self, DslRow.datas)
    check(UUID.self, DslRow.uuids)
    check(URL?.self, optionals(DslRow.urls))
    check(Character.self, ["a", "é", "e\u{301}", "😀"])
    check(DslRole?.self, optionals(DslRole.allCases))
    check(DslLevel.self, DslLevel.allCases)
    check(RecordID<DslRow>.self, [0, 1, -1, 7])
    check(DslVersion?.self, [nil] + DslRow.samples.prefix(20).map(\.version))
    typealias Parts = CompositeKey<String?, Double>
    check(
      Parts.self,
      [nil, "", "a", "b"].flatMap { text in DslRow.reals.map { Parts(text, $0) } })
  }

  @Test("Filters treat nil and NaN apart from the order")
  func unordered() {
    let none: [KeyValue] = [.null]
    let nan: [KeyValue] = [.double(.nan)]
    let one: [KeyValue] = [.double(1)]
    #expect(KeyValue.areEqual(none, none) && !KeyValue.areEqual(nan, nan))
    #expect(KeyValue.areEqual([.double(-0.0)], [.double(0)]))
    #expect(KeyValue.compare(nan, nan) == 0 && KeyValue.compare(nan, [.double(.infinity)]) > 0)
    #expect(KeyValue.compareInFilter(none, one) == nil)
    #expect(KeyValue.compareInFilter(one, nan) == nil)
    #expect(KeyValue.compareInFilter([.string("a"), .double(.nan)], [.string("b"), .null]) != nil)
    let all = FieldTest.within(lower: nil, upper: nil)
    #expect(all.matches(one) && !all.matches(none) && !all.matches(nan))
    #expect(!FieldTest.equal(nan).matches(nan) && FieldTest.equal(none).matches(none))
    #expect(!FieldTest.oneOf(anyOrder: [nan, none]).matches(nan))
    #expect(FieldTest.oneOf(anyOrder: [one, none, one]).matches(none))
    let prefix = FieldTest.text(TextTest(kind: .hasPrefix, text: ""))
    #expect(prefix.matches([.string("")]) && !prefix.matches(none))
  }

  @Test("A long list is searched, not scanned")
  func longLists() {
    var random = SeededGenerator(seed: 5)
    let list = (0..<500).map { _ in Int(random.next() % 2000) }
    let test = FieldTest.oneOf(anyOrder: list.map { [.signed(Int64($0))] })
    let set = Set(list)
    for value in 0..<2000 {
      #expect(test.matches([.signed(Int64(value))]) == set.contains(value))
    }
  }
}
