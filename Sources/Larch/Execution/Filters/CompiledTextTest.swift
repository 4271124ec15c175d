/// A `TextTest` on the bytes of a stored text.
///
/// In ASCII text every byte is a character, except CR LF, which is one. Other text is tested as a
/// Swift `String`, unless its first bytes already decide.
final class CompiledTextTest {
  private let test: TextTest
  private let isFolded: Bool
  /// The text to find, in normal form, folded if the test ignores case.
  private let wanted: [UInt8]
  /// Whether `wanted` is all ASCII without CR.
  private let isPlain: Bool
  private let pattern: [PatternStep]

  private enum PatternStep {
    case any, one
    case byte(UInt8)
  }

  /// - Parameter isFolded: whether the tested texts are in the form of the test already. To fold them
  ///   again could change them: a micro sign keeps its marks, and becomes a letter that loses them.
  init(_ test: TextTest, isFolded: Bool = false) {
    self.test = test
    self.isFolded = isFolded
    wanted = NFC.normalized(test.wanted)
    isPlain = wanted.allSatisfy { $0 < 0x80 && $0 != 0x0D }
    pattern = test.kind == .like && isPlain ? CompiledTextTest.steps(wanted) : []
  }

  func test(_ text: UnsafeRawBufferPointer) -> ValueTest.Outcome {
    if isPlain {
      if test.kind == .hasPrefix, let outcome = testPrefix(text) { return outcome }
      if CompiledTextTest.isPlain(text) { return ValueTest.Outcome(matches(plain: text)) }
    } else if wanted.contains(where: { $0 >= 0x80 }), test.kind != .like,
      CompiledTextTest.isPlain(text)
    {
      // In normal form, an ASCII text never equals one that is not ASCII.
      return .no
    }
    // For invalid text, decoding reports the error.
    guard let text = String(validating: text, as: UTF8.self) else { return .unknown }
    return ValueTest.Outcome(isFolded ? test.matches(folded: text) : test.matches(text))
  }

  /// Whether a text is all ASCII without CR.
  private static func isPlain(_ text: UnsafeRawBufferPointer) -> Bool {
    var offset = 0
    var hasReturn = false
    while offset &+ 8 <= text.count {
      let word = text.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if word & 0x8080_8080_8080_8080 != 0 { return false }
      // A CR byte becomes 0, and 0x80 is borrowed from it. A borrow may also come from a neighbour,
      // so this only says that a closer look is needed.
      let other = word ^ 0x0D0D_0D0D_0D0D_0D0D
      if (other &- 0x0101_0101_0101_0101) & ~other & 0x8080_8080_8080_8080 != 0 {
        hasReturn = true
      }
      offset &+= 8
    }
    while offset < text.count {
      let byte = text[offset]
      if byte >= 0x80 { return false }
      if byte == 0x0D { hasReturn = true }
      offset &+= 1
    }
    return !hasReturn || !text.contains(0x0D)
  }

  @inline(__always)
  private func fold(_ byte: UInt8) -> UInt8 {
    test.textForm.isFolded && byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }

  /// Nil if the bytes do not decide.
  private func testPrefix(_ text: UnsafeRawBufferPointer) -> ValueTest.Outcome? {
    let count = wanted.count
    for place in 0..<min(count, text.count) {
      let byte = text[place]
      if byte >= 0x80 { return nil }
      // The base of a character differs, whatever marks follow.
      if fold(byte) != wanted[place] { return byte == 0x0D ? nil : .no }
    }
    if text.count < count { return .no }
    if text.count == count { return .yes }
    return text[count] < 0x80 ? .yes : nil
  }

  private func matches(plain text: UnsafeRawBufferPointer) -> Bool {
    switch test.kind {
    case .equal: return text.count == wanted.count && matches(text, at: 0)
    case .hasPrefix: return matches(text, at: 0)
    case .hasSuffix: return matches(text, at: text.count - wanted.count)
    case .contains:
      guard text.count >= wanted.count else { return false }
      for place in 0...(text.count - wanted.count) where matches(text, at: place) { return true }
      return false
    case .like: return matchesPattern(text)
    }
  }

  private func matches(_ text: UnsafeRawBufferPointer, at place: Int) -> Bool {
    guard place >= 0, text.count - place >= wanted.count else { return false }
    for offset in 0..<wanted.count where fold(text[place + offset]) != wanted[offset] {
      return false
    }
    return true
  }

  // MARK: Patterns

  private static func steps(_ pattern: [UInt8]) -> [PatternStep] {
    let percent = UInt8(ascii: "%")
    let underscore = UInt8(ascii: "_")
    let escape = UInt8(ascii: "\\")
    var steps: [PatternStep] = []
    var place = 0
    while place < pattern.count {
      let byte = pattern[place]
      place += 1
      if byte == percent {
        if case .any? = steps.last { continue }
        steps.append(.any)
      } else if byte == underscore {
        steps.append(.one)
      } else if byte == escape, place < pattern.count,
        [percent, underscore, escape].contains(pattern[place])
      {
        steps.append(.byte(pattern[place]))
        place += 1
      } else {
        steps.append(.byte(byte))
      }
    }
    return steps
  }

  /// Only the last `%` has to be extended, since an earlier one could not do better.
  private func matchesPattern(_ text: UnsafeRawBufferPointer) -> Bool {
    var place = 0
    var step = 0
    var lastAny = -1
    var resume = 0
    while place < text.count {
      if step < pattern.count {
        switch pattern[step] {
        case .any:
          lastAny = step
          resume = place
          step += 1
          continue
        case .one:
          place += 1
          step += 1
          continue
        case .byte(let byte) where byte == fold(text[place]):
          place += 1
          step += 1
          continue
        case .byte: break
        }
      }
      guard lastAny >= 0 else { return false }
      resume += 1
      place = resume
      step = lastAny + 1
    }
    while step < pattern.count, case .any = pattern[step] { step += 1 }
    return step == pattern.count
  }
}
