/// Bar charts of sizes as SVG.
enum ReportCharts {
  struct Part {
    var name: String
    /// The CSS class of the colour.
    var style: String
    var bytes: Int
  }

  /// The use of the file.
  static func parts(of content: ReportContent) -> [Part] {
    let records = content.collections.reduce(0) { $0 + $1.recordBytes }
    let indexes = content.collections.reduce(0) { $0 + $1.bytes - $1.recordBytes }
    let lists = content.associations.reduce(0) { $0 + $1.bytes }
    let free = content.freePages * content.pageSize
    let rest = max(0, content.pages * content.pageSize - records - indexes - lists - free)
    return [
      Part(name: "records", style: "c1", bytes: records),
      Part(name: "indexes", style: "c2", bytes: indexes),
      Part(name: "lists", style: "c3", bytes: lists),
      Part(name: "catalog and other data", style: "c4", bytes: rest),
      Part(name: "free", style: "c5", bytes: free),
    ].filter { $0.bytes > 0 }
  }

  /// One bar of all parts, with a legend.
  static func space(_ content: ReportContent) -> String {
    let parts = parts(of: content)
    let total = max(1, parts.reduce(0) { $0 + $1.bytes })
    let width = 960.0
    var svg = """
      <svg class="chart" role="img" aria-labelledby="space-title" viewBox="0 0 960 28">
      <title id="space-title">\(parts.map { "\($0.name) \(Amount.bytes($0.bytes))" }.joined(separator: ", "))\
      </title>

      """
    var x = 0.0
    for part in parts {
      let size = width * Double(part.bytes) / Double(total)
      svg += """
        <rect class="\(part.style)" x="\(SVG.number(x))" y="0" width="\(SVG.number(max(1, size)))" \
        height="28"><title>\(part.name): \(Amount.bytes(part.bytes))</title></rect>

        """
      x += size
    }
    svg += "</svg>\n<ul class=\"legend\">\n"
    for part in parts {
      let share = Amount.percent(Double(part.bytes) / Double(total))
      svg += """
        <li><span class="key \(part.style)"></span>\(part.name) \
        <b>\(Amount.bytes(part.bytes))</b> <span class="faint">\(share)</span></li>

        """
    }
    return svg + "</ul>\n"
  }

  /// A bar for each collection: its records, followed by its indexes.
  static func collections(_ content: ReportContent) -> String {
    let sorted = content.collections.sorted { ($1.bytes, $0.name) < ($0.bytes, $1.name) }
    let largest = max(1, sorted.first?.bytes ?? 1)
    let row = 30.0
    let left = 190.0
    let room = 620.0
    let height = Double(sorted.count) * row
    var svg = """
      <svg class="chart" role="img" aria-labelledby="sizes-title" viewBox="0 0 960 \(SVG.number(height))">
      <title id="sizes-title">The size of each collection, its records and its indexes</title>

      """
    for (number, collection) in sorted.enumerated() {
      let y = Double(number) * row
      let records = room * Double(collection.recordBytes) / Double(largest)
      let indexes = room * Double(collection.bytes - collection.recordBytes) / Double(largest)
      let middle = SVG.number(y + 19)
      svg += """
        <g><title>\(HTML.escaped(collection.name)): records \(Amount.bytes(collection.recordBytes)), \
        indexes \(Amount.bytes(collection.bytes - collection.recordBytes))</title>
        <text class="label" x="\(SVG.number(left - 12))" y="\(middle)">\
        \(HTML.escaped(HTML.cut(collection.name, to: 24)))</text>
        <rect class="c1" x="\(SVG.number(left))" y="\(SVG.number(y + 5))" \
        width="\(SVG.number(records))" height="20"/>
        <rect class="c2" x="\(SVG.number(left + records))" y="\(SVG.number(y + 5))" \
        width="\(SVG.number(indexes))" height="20"/>
        <text class="value" x="\(SVG.number(left + records + indexes + 10))" y="\(middle)">\
        \(Amount.bytes(collection.bytes))</text></g>

        """
    }
    return svg + "</svg>\n"
  }

  /// A small bar for a fraction, which is also shown as a number.
  static func meter(_ part: Double) -> String {
    """
    <span class="meter"><svg viewBox="0 0 100 8" aria-hidden="true" preserveAspectRatio="none">\
    <rect class="track" width="100" height="8"/>\
    <rect class="c2" width="\(SVG.number(part * 100))" height="8"/></svg> \
    \(Amount.percent(part))</span>
    """
  }
}
