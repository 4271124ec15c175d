/// How a piece of a line looks on a terminal with colours.
package enum Style: String, Sendable {
  case plain = ""
  /// What a line is about.
  case strong = "1"
  /// What may be overlooked.
  case faint = "2"
  case good = "32"
  case bad = "31"
  case warning = "33"
}

/// A line of output whose pieces have styles: `"index \(name, .strong), \(count) entries"`.
///
/// What is put into it may be any text; it stays one line.
package struct Line: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
  package struct Piece: Sendable {
    package var text: String
    package var style: Style
  }

  package private(set) var pieces: [Piece] = []

  package init(stringLiteral text: String) { self.init(text) }

  package init(_ text: String, _ style: Style = .plain) { append(text, style) }

  package init(stringInterpolation: Interpolation) { pieces = stringInterpolation.pieces }

  /// Collects the pieces of a literal.
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

  /// Adds a piece.
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

  /// How many columns it takes.
  package var width: Int { pieces.reduce(0) { $0 + Printable.width($1.text) } }

  /// The text as it is sent to a terminal.
  func rendered(isColoured: Bool) -> String {
    guard isColoured else { return description }
    return pieces.reduce(into: "") { text, piece in
      text +=
        piece.style == .plain
        ? piece.text : "\u{1B}[\(piece.style.rawValue)m\(piece.text)\u{1B}[0m"
    }
  }

  /// The line in pieces of at most this width, cut at spaces where there are some.
  package func wrapped(to width: Int) -> [Line] {
    guard self.width > width else { return [self] }
    let width = max(width, 2)
    var lines: [Line] = []
    var line = Line("")
    var room = width
    for piece in pieces {
      for word in Line.words(piece.text) {
        var word = word
        while Printable.width(word) > room {
          let isTooLong = Printable.width(word.trimmingSpaces) > width
          if !isTooLong, word.trimmingSpaces.isEmpty { break }
          if !isTooLong, Printable.width(word.trimmingSpaces) <= room { break }
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

  /// The beginning of the line, with `…` in place of what is too much.
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

  /// Words with the spaces behind them.
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

  /// Without spaces at its end.
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
  /// Without spaces at its end.
  fileprivate var trimmingSpaces: Substring {
    guard let last = lastIndex(where: { $0 != " " }) else { return "" }
    return self[...last]
  }
}
