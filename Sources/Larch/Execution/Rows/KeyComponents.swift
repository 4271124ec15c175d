/// Splits the keys of an index into their components, without decoding them.
///
/// It is reused for each key. Bytes that do not have the form are an error.
final class KeyComponents {
  /// The state of a component in the current key.
  enum Component {
    /// Nil.
    case null
    /// The bytes of a number, decimal or UUID, or the text or data without end marks and escapes.
    case value(UnsafeRawBufferPointer)
    /// The key is cut in it, or before it.
    case cut
  }

  private struct Part {
    var primitive: KeyForm.Primitive
    var isOptional: Bool
    /// Whether it is not simple: its values are parsed only to find its end.
    var isComplex: Bool
    var isSelfDelimiting: Bool
    /// The size of each value; 0 if it varies.
    var width: Int
    /// Whether it is a text or data that is never nil, and that others follow.
    var isEndedText: Bool
    /// Whether this text of the current key may have escapes.
    var mayHaveEscapes = true
  }

  let fields: [IndexFieldSchema]
  private let parts: UnsafeMutablePointer<Part>
  /// The end of each component; `cutEnd` if the key does not have all of it.
  private let ends: UnsafeMutablePointer<Int>
  private static let cutEnd = -1
  private let count: Int
  /// The first components that have one size in every key, so that their ends are known.
  private let fixedCount: Int
  private let fixedEnd: Int
  /// Whether the ends of these are not in `ends`, because the last key was shorter.
  @exclusivity(unchecked) private var isShort = true
  @exclusivity(unchecked) private var key = UnsafeRawBufferPointer(start: nil, count: 0)
  @exclusivity(unchecked) private var known = 0
  @exclusivity(unchecked) private var scratch: UnsafeMutableRawPointer?

  init(_ schema: IndexSchema) {
    fields = schema.fields
    count = fields.count
    parts = .allocate(capacity: max(1, count))
    ends = .allocate(capacity: max(1, count))
    var (fixedCount, fixedEnd) = (0, 0)
    for (place, field) in fields.enumerated() {
      let simple = field.form.simple
      if place == fixedCount, let simple, !simple.isOptional,
        let width = simple.primitive.keyWidth
      {
        fixedCount += 1
        fixedEnd += width
      }
      let isSelfDelimiting = simple?.primitive.isSelfDelimiting ?? false
      (parts + place).initialize(
        to: Part(
          primitive: simple?.primitive ?? .bool, isOptional: simple?.isOptional ?? false,
          isComplex: simple == nil,
          isSelfDelimiting: isSelfDelimiting,
          width: simple.flatMap { $0.isOptional ? nil : $0.primitive.keyWidth } ?? 0,
          isEndedText: simple?.isOptional == false && !isSelfDelimiting && place < fields.count - 1)
      )
    }
    (self.fixedCount, self.fixedEnd) = (fixedCount, fixedEnd)
  }

  deinit {
    parts.deallocate()
    ends.deallocate()
    scratch?.deallocate()
  }

  /// Starts with another key, which must not move meanwhile.
  @inline(__always)
  func open(_ key: UnsafeRawBufferPointer) {
    self.key = key
    known = 0
    if fixedCount > 0 { skipFixed() }
  }

  @inline(__always)
  private func skipFixed() {
    guard key.count >= fixedEnd else {
      isShort = true
      return
    }
    if isShort { writeFixedEnds() }
    known = fixedCount
  }

  @inline(never)
  private func writeFixedEnds() {
    var end = 0
    for place in 0..<fixedCount {
      end += parts[place].primitive.keyWidth ?? 0
      ends[place] = end
    }
    isShort = false
  }

  /// The bytes of the first components; nil if the key is cut in them.
  func prefix(_ components: Int) throws -> UnsafeRawBufferPointer? {
    if components == 0 { return UnsafeRawBufferPointer(rebasing: key[0..<0]) }
    let end = try self.end(of: components - 1)
    return end < 0 ? nil : UnsafeRawBufferPointer(rebasing: key[0..<end])
  }

  /// A simple component.
  @inline(__always)
  func component(_ place: Int) throws -> Component {
    while known <= place { try findEnd() }
    let part = parts + place
    guard part.pointee.width > 0, ends[place] >= 0, let start = key.baseAddress else {
      return try variedComponent(place)
    }
    let width = part.pointee.width
    return .value(UnsafeRawBufferPointer(start: start + (ends[place] &- width), count: width))
  }

  /// A component that may be nil, or whose size is not the same in all keys.
  private func variedComponent(_ place: Int) throws -> Component {
    let end = try end(of: place)
    if end < 0 { return .cut }
    var start = place == 0 ? 0 : ends[place - 1]
    let part = parts[place]
    if part.isComplex { return .cut }
    if part.isOptional {
      if key[start] == 0 { return .null }
      start += 1
    }
    if part.isSelfDelimiting {
      return .value(UnsafeRawBufferPointer(rebasing: key[start..<end]))
    }
    start += 1
    if place == count - 1 { return .value(UnsafeRawBufferPointer(rebasing: key[start..<end])) }
    let text = UnsafeRawBufferPointer(rebasing: key[start..<end - 2])
    return .value(part.mayHaveEscapes ? unescaped(text) : text)
  }

  private func end(of place: Int) throws -> Int {
    while known <= place { try findEnd() }
    return ends[place]
  }

  /// Finds the end of the next component.
  private func findEnd() throws {
    let start = known == 0 ? 0 : ends[known &- 1]
    let part = parts + known
    let width = part.pointee.width
    if width > 0, start >= 0, start &+ width <= key.count {
      ends[known] = start &+ width
    } else if part.pointee.isEndedText, let end = endOfPlainText(from: start) {
      ends[known] = end
      part.pointee.mayHaveEscapes = false
    } else {
      part.pointee.mayHaveEscapes = true
      ends[known] =
        start < 0
        ? KeyComponents.cutEnd : try end(from: start, parts[known], isLast: known == count - 1)
    }
    known &+= 1
  }

  /// The end of a text without escapes; nil if it must be looked at more closely.
  @inline(__always)
  private func endOfPlainText(from start: Int) -> Int? {
    guard start >= 0, start < key.count, let base = key.baseAddress,
      base.load(fromByteOffset: start, as: UInt8.self) == 1,
      let size = UnsafeRawBufferPointer(
        start: base + (start &+ 1), count: key.count &- start &- 1
      ).firstZero
    else { return nil }
    let end = start &+ size &+ 3
    guard end <= key.count, base.load(fromByteOffset: end &- 1, as: UInt8.self) == 0 else {
      return nil
    }
    return end
  }

  private func end(from start: Int, _ part: Part, isLast: Bool) throws -> Int {
    if part.isComplex {
      var offset = start
      return try end(of: fields[known].form, &offset, isLast: isLast) ? offset : Self.cutEnd
    }
    var offset = start
    return try end(of: part.primitive, isOptional: part.isOptional, &offset, isLast)
      ? offset : Self.cutEnd
  }

  /// False if the key is cut before the end.
  private func end(of form: KeyForm, _ offset: inout Int, isLast: Bool) throws -> Bool {
    switch form.node {
    case .primitive(let primitive):
      return try end(of: primitive, isOptional: false, &offset, isLast)
    case .optional(let wrapped):
      guard offset < key.count else { return try endsCut() }
      offset += 1
      if key[offset - 1] == 0 { return true }
      return try end(of: wrapped, &offset, isLast: isLast)
    case .composite(let parts):
      for (place, part) in parts.enumerated()
      where !(try end(of: part, &offset, isLast: isLast && place == parts.count - 1)) {
        return false
      }
      return true
    }
  }

  private func end(
    of primitive: KeyForm.Primitive, isOptional: Bool, _ offset: inout Int, _ isLast: Bool
  ) throws -> Bool {
    if isOptional {
      guard offset < key.count else { return try endsCut() }
      offset += 1
      switch key[offset - 1] {
      case 0: return true
      case 1: break
      default: throw Self.damaged
      }
    }
    if let width = primitive.keyWidth {
      offset += width
      return try offset <= key.count || endsCut()
    }
    if primitive == .decimal {
      switch DecimalDigits.end(ofKey: key, from: offset) {
      case .at(let end): offset = end
      case .missing: return try endsCut()
      case .none: throw Self.damaged
      }
      return true
    }
    guard offset < key.count else { return try endsCut() }
    guard key[offset] == 1 else { throw Self.damaged }
    offset += 1
    let start = offset
    if isLast {
      offset = key.count
      return key.count - start < KeyWriter.componentLimit && key.count < KeyWriter.keyLimit
    }
    while let zero = find(zeroFrom: offset), zero + 1 < key.count {
      offset = zero + 2
      if key[zero + 1] == 0 { return true }
      guard key[zero + 1] == 0xFF else { throw Self.damaged }
    }
    guard key.count - start >= KeyWriter.componentLimit else { return try endsCut() }
    return false
  }

  private func find(zeroFrom offset: Int) -> Int? {
    UnsafeRawBufferPointer(rebasing: key[offset...]).firstZero.map { offset + $0 }
  }

  /// The bytes end inside a value: valid only if the writer cuts all keys.
  private func endsCut() throws -> Bool {
    guard key.count == KeyWriter.keyLimit else { throw Self.damaged }
    return false
  }

  private func unescaped(_ payload: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard payload.firstZero != nil else { return payload }
    let target = scratch ?? .allocate(byteCount: KeyWriter.keyLimit, alignment: 8)
    scratch = target
    var size = 0
    var place = 0
    while place < payload.count, size < KeyWriter.keyLimit {
      target.storeBytes(of: payload[place], toByteOffset: size, as: UInt8.self)
      place += payload[place] == 0 ? 2 : 1
      size += 1
    }
    return UnsafeRawBufferPointer(start: target, count: size)
  }

  private static var damaged: LarchError {
    LarchError(
      .corrupted, "A key of an index does not have the form of the index; rebuild the indexes.")
  }
}
