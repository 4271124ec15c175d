internal import Foundation

/// Normalization form C of UTF-8, with Larch's own tables: the bytes of string keys must not depend
/// on the operating system, and equality of these bytes is Swift's equality of strings.
enum NFC {
  /// The version of Unicode that the tables are from. It is part of the file format.
  static let unicodeVersion = NFCTables.unicodeVersion

  /// One bit for each lead byte whose scalars are in normal form in any context: below CC (ASCII,
  /// Latin), CF to D1 and D3 to D5 (Greek symbols, Cyrillic, Armenian), DA, DE, most of CJK, and
  /// the planes beyond the first three. The test proves it over all scalars.
  @inline(__always)
  static func isPlain(_ byte: UInt8) -> Bool {
    if byte < 0xCC { return true }
    let bit = UInt64(1) << UInt64(byte & 63)
    return plainLeads & bit != 0
  }

  private static let plainLeads: UInt64 = 0x001E_7BF0_443B_8000

  /// Whether the first `count` bytes contain only scalars that are in normal form in any context.
  @inline(__always)
  static func isPlain(_ start: UnsafeRawPointer, count: Int) -> Bool {
    var offset = 0
    while offset &+ 8 <= count {
      let word = (start + offset).loadUnaligned(as: UInt64.self)
      if word & 0x8080_8080_8080_8080 != 0 { break }
      offset &+= 8
    }
    while offset < count {
      if !isPlain((start + offset).load(as: UInt8.self)) { return false }
      offset &+= 1
    }
    return true
  }

  /// Whether UTF-8 is in normal form. Bytes that are not UTF-8 are not.
  static func isNormalized(_ utf8: UnsafeRawBufferPointer) -> Bool {
    guard let start = utf8.baseAddress, !utf8.isEmpty else { return true }
    guard String(validating: utf8, as: UTF8.self) != nil else { return false }
    if isPlain(start, count: utf8.count) { return true }
    var buffer = NFCBuffer()
    buffer.normalize(utf8)
    return buffer.withBytes {
      // Not empty, as the text is not, so it has an address.
      $0.count == utf8.count && memcmp($0.baseAddress!, start, $0.count) == 0
    }
  }

  /// The bytes of the normal form.
  static func normalized(_ text: String) -> [UInt8] {
    var text = text
    return text.withUTF8 { utf8 in
      let raw = UnsafeRawBufferPointer(utf8)
      guard let start = raw.baseAddress, !isPlain(start, count: raw.count) else {
        return [UInt8](raw)
      }
      var buffer = NFCBuffer()
      buffer.normalize(raw)
      return buffer.withBytes { [UInt8]($0) }
    }
  }

  /// The text whose key represents `text` in an index that ignores case: the normal form of the
  /// lower-case form of the normal form. Filters that ignore case compare it too.
  static func foldedForIndex(_ text: String) -> String {
    var text = text
    let isASCII = text.withUTF8 { $0.allSatisfy { $0 < 0x80 } }
    if isASCII { return text.lowercased() }
    let lower = String(decoding: normalized(text), as: UTF8.self).lowercased()
    return String(decoding: normalized(lower), as: UTF8.self)
  }
}

extension NFC {
  /// The form of `foldedForIndex`, with full case folding and without the marks of Latin, Greek and Cyrillic
  /// letters: the rules of words, for a whole text.
  static func foldedWithoutMarks(_ text: String) -> String {
    let lower = foldedForIndex(text)
    if lower.utf8.allSatisfy({ $0 < 0x80 }) { return lower }
    let data = WordData.of(keepsMarks: false)
    var folded = String.UnicodeScalarView()
    var dropsMarks = false
    for scalar in lower.unicodeScalars {
      let entry = data.entry(of: scalar.value)
      if entry.role == .mark {
        if dropsMarks { continue }
      } else if entry.role != .ignored {
        // A joiner between a letter and its mark is no letter.
        dropsMarks = entry.losesMarks
      }
      data.forEachFolded(scalar.value, entry) { value in
        // The tables have scalars alone.
        if let scalar = Unicode.Scalar(value) { folded.append(scalar) }
      }
    }
    return String(decoding: normalized(String(folded)), as: UTF8.self)
  }
}

/// The only order of strings in Larch: that of their NFC bytes. Negative, zero or positive.
///
/// Index, filter, sort, minimum and maximum all use it. It is Swift's order, except for the few
/// pairs in which Swift's order contradicts itself.
func compareNFC(_ first: String, _ second: String) -> Int {
  var first = first
  var second = second
  let plain: Int? = first.withUTF8 { a in
    second.withUTF8 { b in
      let a = UnsafeRawBufferPointer(a)
      let b = UnsafeRawBufferPointer(b)
      if let start = a.baseAddress, !NFC.isPlain(start, count: a.count) { return nil }
      if let start = b.baseAddress, !NFC.isPlain(start, count: b.count) { return nil }
      return compareBytes(a, b)
    }
  }
  if let plain { return plain }
  let a = NFC.normalized(first)
  let b = NFC.normalized(second)
  return a.withUnsafeBytes { a in b.withUnsafeBytes { b in compareBytes(a, b) } }
}

/// Order of LMDB keys: bytes first, then length.
func compareBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
  let common = min(a.count, b.count)
  if common > 0, let left = a.baseAddress, let right = b.baseAddress {
    let order = memcmp(left, right, common)
    if order != 0 { return Int(order) }
  }
  return a.count - b.count
}
