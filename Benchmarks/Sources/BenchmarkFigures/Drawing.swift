import Foundation

/// A picture in SVG, element after element.
struct Drawing {
  /// Where a text begins, ends or has its middle.
  enum Anchor: String {
    case start, middle, end
  }

  let width: Double
  let height: Double
  private var elements: [String] = []

  init(width: Double, height: Double) {
    self.width = width
    self.height = height
  }

  mutating func rectangle(
    x: Double, y: Double, width: Double, height: Double, fill: String, title: String? = nil
  ) {
    let shape =
      "<rect x=\"\(Drawing.number(x))\" y=\"\(Drawing.number(y))\" width=\"\(Drawing.number(width))\""
      + " height=\"\(Drawing.number(height))\" fill=\"\(fill)\""
    elements.append(
      title.map { "\(shape)><title>\(Drawing.escaped($0))</title></rect>" } ?? shape + "/>")
  }

  mutating func line(
    from start: (Double, Double), to end: (Double, Double), stroke: String, width: Double = 1
  ) {
    elements.append(
      "<line x1=\"\(Drawing.number(start.0))\" y1=\"\(Drawing.number(start.1))\""
        + " x2=\"\(Drawing.number(end.0))\" y2=\"\(Drawing.number(end.1))\""
        + " stroke=\"\(stroke)\" stroke-width=\"\(Drawing.number(width))\"/>")
  }

  mutating func path(_ points: [(Double, Double)], stroke: String) {
    let list = points.map { "\(Drawing.number($0.0)),\(Drawing.number($0.1))" }
    elements.append(
      "<polyline points=\"\(list.joined(separator: " "))\" fill=\"none\" stroke=\"\(stroke)\""
        + " stroke-width=\"2\" stroke-linejoin=\"round\"/>")
    for (x, y) in points {
      elements.append(
        "<circle cx=\"\(Drawing.number(x))\" cy=\"\(Drawing.number(y))\" r=\"2.5\""
          + " fill=\"\(stroke)\"/>")
    }
  }

  mutating func text(
    _ string: String, x: Double, y: Double, size: Double = 11, anchor: Anchor = .start,
    fill: String = Palette.ink, isBold: Bool = false
  ) {
    elements.append(
      "<text x=\"\(Drawing.number(x))\" y=\"\(Drawing.number(y))\""
        + " font-size=\"\(Drawing.number(size))\" text-anchor=\"\(anchor.rawValue)\""
        + " fill=\"\(fill)\"" + (isBold ? " font-weight=\"bold\"" : "")
        + ">\(Drawing.escaped(string))</text>")
  }

  /// The whole file.
  func document() -> String {
    let size = "width=\"\(Drawing.number(width))\" height=\"\(Drawing.number(height))\""
    let box = "viewBox=\"0 0 \(Drawing.number(width)) \(Drawing.number(height))\""
    let start =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) \(box)"
      + " font-family=\"system-ui, -apple-system, Helvetica, Arial, sans-serif\">"
    let paper = "<rect width=\"100%\" height=\"100%\" fill=\"\(Palette.paper)\"/>"
    return ([start, paper] + elements + ["</svg>", ""]).joined(separator: "\n")
  }

  private static func number(_ value: Double) -> String {
    let text = decimal(value, 2)
    return text.hasSuffix(".00") ? String(text.dropLast(3)) : text
  }

  private static func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;")
      .replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;")
      .replacingOccurrences(of: "\"", with: "&quot;")
  }
}

/// Colours that can be told apart also by those who see fewer.
enum Palette {
  static let paper = "#ffffff"
  static let ink = "#222222"
  static let faint = "#d9d9d9"
  static let quiet = "#777777"

  private static let known = [
    "lmdb": "#888888", "larch": "#1b7837", "larch-m": "#7fbf7b", "larch-log": "#d9f0d3",
    "sqlite": "#2166ac",
    "rocksdb": "#d6604d", "leveldb": "#f4a582", "grdb": "#92c5de",
  ]

  static func colour(of peer: String) -> String {
    known[peer] ?? "#762a83"
  }
}

/// What peers are called where there is room for it.
func title(of peer: String) -> String {
  let titles = [
    "lmdb": "raw LMDB", "larch": "Larch", "larch-m": "Larch memberwise",
    "larch-log": "Larch logged",
    "sqlite": "SQLite",
    "rocksdb": "RocksDB", "leveldb": "LevelDB", "grdb": "GRDB",
  ]
  return titles[peer] ?? peer
}
