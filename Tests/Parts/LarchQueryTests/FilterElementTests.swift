import Foundation
import Testing

@testable import Larch

@Suite("Tests of elements and of nested values agree with Swift")
struct FilterElementTests {
  @Test("An element of an array or a set equals a value, or one of several, or all of them")
  func membership() {
    for value in DslRow.texts {
      dslCheck({ $0.tags.contains(value) }, { $0.tags.contains(value) })
      dslCheck({ $0.maybeTags.contains(value) }, { $0.maybeTags?.contains(value) ?? false })
      dslCheck({ !$0.maybeTags.contains(value) }, { !($0.maybeTags?.contains(value) ?? false) })
    }
    for value in DslRow.numbers {
      dslCheck({ $0.marks.contains(value) }, { $0.marks.contains(value) })
    }
    for value in DslRow.reals {
      dslCheck({ $0.reals.contains(value) }, { $0.reals.contains(value) })
    }
    dslCheck({ $0.flags.contains(true) }, { $0.flags.contains(true) })
    dslCheck({ !$0.flags.contains(true) }, { !$0.flags.contains(true) })
    dslCheck({ $0.reals.contains(nil) }, { $0.reals.contains(nil) })
    dslCheck({ $0.prices.contains(1) }, { $0.prices.contains(1) })
    let several = ["a", "é", "swift", "a"]
    dslCheck({ $0.tags.containsAny(of: several) }, { $0.tags.contains { several.contains($0) } })
    dslCheck({ $0.tags.containsAny(of: []) }, { _ in false })
    dslCheck({ $0.marks.containsAny(of: 1...3) }, { $0.marks.contains { (1...3).contains($0) } })
    dslCheck(
      { $0.marks.containsAll(of: [1, 2]) }, { row in [1, 2].allSatisfy(row.marks.contains) })
    dslCheck({ $0.tags.containsAll(of: ["é"]) }, { $0.tags.contains("é") })
    dslCheck({ $0.tags.containsAll(of: []) }, { _ in true })
    dslCheck(
      { $0.prices.containsAny(of: [1, 30]) },
      { row in [1, 30].contains(where: row.prices.contains) })
    dslCheck(
      { $0.prices.containsAll(of: [1, 30]) }, { row in [1, 30].allSatisfy(row.prices.contains) })
    dslCheck(
      { $0.places.contains(DslPlace(city: "a", zip: nil)) },
      {
        $0.places.contains(DslPlace(city: "a", zip: nil))
      })
  }

  @Test("A condition on elements is evaluated for one element at a time")
  func conditions() {
    dslCheck({ $0.tags.contains { $0.hasPrefix("a") } }, { $0.tags.contains { $0.hasPrefix("a") } })
    dslCheck({ $0.tags.contains(where: { $0 == "é" }) }, { $0.tags.contains { $0 == "é" } })
    dslCheck({ $0.tags.contains { $0 != "a" } }, { $0.tags.contains { $0 != "a" } })
    dslCheck({ !$0.tags.contains { $0 == "a" } }, { !$0.tags.contains { $0 == "a" } })
    dslCheck(
      { $0.maybeTags.contains { $0 > "a" } }, { $0.maybeTags?.contains { $0 > "a" } ?? false })
    dslCheck(
      { $0.marks.contains { $0 > 1 && $0 < 18 } }, { $0.marks.contains { $0 > 1 && $0 < 18 } })
    dslCheck(
      { $0.marks.contains { $0 < 0 || (2...3).contains($0) } },
      {
        $0.marks.contains { $0 < 0 || (2...3).contains($0) }
      })
    dslCheck(
      { $0.marks.contains { !($0 > 1) && ($0 == 0 || $0 == 1 || $0 == 18) } },
      {
        $0.marks.contains { !($0 > 1) && ($0 == 0 || $0 == 1 || $0 == 18) }
      })
    dslCheck({ $0.tags.contains { $0.count > 3 } }, { $0.tags.contains { $0.count > 3 } })
    dslCheck(
      { $0.tags.contains { $0.count > 3 && $0.hasPrefix("s") } },
      {
        $0.tags.contains { $0.count > 3 && $0.hasPrefix("s") }
      })
    dslCheck({ $0.tags.contains { $0.isEmpty } }, { $0.tags.contains { $0.isEmpty } })
    dslCheck({ $0.tags.contains { $0.contains(/b/) } }, { $0.tags.contains { $0.contains(/b/) } })
    dslCheck({ $0.reals.contains { $0 == nil } }, { $0.reals.contains { $0 == nil } })
    dslCheck(
      { $0.reals.contains { $0 >= 1 } }, { $0.reals.contains { $0.map { $0 >= 1 } ?? false } })
    dslCheck({ $0.prices.contains { $0 > 1 } }, { $0.prices.contains { $0 > 1 } })
    dslCheck(
      { $0.places.contains { $0.city == "a" || $0.zip == 1 } },
      {
        $0.places.contains { $0.city == "a" || $0.zip == 1 }
      })
    dslCheck(
      { $0.places.contains { $0.zip > 1 && $0.city.hasPrefix("s") } },
      {
        $0.places.contains { ($0.zip.map { $0 > 1 } ?? false) && $0.city.hasPrefix("s") }
      })
  }

  @Test("Whole arrays and sets, and what is computed from them")
  func wholes() {
    dslCheck({ $0.tags == ["a"] }, { $0.tags == ["a"] })
    dslCheck({ $0.tags != [] }, { $0.tags != [] })
    dslCheck({ $0.marks == [1] }, { $0.marks == [1] })
    dslCheck({ $0.maybeTags == nil }, { $0.maybeTags == nil })
    dslCheck({ $0.maybeTags != nil }, { $0.maybeTags != nil })
    dslCheck({ $0.maybeTags == ["b"] }, { $0.maybeTags == ["b"] })
    dslCheck({ $0.tags.isEmpty }, { $0.tags.isEmpty })
    dslCheck({ $0.tags.count >= 2 }, { $0.tags.count >= 2 })
    dslCheck({ $0.maybeTags.count == 2 }, { $0.maybeTags?.count == 2 })
    dslCheck({ $0.tags.first == "a" }, { $0.tags.first == "a" })
    dslCheck({ $0.text.count > 2 }, { $0.text.count > 2 })
    dslCheck({ $0.double > 4 }, { $0.double > 4 })
  }

  @Test("Nested values, through optionals and not, stored and computed")
  func nested() {
    dslCheck({ $0.address.city == "a" }, { $0.address.city == "a" })
    dslCheck({ $0.address.zip > 1 }, { row in row.address.zip.map { $0 > 1 } ?? false })
    dslCheck({ $0.address.shout == "A" }, { $0.address.shout == "A" })
    dslCheck({ $0.address.place.city == "a" }, { $0.address.place?.city == "a" })
    dslCheck({ $0.address.place.zip != 1 }, { $0.address.place?.zip != 1 })
    dslCheck(
      { $0.maybeAddress.city >= "b" },
      { row in
        row.maybeAddress.map { compareNFC($0.city, "b") >= 0 } ?? false
      })
    dslCheck({ $0.maybeAddress.zip == nil }, { $0.maybeAddress?.zip == nil })
    dslCheck({ $0.maybeAddress.place.zip == 1 }, { $0.maybeAddress?.place?.zip == 1 })
    dslCheck(
      { $0.maybeAddress.place.city.hasSuffix("b") },
      {
        $0.maybeAddress?.place?.city.hasSuffix("b") ?? false
      })
    dslCheck({ $0.maybeAddress.shout == "CAFÉ" }, { $0.maybeAddress?.shout == "CAFÉ" })
    dslCheck({ $0.maybeAddress.first == "a" }, { $0.maybeAddress?.first == "a" })
    dslCheck({ $0.maybeAddress == nil }, { $0.maybeAddress == nil })
    dslCheck({ $0.maybeAddress.place == nil }, { $0.maybeAddress?.place == nil })
    dslCheck({ $0.maybeAddress == $0.address }, { $0.maybeAddress == $0.address })
    dslCheck({ $0.maybeText.count > 2 }, { ($0.maybeText?.count ?? 0) > 2 })
    dslCheck({ $0[\.maybeAddress?.city] == "a" }, { $0.maybeAddress?.city == "a" })
  }

  @Test("Closures over the record, and combinations of everything")
  func closures() {
    dslCheck(
      { $0.satisfies { $0.number == $0.other } && $0.flag },
      {
        $0.number == $0.other && $0.flag
      })
    dslCheck(
      {
        ($0.flag || $0.number > 1) && !($0.text.hasPrefix("a") || $0.maybeNumber == nil)
          && ($0.role == .guest || $0.tags.contains("a") || !$0.satisfies { $0.real > 0 })
      },
      {
        ($0.flag || $0.number > 1) && !($0.text.hasPrefix("a") || $0.maybeNumber == nil)
          && ($0.role == .guest || $0.tags.contains("a") || !($0.real > 0))
      })
    dslCheck(
      { row in
        let isYoung = row.number < 18
        return isYoung && row.flag
      }, { $0.number < 18 && $0.flag })
  }
}
