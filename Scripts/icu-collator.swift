// The collators of ICU in this machine's Foundation, for the generators beside this file:
// `Scripts/generate.sh` puts it behind those of collations.

import _FoundationICU

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

func complain(_ text: String) { fputs(text + "\n", stderr) }

/// A collation element: what a letter weighs at the first, the second and the third level.
struct Element: Hashable {
  var primary: UInt32
  var secondary: UInt32
  var tertiary: UInt32
}

let common: UInt32 = 0x500

final class Collator {
  private let collator: OpaquePointer

  init(_ locale: String) {
    var status = U_ZERO_ERROR
    collator = swift_ucol_open(locale, &status)!
  }

  /// Negative, zero or positive.
  func compare(_ first: [UInt32], _ second: [UInt32]) -> Int {
    let a = Collator.units(first)
    let b = Collator.units(second)
    return Int(swift_ucol_strcoll(collator, a, Int32(a.count), b, Int32(b.count)).rawValue)
  }

  /// Makes it compare texts that are not in a normal form too.
  func normalize() {
    var status = U_ZERO_ERROR
    swift_ucol_setAttribute(collator, UCOL_NORMALIZATION_MODE, UCOL_ON, &status)
  }

  private static func units(_ scalars: [UInt32]) -> [UInt16] {
    scalars.flatMap { Array(UTF16.encode(Unicode.Scalar($0)!)!) }
  }

  func attribute(_ which: UColAttribute) -> UColAttributeValue {
    var status = U_ZERO_ERROR
    return swift_ucol_getAttribute(collator, which, &status)
  }

  /// The scripts that come first, in order.
  func reordered() -> [Int32] {
    var status = U_ZERO_ERROR
    var codes = [Int32](repeating: 0, count: 256)
    let count = swift_ucol_getReorderCodes(collator, &codes, 256, &status)
    return Array(codes.prefix(Int(count)))
  }

  func elements(_ scalars: [UInt32]) -> [Element] {
    let text = Collator.units(scalars)
    var status = U_ZERO_ERROR
    let iterator = swift_ucol_openElements(collator, text, Int32(text.count), &status)
    defer { swift_ucol_closeElements(iterator) }
    var halves: [UInt32] = []
    while true {
      let next = swift_ucol_next(iterator, &status)
      if next == -1 { break }
      halves.append(UInt32(bitPattern: next))
    }
    // An element is one number of 32 bits, or two, the second of which has two bits set.
    var found: [Element] = []
    var place = 0
    while place < halves.count {
      let first = halves[place]
      var element = Element(
        primary: first & 0xFFFF_0000, secondary: first & 0xFF00, tertiary: (first & 0xFF) << 8)
      place += 1
      if place < halves.count, halves[place] & 0xC0 == 0xC0 {
        element.primary |= halves[place] >> 16
        element.secondary |= halves[place] >> 8 & 0xFF
        element.tertiary |= halves[place] & 0x3F
        place += 1
      }
      if element != Element(primary: 0, secondary: 0, tertiary: 0) { found.append(element) }
    }
    return found
  }

  /// The scalars and the sequences for which the collator has rules of its own.
  func tailored() -> [[UInt32]] {
    var status = U_ZERO_ERROR
    return Collator.items(swift_ucol_getTailoredSet(collator, &status)!)
  }

  /// The sequences that weigh otherwise than their scalars.
  func contractions() -> [[UInt32]] {
    var status = U_ZERO_ERROR
    let set = swift_uset_openEmpty()!
    let other = swift_uset_openEmpty()!
    swift_ucol_getContractionsAndExpansions(collator, set, other, 1, &status)
    return Collator.items(set)
  }

  private static func items(_ set: OpaquePointer) -> [[UInt32]] {
    var all: [[UInt32]] = []
    for place in 0..<swift_uset_getItemCount(set) {
      var status = U_ZERO_ERROR
      var first: UChar32 = 0
      var last: UChar32 = 0
      var text = [UInt16](repeating: 0, count: 256)
      let count = swift_uset_getItem(set, place, &first, &last, &text, 256, &status)
      if count == 0 {
        for scalar in UInt32(first)...UInt32(last) where Unicode.Scalar(scalar) != nil {
          all.append([scalar])
        }
      } else {
        let string = String(decoding: text.prefix(Int(count)), as: UTF16.self)
        all.append(string.unicodeScalars.map(\.value))
      }
    }
    // The data mark the starts of scripts by sequences with scalars that no text has.
    return all.filter { !$0.contains { (0xFDD0...0xFDEF).contains($0) } }
  }
}

func decomposed(_ scalars: [UInt32]) -> [UInt32] {
  var text = ""
  for scalar in scalars { text.unicodeScalars.append(Unicode.Scalar(scalar)!) }
  return text._nfd.map(\.value)
}

func combiningClass(_ scalar: UInt32) -> UInt8 {
  Unicode.Scalar(scalar)!.properties.canonicalCombiningClass.rawValue
}
