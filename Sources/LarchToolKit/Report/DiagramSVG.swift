/// The diagram of collections and associations as SVG.
struct DiagramSVG {
  private let content: ReportContent
  private let links: [ReportContent.Association]
  private let layout: DiagramLayout

  init(_ content: ReportContent) {
    self.content = content
    let names = content.collections.map(\.name)
    links = content.associations.filter { names.contains($0.first) && names.contains($0.second) }
    layout = DiagramLayout(
      names,
      links: links.compactMap { link in
        guard let first = names.firstIndex(of: link.first),
          let second = names.firstIndex(of: link.second)
        else { return nil }
        return (first, second)
      })
  }

  func text() -> String {
    var svg = """
      <svg class="diagram" role="img" aria-labelledby="diagram-title diagram-text" \
      viewBox="0 0 \(SVG.number(layout.width)) \(SVG.number(layout.height))" \
      width="\(SVG.number(layout.width))" height="\(SVG.number(layout.height))">
      <title id="diagram-title">Collections and their associations</title>
      <desc id="diagram-text">\(HTML.escaped(description))</desc>
      <defs>
      <marker id="to-one" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" \
      orient="auto-start-reverse"><path d="M0 1 9 5 0 9" class="tip"/></marker>
      <marker id="to-many" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="7" markerHeight="7">\
      <circle cx="5" cy="5" r="4" class="dot"/></marker>
      </defs>

      """
    for (box, collection) in zip(layout.boxes, content.collections) {
      svg += self.box(box, collection)
    }
    // Above the boxes, so that the marks at their ends are visible.
    for path in layout.paths { svg += line(path) }
    return svg + "</svg>\n"
  }

  /// The same in words; the table of associations has the details.
  private var description: String {
    if links.isEmpty { return "\(content.collections.count) collections without associations." }
    return links.map { "\($0.first) \($0.isLists ? "with" : "to") \($0.second) by \($0.label)" }
      .joined(separator: "; ") + "."
  }

  private func line(_ path: DiagramLayout.Path) -> String {
    let link = links[path.association]
    let points = path.points
    guard let start = points.first, let end = points.last else { return "" }
    var data = "M\(SVG.point(start))"
    if start.x == end.x {
      // A loop at the right side.
      // A curve goes three quarters of the way to its handles.
      let reach = start.x + DiagramLayout.loopReach * 4 / 3
      data +=
        "C\(SVG.number(reach)) \(SVG.number(start.y)) \(SVG.number(reach)) \(SVG.number(end.y)) \(SVG.point(end))"
    } else {
      for (from, to) in zip(points, points.dropFirst()) {
        let middle = (from.x + to.x) / 2
        data +=
          "C\(SVG.number(middle)) \(SVG.number(from.y)) \(SVG.number(middle)) \(SVG.number(to.y)) \(SVG.point(to))"
      }
    }
    let marks =
      link.isLists
      ? "marker-start=\"url(#to-many)\" marker-end=\"url(#to-many)\""
      : "marker-end=\"url(#to-one)\""
    return """
      <path class="link\(link.isLists ? " lists" : "")" d="\(data)" \(marks)>\
      <title>\(HTML.escaped("\(link.first) \(link.isLists ? "with" : "to") \(link.second): \(link.label)"))\
      </title></path>

      """
  }

  private func box(
    _ box: DiagramLayout.Box, _ collection: ReportContent.Collection
  ) -> String {
    let x = SVG.number(box.x)
    let count = Amount.counted(collection.recordCount, "record")
    var svg = """
      <g class="box"><title>\(HTML.escaped(collection.name)): \(count)</title>
      <rect x="\(x)" y="\(SVG.number(box.y))" width="\(SVG.number(DiagramLayout.boxWidth))" \
      height="\(SVG.number(box.height))" rx="8"/>
      <text class="name" x="\(SVG.number(box.x + 12))" y="\(SVG.number(box.y + 19))">\
      \(HTML.escaped(HTML.cut(collection.name, to: 22)))</text>
      <text class="count" x="\(SVG.number(box.x + 12))" y="\(SVG.number(box.y + 35))">\(count)</text>

      """
    if !box.rows.isEmpty {
      let y = SVG.number(box.y + DiagramLayout.titleHeight)
      svg += """
        <path class="rule" d="M\(x) \(y)h\(SVG.number(DiagramLayout.boxWidth))"/>

        """
    }
    for (number, row) in box.rows.enumerated() {
      let y = box.y + DiagramLayout.titleHeight + (Double(number) + 0.5) * DiagramLayout.rowHeight
      let link = links[row]
      let sign = link.isLists || link.traits.contains("list") ? "∗" : "1"
      svg += """
        <text class="row" x="\(SVG.number(box.x + 12))" y="\(SVG.number(y + 4))">\
        \(HTML.escaped(HTML.cut(link.label, to: 22)))</text>\
        <text class="sign" x="\(SVG.number(box.x + DiagramLayout.boxWidth - 12))" \
        y="\(SVG.number(y + 4))">\(sign)</text>

        """
    }
    return svg + "</g>\n"
  }
}

/// Numbers in SVG: few digits, and the same on every machine.
enum SVG {
  static func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    let whole = tenths / 10
    let rest = abs(tenths % 10)
    let sign = tenths < 0 && whole == 0 ? "-" : ""
    return rest == 0 ? "\(whole)" : "\(sign)\(whole).\(rest)"
  }

  static func point(_ point: DiagramLayout.Point) -> String {
    "\(number(point.x)) \(number(point.y))"
  }
}
