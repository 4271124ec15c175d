import LarchTestSupport
@_spi(_Unicode) import Swift
import Testing

@testable import Larch

@Suite("Normal form C by the tables of Larch")
struct NFCTests {
  private func reference(_ text: String) -> [UInt8] {
    var scalars = String.UnicodeScalarView()
    for scalar in text._nfc { scalars.append(scalar) }
    return [UInt8](String(scalars).utf8)
  }

  @Test func `every scalar has the normal form that Swift gives it, and plain ones are plain`() {
    for value in UInt32(0)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = String(scalar)
      let normal = NFC.normalized(text)
      var forced = NFCBuffer()
      var copy = text
      copy.withUTF8 { forced.normalize(UnsafeRawBufferPointer($0)) }
      let slow = forced.withBytes { [UInt8]($0) }
      let properties = NFCData.shared.properties(of: value)
      let isPlain = text.utf8.allSatisfy { NFC.isPlain($0) }
      if normal != reference(text) || slow != normal || (isPlain && !properties.isBoundary)
        || properties.combiningClass != scalar.properties.canonicalCombiningClass.rawValue
      {
        Issue.record("U+\(String(value, radix: 16))")
        return
      }
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `random strings have Swift's normal form, and equal bytes exactly when equal`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    // Three Tibetan vowels are excluded: Swift 6.3 does not sort their decompositions (see below).
    // Scalars that can meet: all that decompose, compose backwards, or have a class.
    let active = (UInt32(0)...0x1FFFF).filter {
      !NFCData.shared.properties(of: $0).isBoundary || NFCData.shared.properties(of: $0).decomposes
    }.filter { ![0xF73, 0xF75, 0xF81].contains($0) }.compactMap(Unicode.Scalar.init)
    var previous = (text: "", bytes: [UInt8]())
    for number in 0..<150_000 {
      var view = String.UnicodeScalarView()
      for _ in 0..<(1 + random.next() % 7) {
        if random.next() % 2 == 0 {
          view.append(active[Int(random.next() % UInt64(active.count))])
        } else {
          view.append(KeySamples.scalars[Int(random.next() % UInt64(KeySamples.scalars.count))])
        }
      }
      var text = String(view)
      if number % 3 == 0 {
        // The same text, decomposed: equal in Swift, other bytes.
        var decomposed = String.UnicodeScalarView()
        for scalar in previous.text._nfd { decomposed.append(scalar) }
        text = String(decomposed)
      }
      let bytes = NFC.normalized(text)
      if bytes != reference(text) || (text == previous.text) != (bytes == previous.bytes) {
        Issue.record("seed \(seed), string \(number): \(text.unicodeScalars.map(\.value))")
        return
      }
      previous = (text, bytes)
    }
  }

  @Test func `vowels that decompose to marks are sorted as Unicode says, though Swift does not`() {
    let text = "\u{1}\u{1DC8}\u{F75}"
    #expect(NFC.normalized(text) == Array("\u{1}\u{F71}\u{F74}\u{1DC8}".utf8))
  }

  @Test func `a segment of a hundred thousand marks is put in order`() {
    let text = "a" + String(repeating: "\u{301}\u{323}", count: 50_000)
    #expect(NFC.normalized(text) == reference(text))
  }

  @Test func `bytes that are not UTF-8 are not normal, and harmless`() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<20_000 {
      let bytes = (0..<(random.next() % 12)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      bytes.withUnsafeBytes { raw in
        let isText = String(validating: raw, as: UTF8.self) != nil
        if NFC.isNormalized(raw) { #expect(isText) }
        var writer = KeyWriter()
        writer.append(stringUTF8: raw, isLast: false)
        #expect(writer.bytes.count <= 500)
      }
    }
  }

  @Test(arguments: [
    ("STRASSE", "strasse"), ("ÉCOLE", "e\u{301}cole"), ("E\u{301}cole", "école"), ("Ω", "\u{2126}"),
  ])
  func `folding makes these two the same`(first: String, second: String) {
    #expect(NFC.foldedForIndex(first) == NFC.foldedForIndex(second))
    var keys: [[UInt8]] = []
    for text in [first, second] {
      var writer = KeyWriter()
      writer.textForm = .caseInsensitive
      writer.append(string: text, isLast: true)
      keys.append([UInt8](writer.bytes))
    }
    #expect(keys[0] == keys[1])
  }
}
