internal import Foundation

/// Writes the bytes of keys, so that the order of bytes is the order of values.
///
/// You never call it: index keys are made by Larch from standard values, also those of your own
/// types (see ``IndexKey``).
///
/// The bytes, component after component:
///
/// - Optional: `00` for nil; `01`, then the value.
/// - Bool: `00` or `01`. Signed integers: big-endian in their own width with the sign bit turned,
///   Int with 8 bytes. Unsigned integers: big-endian. UUID: its 16 bytes.
/// - Double, Float, big-endian: `-0.0` as `0.0`; the sign bit set if it was clear, else all bits
///   turned. Every NaN is `FF…FF`, after positive infinity. Date: the seconds since 2001 as Double.
/// - Decimal: its power of 100, then pairs of digits, see `DecimalDigits`.
/// - String: `01`, then UTF-8 in normal form C. Data: `01`, then the bytes. In the last component
///   of a key they end with the key; in all others `00` is written `00 FF` and `00 00` ends them.
///
/// Long keys are cut:
///
/// - If the bytes of a String or Data after its `01`, escaped but without the end, are 128 or
///   more, only the first 128 stay (129 where the 128th is the first half of `00 FF`) and the key
///   ends there. So a component of less than 128 bytes is whole, all others are taken for cut.
/// - If a key would have 500 bytes or more, only the first 500 stay, wherever that is.
///
/// Between keys that are not cut, equal bytes mean equal values, and bytes sort as values do. A
/// cut key is not equal to any that is not cut. With cut keys, values in order have keys in order
/// or equal keys: what is found by a cut key has to be checked on the record.
public struct KeyWriter: ~Copyable {
  /// A String or Data of this many bytes is cut.
  static let componentLimit = 128
  /// A key of this many bytes is cut.
  static let keyLimit = 500

  private let base: UnsafeMutableRawPointer
  private(set) var count = 0
  /// The limit of the key; zero once it is cut, so that one comparison guards each append.
  private var end = KeyWriter.keyLimit
  /// Whether a component was nil, or NaN, since the last `clear`: such a key never conflicts with
  /// another.
  private(set) var hasNil = false
  /// The form in which strings are written.
  var textForm = TextForm.exact
  private var buffer = NFCBuffer()
  /// All appended values in full, each with its length, if requested: they distinguish values whose
  /// cut keys are equal.
  private var whole: [UInt8] = []
  private let keepsWhole: Bool
  /// Made for the first text of a collation.
  private var collationKeys: CollationKeys?

  // A whole id, or a key at its limit followed by the longest component.
  private static let capacity = 768

  package init(keepsWhole: Bool = false) {
    self.keepsWhole = keepsWhole
    base = .allocate(byteCount: Self.capacity, alignment: 16)
  }

  deinit { base.deallocate() }

  /// Begins a new key. `textForm` stays.
  package mutating func clear() {
    count = 0
    end = Self.keyLimit
    hasNil = false
    if keepsWhole { whole.removeAll(keepingCapacity: true) }
  }

  /// All appended values, if the writer keeps them.
  func withWhole<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try whole.withUnsafeBytes(body)
  }

  @inline(never)
  private mutating func keep(_ bytes: UnsafeRawBufferPointer, isVariable: Bool) {
    if isVariable {
      withUnsafeBytes(of: bytes.count) { whole.append(contentsOf: $0) }
    }
    whole.append(contentsOf: bytes)
  }

  /// Whether values are missing at the end of the key: it stands for all keys with this beginning.
  var isCut: Bool { end == 0 }

  /// The key so far, valid until the next change of the writer.
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try body(bytes)
  }

  /// A position for `rewind`, for indexes with several entries that begin with the same bytes.
  struct Mark {
    fileprivate let count: Int
    fileprivate let end: Int
    fileprivate let hasNil: Bool
    fileprivate let wholeCount: Int
  }

  var mark: Mark { Mark(count: count, end: end, hasNil: hasNil, wholeCount: whole.count) }

  /// Removes everything appended since the mark.
  mutating func rewind(to mark: Mark) {
    count = mark.count
    end = mark.end
    hasNil = mark.hasNil
    if keepsWhole { whole.removeLast(whole.count - mark.wholeCount) }
  }

  // MARK: Fixed widths

  @inline(__always)
  private mutating func append<T: FixedWidthInteger>(bits: T) {
    if keepsWhole { withUnsafeBytes(of: bits) { keep($0, isVariable: false) } }
    (base + count).storeBytes(of: bits.bigEndian, as: T.self)
    advance(MemoryLayout<T>.size)
  }

  /// Accepts bytes that were stored after the key: all of them, those up to the limit, or none.
  @inline(__always)
  private mutating func advance(_ size: Int) {
    if count &+ size < end { count &+= size } else { cut(after: size) }
  }

  @inline(never)
  private mutating func cut(after size: Int) {
    if end != 0 { count = min(count + size, Self.keyLimit) }
    end = 0
  }

  mutating func append(int8 value: Int8) { append(bits: UInt8(bitPattern: value) ^ 0x80) }
  mutating func append(int16 value: Int16) { append(bits: UInt16(bitPattern: value) ^ 0x8000) }
  mutating func append(int32 value: Int32) {
    append(bits: UInt32(bitPattern: value) ^ 0x8000_0000)
  }
  package mutating func append(int64 value: Int64) {
    append(bits: UInt64(bitPattern: value) ^ 0x8000_0000_0000_0000)
  }
  mutating func append(uint8 value: UInt8) { append(bits: value) }
  mutating func append(uint16 value: UInt16) { append(bits: value) }
  mutating func append(uint32 value: UInt32) { append(bits: value) }
  package mutating func append(uint64 value: UInt64) { append(bits: value) }
  mutating func append(bool value: Bool) { append(bits: UInt8(value ? 1 : 0)) }

  mutating func append(double value: Double) {
    if value.isNaN {
      hasNil = true
      return append(bits: UInt64.max)
    }
    let bits = (value + 0).bitPattern
    append(bits: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
  }

  mutating func append(float value: Float) {
    if value.isNaN {
      hasNil = true
      return append(bits: UInt32.max)
    }
    let bits = (value + 0).bitPattern
    append(bits: bits >> 31 == 0 ? bits | 1 << 31 : ~bits)
  }

  /// A date, by its seconds since the reference date.
  mutating func append(date seconds: Double) { append(double: seconds) }

  /// The 16 bytes of a UUID.
  package mutating func append(uuid bytes: UnsafeRawBufferPointer) {
    if keepsWhole { keep(bytes, isVariable: true) }
    let size = min(bytes.count, 16)
    if let start = bytes.baseAddress { memcpy(base + count, start, size) }
    advance(size)
  }

  mutating func append(decimal digits: DecimalDigits) {
    digits.withKey { append(decimal: $0) }
  }

  /// The bytes of a ``DecimalKey``.
  mutating func append(decimal key: UnsafeRawBufferPointer) {
    if keepsWhole { keep(key, isVariable: true) }
    let size = min(key.count, DecimalDigits.keyLimit)
    if let start = key.baseAddress { memcpy(base + count, start, size) }
    advance(size)
  }

  mutating func appendNil() {
    hasNil = true
    append(bits: UInt8(0))
  }

  /// Writes the mark before an optional that has a value.
  mutating func appendPresent() { append(bits: UInt8(1)) }

  // MARK: Strings and data

  /// Text in UTF-8, which need not be in normal form.
  mutating func append(stringUTF8 utf8: UnsafeRawBufferPointer, isLast: Bool) {
    if textForm.isFolded { return append(foldedStringUTF8: utf8, isLast: isLast, isEnded: true) }
    append(unfolded: utf8, isLast: isLast, isEnded: true)
  }

  /// Text in the form of an index that does not have the texts themselves.
  @inline(never)
  private mutating func append(
    foldedStringUTF8 utf8: UnsafeRawBufferPointer, isLast: Bool, isEnded: Bool
  ) {
    if let collation = textForm.collation {
      let keys = collationKeys ?? CollationKeys()
      collationKeys = keys
      let key = keys.key(of: utf8, collation, limit: Self.componentLimit)
      // The text: whoever wants an order of whole values makes the sort key of it.
      if keepsWhole { keep(utf8, isVariable: true) }
      return append(payload: key, isLast: isLast, isEnded: isEnded)
    }
    var folded = textForm.folded(String(decoding: utf8, as: UTF8.self))
    folded.withUTF8 {
      append(unfolded: UnsafeRawBufferPointer($0), isLast: isLast, isEnded: isEnded)
    }
  }

  /// Writes the beginning of the keys of all strings with this prefix.
  mutating func append(stringPrefixUTF8 utf8: UnsafeRawBufferPointer, isLast: Bool) {
    if textForm.isFolded { return append(foldedStringUTF8: utf8, isLast: isLast, isEnded: false) }
    append(unfolded: utf8, isLast: isLast, isEnded: false)
  }

  mutating func append(data: UnsafeRawBufferPointer, isLast: Bool) {
    if keepsWhole { keep(data, isVariable: true) }
    append(payload: data, isLast: isLast, isEnded: true)
  }

  /// Writes the beginning of the keys of all data with this prefix.
  mutating func append(dataPrefix data: UnsafeRawBufferPointer, isLast: Bool) {
    append(payload: data, isLast: isLast, isEnded: false)
  }

  mutating func append(string: String, isLast: Bool) {
    var string = string
    string.withUTF8 { append(stringUTF8: UnsafeRawBufferPointer($0), isLast: isLast) }
  }

  /// Text that is not folded even in an index that ignores case.
  mutating func append(exactString: String, isLast: Bool) {
    var string = exactString
    string.withUTF8 {
      append(unfolded: UnsafeRawBufferPointer($0), isLast: isLast, isEnded: true)
    }
  }

  private mutating func append(unfolded utf8: UnsafeRawBufferPointer, isLast: Bool, isEnded: Bool) {
    if keepsWhole {
      NFC.normalized(String(decoding: utf8, as: UTF8.self)).withUnsafeBytes {
        keep($0, isVariable: true)
      }
    }
    // A plain scalar may still compose with the next one, but not with earlier ones: so with eight
    // more plain bytes than are kept, all kept bytes are final.
    let looked = min(utf8.count, Self.componentLimit + 8)
    guard let start = utf8.baseAddress, !NFC.isPlain(start, count: looked) else {
      return append(payload: utf8, isLast: isLast, isEnded: isEnded)
    }
    append(normalizing: utf8, isLast: isLast, isEnded: isEnded)
  }

  @inline(never)
  private mutating func append(
    normalizing utf8: UnsafeRawBufferPointer, isLast: Bool, isEnded: Bool
  ) {
    buffer.normalize(utf8, limit: Self.componentLimit + 1)
    let normal = buffer.borrowedBytes
    append(payload: normal, isLast: isLast, isEnded: isEnded)
  }

  private mutating func append(payload: UnsafeRawBufferPointer, isLast: Bool, isEnded: Bool) {
    if end == 0 { return }
    // Everything below the key limit plus one whole component is within bounds: see `capacity`.
    (base + count).storeBytes(of: 1, as: UInt8.self)
    let target = base + count + 1
    let limit = Self.componentLimit
    var size = min(payload.count, limit)
    if let start = payload.baseAddress { memcpy(target, start, size) }
    if !isLast {
      if memchr(target, 0, size) != nil { size = escape(payload, to: target) }
      if size < limit, isEnded {
        (target + size).storeBytes(of: 0, as: UInt16.self)
        return advance(size + 3)
      }
    }
    if size < limit { return advance(size + 1) }
    cut(after: size + 1)
  }

  /// The number of bytes, which is `componentLimit` or one more if the component must be cut.
  private func escape(_ payload: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Int
  {
    var size = 0
    for byte in payload {
      if size >= Self.componentLimit { break }
      (target + size).storeBytes(of: byte, as: UInt8.self)
      size += 1
      if byte == 0 {
        (target + size).storeBytes(of: 0xFF, as: UInt8.self)
        size += 1
      }
    }
    return size
  }

  // MARK: Ids

  /// Writes a string id in normal form. False if it is too long for a key: only its beginning is
  /// written, longer than any id.
  package mutating func append(idString: String) -> Bool {
    var text = idString
    return text.withUTF8 { append(idStringUTF8: UnsafeRawBufferPointer($0)) }
  }

  /// Writes a string id from UTF-8. False like the other.
  mutating func append(idStringUTF8 utf8: UnsafeRawBufferPointer) -> Bool {
    var source = utf8
    if let start = utf8.baseAddress, !NFC.isPlain(start, count: utf8.count) {
      buffer.normalize(utf8, limit: Self.keyLimit + 1)
      source = buffer.borrowedBytes
    }
    let length = min(source.count, Self.keyLimit + 1)
    base.storeBytes(of: 1, as: UInt8.self)
    if let start = source.baseAddress { memcpy(base + 1, start, length) }
    count = length + 1
    return length <= Self.keyLimit
  }
}
