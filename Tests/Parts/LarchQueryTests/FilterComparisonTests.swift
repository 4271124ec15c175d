import Foundation
import Testing

@testable import Larch

@Suite("Comparisons agree with Swift's operators")
struct FilterComparisonTests {
  @Test("Integers against every constant, and optional ones")
  func integers() {
    for value in DslRow.numbers {
      dslCheck({ $0.number == value }, { $0.number == value })
      dslCheck({ $0.number != value }, { $0.number != value })
      dslCheck({ $0.number < value }, { $0.number < value })
      dslCheck({ $0.number <= value }, { $0.number <= value })
      dslCheck({ $0.number > value }, { $0.number > value })
      dslCheck({ $0.number >= value }, { $0.number >= value })
      dslCheck({ $0.maybeNumber == value }, { $0.maybeNumber == value })
      dslCheck({ $0.maybeNumber != value }, { $0.maybeNumber != value })
      dslCheck({ $0.maybeNumber < value }, { $0.maybeNumber.map { $0 < value } ?? false })
      dslCheck({ $0.maybeNumber <= value }, { $0.maybeNumber.map { $0 <= value } ?? false })
      dslCheck({ $0.maybeNumber > value }, { $0.maybeNumber.map { $0 > value } ?? false })
      dslCheck({ $0.maybeNumber >= value }, { $0.maybeNumber.map { $0 >= value } ?? false })
      dslCheck({ value == $0.number }, { value == $0.number })
      dslCheck({ value != $0.maybeNumber }, { value != $0.maybeNumber })
      dslCheck({ value < $0.number }, { value < $0.number })
      dslCheck({ value <= $0.number }, { value <= $0.number })
      dslCheck({ value > $0.number }, { value > $0.number })
      dslCheck({ value >= $0.number }, { value >= $0.number })
      dslCheck({ value < $0.maybeNumber }, { $0.maybeNumber.map { value < $0 } ?? false })
      dslCheck({ value <= $0.maybeNumber }, { $0.maybeNumber.map { value <= $0 } ?? false })
      dslCheck({ value > $0.maybeNumber }, { $0.maybeNumber.map { value > $0 } ?? false })
      dslCheck({ value >= $0.maybeNumber }, { $0.maybeNumber.map { value >= $0 } ?? false })
    }
    let none: Int? = nil
    dslCheck({ $0.maybeNumber == none }, { $0.maybeNumber == none })
    dslCheck({ $0.maybeNumber == nil }, { $0.maybeNumber == nil })
    dslCheck({ $0.maybeNumber != nil }, { $0.maybeNumber != nil })
    dslCheck({ nil != $0.maybeNumber }, { nil != $0.maybeNumber })
    for value in [UInt8(0), 1, 18, 255] {
      dslCheck({ $0.byte < value }, { $0.byte < value })
      dslCheck({ $0.byte == value }, { $0.byte == value })
    }
  }

  @Test("Floating point: the zeros are equal, NaN equals nothing and is in no range")
  func floatingPoint() {
    for value in DslRow.reals {
      dslCheck({ $0.real == value }, { $0.real == value })
      dslCheck({ $0.real != value }, { $0.real != value })
      dslCheck({ $0.real < value }, { $0.real < value })
      dslCheck({ $0.real <= value }, { $0.real <= value })
      dslCheck({ $0.real > value }, { $0.real > value })
      dslCheck({ $0.real >= value }, { $0.real >= value })
      dslCheck({ !($0.real < value) }, { !($0.real < value) })
      dslCheck({ $0.maybeReal == value }, { $0.maybeReal == value })
      dslCheck({ $0.maybeReal != value }, { $0.maybeReal != value })
      dslCheck({ $0.maybeReal > value }, { $0.maybeReal.map { $0 > value } ?? false })
      dslCheck({ $0.small <= Float(value) }, { $0.small <= Float(value) })
      dslCheck({ $0.small == Float(value) }, { $0.small == Float(value) })
    }
    dslCheck({ $0.maybeReal != nil }, { $0.maybeReal != nil })
    dslCheck(
      { $0.real > 1 && $0.maybeReal <= 1.5 },
      { row in
        row.real > 1 && row.maybeReal.map { $0 <= 1.5 } ?? false
      })
  }

  @Test("Strings are equal when canonically equivalent, and in the order of their NFC bytes")
  func strings() {
    for value in DslRow.texts {
      dslCheck({ $0.text == value }, { $0.text == value })
      dslCheck({ $0.text != value }, { $0.text != value })
      dslCheck({ $0.maybeText == value }, { $0.maybeText == value })
      dslCheck({ $0.maybeText != value }, { $0.maybeText != value })
      dslCheck({ $0.text < value }, { compareNFC($0.text, value) < 0 })
      dslCheck({ $0.text >= value }, { compareNFC($0.text, value) >= 0 })
      dslCheck(
        { $0.maybeText <= value },
        { row in
          row.maybeText.map { compareNFC($0, value) <= 0 } ?? false
        })
      // Swift's `<` is consistent for all pairs of these.
      dslCheck({ $0.text < value }, { $0.text < value })
    }
  }

  @Test("Dates, data, UUIDs, URLs and booleans")
  func standardTypes() {
    for value in DslRow.dates {
      dslCheck({ $0.date == value }, { $0.date == value })
      dslCheck({ $0.date < value }, { $0.date < value })
      dslCheck({ $0.date > value }, { $0.date > value })
      dslCheck({ $0.maybeDate != value }, { $0.maybeDate != value })
      // Foundation implements `<=` as `not >`, so a date that is NaN would be in every range. Here
      // it is in none, like any NaN.
      func isOrdered(_ dates: Date?...) -> Bool {
        dates.allSatisfy { $0.map { !$0.timeIntervalSinceReferenceDate.isNaN } ?? false }
      }
      dslCheck({ $0.date >= value }, { isOrdered($0.date, value) && $0.date >= value })
      dslCheck(
        { $0.maybeDate <= value },
        { row in
          row.maybeDate.map { isOrdered($0, value) && $0 <= value } ?? false
        })
    }
    for value in DslRow.datas {
      dslCheck({ $0.data == value }, { $0.data == value })
      dslCheck({ $0.data != value }, { $0.data != value })
    }
    for value in DslRow.uuids { dslCheck({ $0.uuid == value }, { $0.uuid == value }) }
    for value in DslRow.urls { dslCheck({ $0.url != value }, { $0.url != value }) }
    for value in [true, false] {
      dslCheck({ $0.flag == value }, { $0.flag == value })
      dslCheck({ $0.maybeFlag == value }, { $0.maybeFlag == value })
      dslCheck({ $0.maybeFlag != value }, { $0.maybeFlag != value })
    }
    dslCheck({ $0.id == 7 }, { $0.id == 7 })
    dslCheck({ $0.id > 7 }, { $0.id > 7 })
  }

  @Test("A Boolean field is a condition by itself")
  func booleans() {
    dslCheck({ $0.flag }, { $0.flag })
    dslCheck({ !$0.flag }, { !$0.flag })
    dslCheck({ $0.flag && !$0.tags.isEmpty }, { $0.flag && !$0.tags.isEmpty })
    dslCheck({ !$0.flag || $0.number > 1 }, { !$0.flag || $0.number > 1 })
    dslCheck({ !(!$0.flag) }, { $0.flag })
    dslCheck({ !($0.maybeFlag == true) }, { !($0.maybeFlag == true) })
  }

  @Test("Enums and custom types, with a key and without")
  func userTypes() {
    for value in DslRole.allCases {
      dslCheck({ $0.role == value }, { $0.role == value })
      dslCheck({ $0.maybeRole != value }, { $0.maybeRole != value })
    }
    dslCheck(
      { $0.maybeRole == .owner || $0.role != .guest },
      {
        $0.maybeRole == .owner || $0.role != .guest
      })
    dslCheck({ $0.maybeRole == nil }, { $0.maybeRole == nil })
    for value in DslLevel.allCases {
      dslCheck({ $0.level < value }, { $0.level < value })
      dslCheck({ $0.level >= value }, { $0.level >= value })
    }
    for value in DslColour.allCases {
      dslCheck({ $0.colour == value }, { $0.colour == value })
      dslCheck({ $0.maybeColour == value }, { $0.maybeColour == value })
      dslCheck({ $0.maybeColour != value }, { $0.maybeColour != value })
    }
    dslCheck({ $0.maybeColour == nil }, { $0.maybeColour == nil })
    for value in DslRow.decimals {
      dslCheck({ $0.price == value }, { $0.price == value })
      dslCheck({ $0.price < value }, { $0.price < value })
      dslCheck({ value <= $0.price }, { value <= $0.price })
      dslCheck({ $0.maybePrice != value }, { $0.maybePrice != value })
      dslCheck({ $0.maybePrice >= value }, { $0.maybePrice.map { $0 >= value } ?? false })
    }
    for major in 0..<3 {
      let value = DslVersion(major: major, minor: 1)
      dslCheck({ $0.version == value }, { $0.version == value })
      dslCheck({ $0.version < value }, { $0.version < value })
      dslCheck({ $0.version >= value }, { $0.version >= value })
      dslCheck({ $0.maybeVersion > value }, { $0.maybeVersion.map { $0 > value } ?? false })
      dslCheck({ $0.maybeVersion == value }, { $0.maybeVersion == value })
    }
  }

  @Test("One field against another, with optionals on either side")
  func pairs() {
    dslCheck({ $0.number == $0.other }, { $0.number == $0.other })
    dslCheck({ $0.number != $0.other }, { $0.number != $0.other })
    dslCheck({ $0.number < $0.other }, { $0.number < $0.other })
    dslCheck({ $0.number <= $0.other }, { $0.number <= $0.other })
    dslCheck({ $0.number > $0.other }, { $0.number > $0.other })
    dslCheck({ $0.number >= $0.other }, { $0.number >= $0.other })
    dslCheck({ $0.number == $0.maybeNumber }, { $0.number == $0.maybeNumber })
    dslCheck({ $0.maybeNumber != $0.number }, { $0.maybeNumber != $0.number })
    dslCheck(
      { $0.number < $0.maybeNumber },
      { row in
        row.maybeNumber.map { row.number < $0 } ?? false
      })
    dslCheck(
      { $0.maybeNumber < $0.number },
      { row in
        row.maybeNumber.map { $0 < row.number } ?? false
      })
    dslCheck(
      { $0.maybeNumber >= $0.number },
      { row in
        row.maybeNumber.map { $0 >= row.number } ?? false
      })
    dslCheck({ $0.maybeNumber == $0.address.zip }, { $0.maybeNumber == $0.address.zip })
    dslCheck({ $0.real == $0.maybeReal }, { $0.real == $0.maybeReal })
    dslCheck(
      { $0.real <= $0.maybeReal },
      { row in
        row.maybeReal.map { row.real <= $0 } ?? false
      })
    dslCheck({ $0.text == $0.second }, { $0.text == $0.second })
    dslCheck({ $0.text == $0.maybeText }, { $0.text == $0.maybeText })
    dslCheck({ $0.text < $0.second }, { $0.text < $0.second })
    dslCheck(
      { $0.price < $0.maybePrice },
      { row in
        row.maybePrice.map { row.price < $0 } ?? false
      })
    dslCheck({ $0.price == $0.maybePrice }, { $0.price == $0.maybePrice })
    dslCheck({ $0.colour != $0.maybeColour }, { $0.colour != $0.maybeColour })
    dslCheck({ $0.flag == $0.maybeFlag }, { $0.flag == $0.maybeFlag })
    dslCheck({ $0.role == $0.maybeRole }, { $0.role == $0.maybeRole })
  }

  @Test("Ranges of all five kinds, and lists")
  func ranges() {
    dslCheck({ (1...18).contains($0.number) }, { (1...18).contains($0.number) })
    dslCheck({ (1..<18).contains($0.number) }, { (1..<18).contains($0.number) })
    dslCheck({ (1...).contains($0.number) }, { (1...).contains($0.number) })
    dslCheck({ (...18).contains($0.number) }, { (...18).contains($0.number) })
    dslCheck({ (..<18).contains($0.number) }, { (..<18).contains($0.number) })
    dslCheck({ (1..<1).contains($0.number) }, { (1..<1).contains($0.number) })
    dslCheck({ (-0.0...1).contains($0.real) }, { (-0.0...1).contains($0.real) })
    dslCheck({ (...1.5).contains($0.real) }, { (...1.5).contains($0.real) })
    dslCheck({ ("a"..<"b").contains($0.text) }, { ("a"..<"b").contains($0.text) })
    dslCheck({ (0...1).contains($0.price) }, { (0...1).contains($0.price) })
    dslCheck(
      { (0...1).contains($0.maybePrice) }, { $0.maybePrice.map { (0...1).contains($0) } ?? false })
    dslCheck(
      { (DslLevel.low ..< .high).contains($0.level) }, { (.low ..< .high).contains($0.level) })
    dslCheck(
      { (1...18).contains($0.maybeNumber) },
      { row in
        row.maybeNumber.map { (1...18).contains($0) } ?? false
      })
    dslCheck(
      { (1...).contains($0.maybeNumber) },
      { row in
        row.maybeNumber.map { (1...).contains($0) } ?? false
      })
    dslCheck({ [3, 1, 3, 18].contains($0.number) }, { [3, 1, 18].contains($0.number) })
    dslCheck({ [].contains($0.number) }, { _ in false })
    dslCheck({ ![].contains($0.number) }, { _ in true })
    dslCheck({ Set([1, 2]).contains($0.number) }, { [1, 2].contains($0.number) })
    dslCheck({ [1, 2].contains($0.number) }, { [1, 2].contains($0.number) })
    dslCheck({ [1, nil].contains($0.maybeNumber) }, { [1, nil].contains($0.maybeNumber) })
    dslCheck({ [1, 18].contains($0.maybeNumber) }, { [1, 18].contains($0.maybeNumber) })
    dslCheck({ [.nan, 0, 1.5].contains($0.real) }, { [.nan, 0, 1.5].contains($0.real) })
    dslCheck({ [.nan, nil].contains($0.maybeReal) }, { [.nan, nil].contains($0.maybeReal) })
    dslCheck(
      { ["café", "\u{212B}", ""].contains($0.text) },
      {
        ["café", "\u{212B}", ""].contains($0.text)
      })
    dslCheck({ [.guest, .owner].contains($0.role) }, { [.guest, .owner].contains($0.role) })
    dslCheck({ [.red].contains($0.colour) }, { [.red].contains($0.colour) })
    dslCheck(
      { [.red, .blue].contains($0.maybeColour) }, { [.red, .blue].contains($0.maybeColour) })
    dslCheck({ [1, nil].contains($0.maybePrice) }, { [1, nil].contains($0.maybePrice) })
    dslCheck(
      { [DslVersion(major: 1, minor: 1)].contains($0.version) },
      {
        $0.version == DslVersion(major: 1, minor: 1)
      })
  }
}
