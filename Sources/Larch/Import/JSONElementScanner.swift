internal import Foundation

/// One element of a JSON text, or an error at its place.
package struct ScannedElement {
  package let place: ElementPlace
  /// Valid until the next element is scanned.
  package let bytes: UnsafeRawBufferPointer
  /// Why these bytes are not an element; nil for an element.
  package let problem: LarchError?
}

/// Splits a JSON text of any size into its elements. Inside an element it only parses strings and
/// brackets.
package final class JSONElementScanner {
  /// The limit of Foundation's decoder.
  private static let depthLimit = 512
  private static let chunkSize = 256 << 10

  private enum State { case start, afterOpen, afterComma, afterElement, tail, lines, ended }

  private let source: any ByteSource
  private let format: JSONFormat?
  private let sizeLimit: Int
  private var state = State.start

  private var buffer: UnsafeMutableRawBufferPointer
  /// The number of bytes in the buffer.
  private var filled = 0
  /// The offset in the text of the first byte of the buffer.
  private var bufferOffset = 0
  /// The offset of the next byte in the buffer.
  @exclusivity(unchecked) private var place = 0
  /// The offset of the first byte in the buffer that is still needed.
  private var kept = 0
  @exclusivity(unchecked) private var line = 1
  private var index = 0
  /// Whether the text was read to its end.
  private(set) var isComplete = true
  /// A bit for each open bracket: whether it is a brace.
  private var braces = [UInt64](repeating: 0, count: depthLimit / 64)

  package init(_ source: any ByteSource, _ options: ImportOptions) {
    self.source = source
    format = options.format
    sizeLimit = max(1, options.elementSizeLimit)
    buffer = .allocate(byteCount: JSONElementScanner.chunkSize, alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// The number of bytes read.
  package var offset: Int { bufferOffset + place }

  /// The next element, or nil at the end.
  package func next() throws -> ScannedElement? {
    while true {
      kept = place
      switch state {
      case .start:
        if let problem = try begin() { return problem }
      case .lines: return try nextLine()
      case .afterOpen, .afterComma:
        if let element = try nextValue() { return element }
      case .afterElement:
        switch try skipSpace() {
        case UInt8(ascii: ","):
          place += 1
          state = .afterComma
        case UInt8(ascii: "]"):
          place += 1
          state = .tail
        case nil: return truncated()
        case _: return broken("Expected a comma or the end of the array.")
        }
      case .tail:
        guard try skipSpace() != nil else {
          state = .ended
          return nil
        }
        return broken("There is text after the end of the array; a file has one array.")
      case .ended: return nil
      }
    }
  }

  /// Skips everything before the first element, and detects the format.
  private func begin() throws -> ScannedElement? {
    while filled < 3, try fill() {}
    if filled >= 3, buffer[0] == 0xEF, buffer[1] == 0xBB, buffer[2] == 0xBF { place = 3 }
    // Byte order marks of other encodings, and the zeros of ASCII in two or four bytes.
    if filled >= 2, buffer[0] >= 0xFE || buffer[0] == 0 || buffer[1] == 0 {
      return broken("The text is not in UTF-8; convert it first.")
    }
    let first = try skipSpace()
    if format == .lines || (format == nil && first != UInt8(ascii: "[")) {
      state = first == nil ? .ended : .lines
      return nil
    }
    guard let first else { return truncated() }
    guard first == UInt8(ascii: "[") else {
      return broken("The text is not an array; give the format if each line is one element.")
    }
    place += 1
    state = .afterOpen
    return nil
  }

  // MARK: Lines

  private func nextLine() throws -> ScannedElement? {
    guard try skipSpace() != nil else {
      state = .ended
      return nil
    }
    kept = place
    var found = ElementPlace(index: index, line: line, offset: offset, count: 0)
    var isTooLarge = false
    while true {
      if let start = buffer.baseAddress.map({ $0 + place }),
        let end = memchr(start, 0x0A, filled - place)
      {
        place += end - start
        break
      }
      place = filled
      if place - kept > sizeLimit { isTooLarge = true }
      if isTooLarge { kept = place }
      guard try fill() else { break }
    }
    var end = place
    while end > kept, isSpace(buffer[end - 1]) { end -= 1 }
    found.count = isTooLarge ? offset - found.offset : end - kept
    index += 1
    if isTooLarge || found.count > sizeLimit { return tooLarge(found) }
    return ScannedElement(
      place: found, bytes: UnsafeRawBufferPointer(rebasing: buffer[kept..<end]), problem: nil)
  }

  // MARK: Arrays

  private func nextValue() throws -> ScannedElement? {
    guard let first = try skipSpace() else { return truncated() }
    switch first {
    case UInt8(ascii: "]"):
      let isEmpty = state == .afterOpen
      state = .tail
      if isEmpty {
        place += 1
        return nil
      }
      let problem = missing("There is a comma before the end of the array; remove it.")
      place += 1
      return problem
    case UInt8(ascii: ","):
      state = .afterComma
      let problem = missing("There is a comma instead of an element; remove it.")
      place += 1
      return problem
    default: break
    }
    kept = place
    var found = ElementPlace(index: index, line: line, offset: offset, count: 0)
    let value = try scanValue(first)
    found.count = offset - found.offset
    switch value {
    case .whole, .tooDeep, .tooLarge:
      index += 1
      state = .afterElement
    case .cut: return truncated(found)
    case .crossed:
      return broken("A closing bracket does not match the opening bracket.", found)
    }
    if value == .tooLarge || found.count > sizeLimit { return tooLarge(found) }
    if value == .tooDeep {
      return ScannedElement(
        place: found, bytes: UnsafeRawBufferPointer(start: nil, count: 0),
        problem: LarchError(
          .invalidJSON, "An element is nested more than 512 levels deep; make it flatter."))
    }
    return ScannedElement(
      place: found, bytes: UnsafeRawBufferPointer(rebasing: buffer[kept..<place]), problem: nil)
  }

  private enum Value { case whole, cut, crossed, tooDeep, tooLarge }

  /// Skips a value. It need not be valid JSON, but its strings and brackets must end.
  private func scanValue(_ first: UInt8) throws -> Value {
    var depth = 0
    var isInString = false
    var isTooDeep = false
    var isTooLarge = false
    let isScalar =
      first != UInt8(ascii: "{") && first != UInt8(ascii: "[")
      && first != UInt8(ascii: "\"")
    while true {
      scan: while place < filled {
        let byte = buffer[place]
        if isInString {
          switch byte {
          case UInt8(ascii: "\""):
            isInString = false
            place += 1
            if depth == 0 { return isTooLarge ? .tooLarge : .whole }
            continue
          case UInt8(ascii: "\\"):
            // The escaped character may be in the next piece.
            if place + 1 >= filled { break scan }
            if buffer[place + 1] == 0x0A { line += 1 }
            place += 2
            continue
          case 0x0A: line += 1
          default: break
          }
          place += 1
          continue
        }
        switch byte {
        case UInt8(ascii: "\""):
          if isScalar { return .whole }
          isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          if isScalar { return .whole }
          open(byte == UInt8(ascii: "{"), depth)
          depth += 1
          if depth > JSONElementScanner.depthLimit { isTooDeep = true }
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          if depth == 0 { return offset == bufferOffset + kept && !isTooLarge ? .crossed : .whole }
          depth -= 1
          guard closes(byte == UInt8(ascii: "}"), depth) else { return .crossed }
          if depth == 0 {
            place += 1
            return isTooLarge ? .tooLarge : isTooDeep ? .tooDeep : .whole
          }
        case UInt8(ascii: ","), 0x20, 0x09, 0x0D:
          if depth == 0 { return isTooLarge ? .tooLarge : .whole }
        case 0x0A:
          if depth == 0 { return isTooLarge ? .tooLarge : .whole }
          line += 1
        default: break
        }
        place += 1
      }
      if place - kept > sizeLimit { isTooLarge = true }
      if isTooLarge { kept = place }
      guard try fill() else { return .cut }
    }
  }

  private func open(_ isBrace: Bool, _ depth: Int) {
    guard depth < JSONElementScanner.depthLimit else { return }
    let bit = UInt64(1) << UInt64(depth & 63)
    if isBrace { braces[depth >> 6] |= bit } else { braces[depth >> 6] &= ~bit }
  }

  /// Beyond the limit, only the depth is known.
  private func closes(_ isBrace: Bool, _ depth: Int) -> Bool {
    guard depth < JSONElementScanner.depthLimit else { return true }
    return (braces[depth >> 6] >> UInt64(depth & 63) & 1 == 1) == isBrace
  }

  // MARK: Bytes

  private func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  /// The next byte that is not white space, without consuming it; nil at the end.
  private func skipSpace() throws -> UInt8? {
    while true {
      while place < filled {
        let byte = buffer[place]
        guard isSpace(byte) else { return byte }
        if byte == 0x0A { line += 1 }
        place += 1
      }
      kept = place
      guard try fill() else { return nil }
    }
  }

  /// Reads more after the bytes that are kept; false at the end of the text.
  private func fill() throws -> Bool {
    if kept > 0 {
      let rest = filled - kept
      if rest > 0 {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[kept..<filled]))
      }
      bufferOffset += kept
      place -= kept
      filled = rest
      kept = 0
    }
    if filled == buffer.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: buffer.count * 2, alignment: 16)
      larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
      buffer.deallocate()
      buffer = larger
    }
    let got = try source.read(
      at: bufferOffset + filled,
      into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
    filled += got
    return got > 0
  }

  // MARK: Problems

  /// Ends the scan: after this place elements cannot be recognized.
  private func broken(_ message: StaticString, _ found: ElementPlace? = nil) -> ScannedElement {
    isComplete = false
    state = .ended
    return missing(message, found)
  }

  private func truncated(_ found: ElementPlace? = nil) -> ScannedElement {
    broken("The text is cut off; its last part is missing.", found)
  }

  private func missing(_ message: StaticString, _ found: ElementPlace? = nil) -> ScannedElement {
    let found = found ?? ElementPlace(index: index, line: line, offset: offset, count: 0)
    index += 1
    return ScannedElement(
      place: found, bytes: UnsafeRawBufferPointer(start: nil, count: 0),
      problem: LarchError(.invalidJSON, message))
  }

  private func tooLarge(_ found: ElementPlace) -> ScannedElement {
    ScannedElement(
      place: found, bytes: UnsafeRawBufferPointer(start: nil, count: 0),
      problem: LarchError(
        .elementTooLarge, "An element is larger than `ImportOptions.elementSizeLimit`."))
  }
}
