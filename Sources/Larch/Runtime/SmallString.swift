internal import Foundation

/// Strings of up to 15 bytes, which Swift keeps inside the 16 bytes of the `String` itself, and the mark
/// of longer ones that are ASCII.
///
/// Swift does not promise the direct form: it is compared with the library's own strings once per
/// process, and if it differs, every string is made by the library.
enum SmallString {
  /// Top byte of the second word: immortal, ASCII, small; the low four bits are the count.
  static let asciiTag: UInt64 = 0xE000_0000_0000_0000
  static let smallBit: UInt64 = 0x2000_0000_0000_0000

  /// Whether this Swift uses the direct form. Found out once.
  static let isTrusted = RuntimeFeature.smallString.passes(selfTest)

  /// A string of valid UTF-8 bytes, or nil if they are not valid.
  ///
  /// The repairing initializer and a comparison are several times faster than the validating one. ASCII
  /// needs no comparison. In long text the library looks for other bytes anyway, and marks what it made.
  static func text(_ utf8: UnsafeRawBufferPointer) -> String? {
    let text = String(decoding: utf8, as: UTF8.self)
    if utf8.count < 128 ? utf8.isASCII : isTrusted && isMarked(text, utf8.count) { return text }
    let isUnchanged = text.utf8.withContiguousStorageIfAvailable { ours in
      guard ours.count == utf8.count, let left = ours.baseAddress, let right = utf8.baseAddress
      else { return ours.count == utf8.count }
      return memcmp(left, right, utf8.count) == 0
    }
    return isUnchanged ?? text.utf8.elementsEqual(utf8) ? text : nil
  }

  /// A string of ASCII bytes; nil if there are others.
  @inline(__always)
  static func ascii(_ bytes: UnsafeRawBufferPointer) -> String? {
    if isTrusted, let start = bytes.baseAddress, let words = words(start, bytes.count) {
      // The self-test has shown that these words are a string.
      return unsafeBitCast(words, to: String.self)
    }
    return bytes.isASCII ? String(decoding: bytes, as: UTF8.self) : nil
  }

  /// Whether the library has marked a string that is not small as one of so many ASCII bytes. What replaces
  /// bytes that are no UTF-8 is not ASCII.
  @inline(__always)
  static func isMarked(_ text: String, _ count: Int) -> Bool {
    let (first, second) = rawWords(text)
    return first & asciiMark != 0 && first & countMask == UInt64(truncatingIfNeeded: count)
      && second & smallBit == 0
  }

  private static let asciiMark: UInt64 = 1 << 63
  private static let countMask: UInt64 = 1 << 48 - 1

  /// The two words of a small ASCII string; nil if it is longer or not ASCII.
  @inline(__always)
  static func words(_ start: UnsafeRawPointer, _ count: Int) -> (UInt64, UInt64)? {
    var low: UInt64 = 0
    var high: UInt64 = 0
    // Overlapping loads cover the bytes without reading past either end.
    if count >= 8 {
      guard count <= 15 else { return nil }
      low = load64(start)
      high = load64(start + (count &- 8))
      high = count == 8 ? 0 : high &>> UInt64(truncatingIfNeeded: (16 &- count) &* 8)
    } else if count >= 4 {
      let tail = UInt64((start + (count &- 4)).loadUnaligned(as: UInt32.self).littleEndian)
      low =
        UInt64(start.loadUnaligned(as: UInt32.self).littleEndian)
        | tail &<< UInt64(truncatingIfNeeded: (count &- 4) &* 8)
    } else if count > 0 {
      low = UInt64(start.load(as: UInt8.self))
      let middle = count &>> 1
      low |=
        UInt64(start.load(fromByteOffset: middle, as: UInt8.self))
        &<< UInt64(truncatingIfNeeded: middle &* 8)
      low |=
        UInt64(start.load(fromByteOffset: count &- 1, as: UInt8.self))
        &<< UInt64(truncatingIfNeeded: (count &- 1) &* 8)
    }
    guard (low | high) & 0x8080_8080_8080_8080 == 0 else { return nil }
    return (low, high | asciiTag | UInt64(truncatingIfNeeded: count) &<< 56)
  }

  @inline(__always)
  private static func load64(_ pointer: UnsafeRawPointer) -> UInt64 {
    pointer.loadUnaligned(as: UInt64.self).littleEndian
  }

  private static func selfTest() -> Bool {
    guard MemoryLayout<String>.size == 16, MemoryLayout<String?>.size == 16,
      1.littleEndian == 1
    else { return false }
    for count in 0...16 {
      // Built at run time, like strings from a file.
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: 0x7F &- $0 &* 7) }
      let text = String(decoding: bytes, as: UTF8.self)
      let optional: String? = text
      let actual = rawWords(text)
      guard rawWords(optional) == actual else { return false }
      let direct = bytes.withUnsafeBytes { buffer -> (UInt64, UInt64)? in
        guard let start = buffer.baseAddress else { return (0, asciiTag) }
        return words(start, count)
      }
      if count == 16 {
        guard direct == nil, actual.1 & smallBit == 0, actual.1 != 0 else { return false }
      } else {
        // These words were just found to be those that the runtime made for this text.
        guard let direct, direct == actual, unsafeBitCast(direct, to: String.self) == text else {
          return false
        }
      }
    }
    // Long, with another byte at no place, at each end and in the middle.
    for count in [16, 17, 128, 4099] {
      for place in [-1, 0, count / 2, count - 3] {
        var bytes = [UInt8](repeating: 0x61, count: count)
        if place >= 0 { bytes.replaceSubrange(place..<place + 2, with: [0xC3, 0xA9]) }
        let text = String(decoding: bytes, as: UTF8.self)
        guard isMarked(text, count) == (place < 0), !isMarked(text, count + 1) else { return false }
        if place < 0 { continue }
        // Three bytes, which three replace.
        bytes = [UInt8](repeating: 0x61, count: count)
        bytes.replaceSubrange(place..<place + 3, with: [0xF0, 0x9F, 0x98])
        if isMarked(String(decoding: bytes, as: UTF8.self), count) { return false }
      }
    }
    // Small but not ASCII: another tag, with bytes and count at the same place.
    let accent = String(decoding: [0xC3, 0xA9, 0x61] as [UInt8], as: UTF8.self)
    guard rawWords(accent) == (0x61A9C3, 0xA300_0000_0000_0000) else { return false }
    return rawWords(String?.none).1 == 0
  }

  private static func rawWords<Text>(_ text: Text) -> (UInt64, UInt64) {
    withUnsafeBytes(of: text) { $0.load(as: (UInt64, UInt64).self) }
  }
}
