extension SwiftLexer {
  /// Skips a string from its first quote.
  ///
  /// - Parameter hashes: The number of `#` before it.
  mutating func skipString(hashes: Int, depth: Int) {
    let start = position
    guard depth < Self.maximumDepth else { return fail("strings are nested too deep") }
    let isLong = beginsLongString(hashes: hashes)
    position += isLong ? 3 : 1
    while position < count {
      let here = byte(position)
      if here == UInt8(ascii: "\\") {
        position += 1
        guard hasHashes(hashes, at: position) else { continue }
        position += hashes
        if byte(position) == UInt8(ascii: "(") {
          skipInterpolation(depth: depth + 1)
        } else if isLong || !Self.endsLine(byte(position)) {
          position += 1
        }
      } else if here == UInt8(ascii: "\"") {
        if isLong {
          if isQuotes(at: position), hasHashes(hashes, at: position + 3) {
            position += 3 + hashes
            return
          }
        } else if hasHashes(hashes, at: position + 1) {
          position += 1 + hashes
          return
        }
        position += 1
      } else if !isLong, Self.endsLine(here) {
        return fail("a string does not end", at: start)
      } else {
        position += 1
      }
      if failure != nil { return }
    }
    fail("a string does not end", at: start)
  }

  private func isQuotes(at position: Int) -> Bool {
    byte(position) == UInt8(ascii: "\"") && byte(position + 1) == UInt8(ascii: "\"")
      && byte(position + 2) == UInt8(ascii: "\"")
  }

  private func hasHashes(_ hashes: Int, at position: Int) -> Bool {
    var index = 0
    while index < hashes {
      if byte(position + index) != UInt8(ascii: "#") { return false }
      index += 1
    }
    return true
  }

  /// `#"""#` is the string of one quote, and no string of many lines.
  private func beginsLongString(hashes: Int) -> Bool {
    guard isQuotes(at: position) else { return false }
    guard hashes > 0 else { return true }
    var index = position + 1
    while index < count, !Self.endsLine(byte(index)) {
      if byte(index) == UInt8(ascii: "\""), hasHashes(hashes, at: index + 1) { return false }
      index += 1
    }
    return true
  }

  /// From the parenthesis to what is after its end.
  private mutating func skipInterpolation(depth: Int) {
    let start = position
    var open = 0
    while true {
      let token = next(depth: depth)
      switch token.kind {
      case .end:
        return fail("an interpolation does not end", at: start)
      case .punctuation(UInt8(ascii: "(")):
        open += 1
      case .punctuation(UInt8(ascii: ")")):
        open -= 1
        if open == 0 { return }
      default: break
      }
    }
  }

  /// What is after a regular expression between slashes that begins here; nil if it is an operator.
  ///
  /// The rules are the compiler's: it is on one line, has no blank at its ends, and a parenthesis
  /// that closes has one that opens.
  func endOfPlainRegex() -> Int? {
    var index = position + 1
    var open = 0
    let first = byte(index)
    if first == 0x20 || first == 0x09 || first == UInt8(ascii: "/") { return nil }
    while index < count, !Self.endsLine(byte(index)) {
      switch byte(index) {
      case UInt8(ascii: "\\"):
        index += 1
        if Self.endsLine(byte(index)) { return nil }
      case UInt8(ascii: "("): open += 1
      case UInt8(ascii: ")"):
        open -= 1
        if open < 0 { return nil }
      case UInt8(ascii: "/"):
        let last = byte(index - 1)
        return last == 0x20 || last == 0x09 ? nil : index + 1
      default: break
      }
      index += 1
    }
    return nil
  }

  /// `#/ … /#`, of many lines if nothing is on the first one.
  mutating func skipLongRegex(hashes: Int) {
    let start = position
    position += hashes + 1
    var index = position
    while byte(index) == 0x20 || byte(index) == 0x09 { index += 1 }
    let isLong = Self.endsLine(byte(index))
    while position < count {
      let here = byte(position)
      if here == UInt8(ascii: "\\"), !Self.endsLine(byte(position + 1)) {
        position += 2
      } else if here == UInt8(ascii: "/"), hasHashes(hashes, at: position + 1) {
        position += 1 + hashes
        return
      } else if !isLong, Self.endsLine(here) {
        break
      } else {
        position += 1
      }
    }
    fail("a regular expression does not end", at: start)
  }
}
