/// The style of a part of a line on a terminal with colours.
package enum Style: String, Sendable {
  case plain = ""
  /// The subject of a line.
  case strong = "1"
  /// Less important text.
  case faint = "2"
  case good = "32"
  case bad = "31"
  case warning = "33"
}

/// A line of output whose pieces have styles: `"index \(name, .strong), \(count) entries"`.
///
/// Interpolated values may be any text; it stays one line.
package struct Line: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
  package struct Piece: Sendable {
    package var text: String
    package var style: Style
  }

  package private(set) var pieces: [Piece] = []

  package init(stringLiteral text: String) { self.init(text) }

  package init(_ text: String, _ style: Style = .plain) { append(text, style) }

  package init(stringInterpolation: Interpolation) { pieces = stringInterpolation.pieces }

  /// Collects the parts of a literal.
  package struct Interpolation: StringInterpolationProtocol {
    fileprivate var pieces: [Piece] = []

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) {
      if !literal.isEmpty { pieces.append(Piece(text: literal, style: .plain)) }
    }

    package mutating func appendInterpolation(_ value: some Any, _ style: Style = .plain) {
      let text = Printable.escaped("\(value)")
      if !text.isEmpty { pieces.append(Piece(text: text, style: style)) }
    }

    package mutating func appendInterpolation(_ line: Line) { pieces += line.pieces }
  }

  /// Appends a part.
  package mutating func append(_ text: some StringProtocol, _ style: Style = .plain) {
    let text = Printable.escaped(text)
    if !text.isEmpty { pieces.append(Piece(text: text, style: style)) }
  }

  package static func + (a: Line, b: Line) -> Line {
    var result = a
    result.pieces += b.pieces
    return result
  }

  /// The text without styles.
  package var description: String {
    pieces.count == 1 ? pieces[0].text : pieces.map(\.text).joined()
  }

  /// Its width in columns.
  package var width: Int { pieces.reduce(0) { $0 + Printable.width($1.text) } }

  /// The text for a terminal.
  func rendered(isColoured: Bool) -> String {
    guard isColoured else { return description }
    return pieces.reduce(into: "") { text, piece in
      text +=
        piece.style == .plain
        ? piece.text : "\u{1B}[\(piece.style.rawValue)m\(piece.text)\u{1B}[0m"
    }
  }

  /// The line in parts of at most this width, broken at spaces if possible.
  package func wrapped(to width: Int) -> [Line] {
    guard self.width > width else { return [self] }
    let width = max(width, 2)
    var lines: [Line] = []
    var line = Line("")
    var room = width
    for piece in pieces {
      for word in Line.words(piece.text) {
        var word = word
        while Printable.isWider(word, than: room) {
          let text = word.trimmingSpaces
          let isTooLong = Printable.isWider(text, than: width)
          if !isTooLong, text.isEmpty || !Printable.isWider(text, than: room) { break }
          if isTooLong {
            let start = Line.prefix(of: word, width: room)
            line.append(start, piece.style)
            word = word[start.endIndex...]
          }
          lines.append(line.trimmed)
          (line, room) = (Line(""), width)
        }
        line.append(word, piece.style)
        room = max(0, room - Printable.width(word))
      }
    }
    if !line.trimmed.pieces.isEmpty { lines.append(line.trimmed) }
    return lines
  }

  /// The beginning of the line, with `…` if it is cut.
  package func cut(to width: Int) -> Line {
    guard self.width > width else { return self }
    var result = Line("")
    var room = max(0, width - 1)
    for piece in pieces {
      let start = Line.prefix(of: piece.text[...], width: room)
      result.append(start, piece.style)
      room -= Printable.width(start)
      if start.count < piece.text.count { break }
    }
    result.append("…")
    return result
  }

  /// Words with the spaces after them.
  private static func words(_ text: String) -> [Substring] {
    var words: [Substring] = []
    var rest = text[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(of: " ") ?? rest.endIndex
      let next = rest[end...].firstIndex { $0 != " " } ?? rest.endIndex
      words.append(rest[..<next])
      rest = rest[next...]
    }
    return words
  }

  private static func prefix(of text: Substring, width: Int) -> Substring {
    var room = width
    let end = text.firstIndex {
      room -= Printable.width($0)
      return room < 0
    }
    return text[..<(end ?? text.endIndex)]
  }

  /// Without trailing spaces.
  var trimmed: Line {
    var result = self
    while let last = result.pieces.last {
      let text = last.text[...].trimmingSpaces
      if text.isEmpty {
        result.pieces.removeLast()
      } else {
        result.pieces[result.pieces.count - 1].text = String(text)
        break
      }
    }
    return result
  }
}

extension Substring {
  /// Without trailing spaces.
  fileprivate var trimmingSpaces: Substring {
    guard let last = lastIndex(where: { $0 != " " }) else { return "" }
    return self[...last]
  }
}
