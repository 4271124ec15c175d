/// A report as one HTML page without other files.
struct ReportPage {
  private let content: ReportContent

  init(_ content: ReportContent) { self.content = content }

  func text() -> String {
    let title = HTML.escaped(content.title)
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="referrer" content="no-referrer">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
      style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
      form-action 'none'">
      <link rel="icon" href="data:,">
      <title>\(title) – Larch store report</title>
      <style>
      \(ReportStyle.text)
      </style>
      </head>
      <body>
      \(header(title))<main>
      \(diagram())\(space())\(indexes())\(associations())\(records())</main>
      <footer><p>Made by larch report. The page is complete and loads nothing.</p></footer>
      <script>
      \(ReportScript.text)
      </script>
      </body>
      </html>

      """
  }

  private func header(_ title: String) -> String {
    var figures: [(value: String, name: String)] = [
      (Amount.bytes(content.fileBytes), "in the file"),
      (Amount.count(content.recordCount), content.recordCount == 1 ? "record" : "records"),
      (
        Amount.count(content.collections.count),
        content.collections.count == 1 ? "collection" : "collections"
      ),
      (Amount.count(content.indexCount), content.indexCount == 1 ? "index" : "indexes"),
    ]
    if content.linkCount > 0 {
      figures.append((Amount.count(content.linkCount), "links in lists"))
    }
    let free = content.pages > 0 ? Double(content.freePages) / Double(content.pages) : 0
    figures.append((Amount.percent(free), "of the pages free"))
    let items = figures.map { "<li><b>\($0.value)</b>\($0.name)</li>" }.joined(separator: "\n")
    let migrations =
      content.migrations.isEmpty
      ? ""
      : "<p class=\"faint\">Migrations: \(HTML.escaped(content.migrations.joined(separator: ", ")))</p>\n"
    return """
      <header>
      <h1>\(title)</h1>
      <p class="faint">Larch store · commit \(content.lastTransaction) · <time>\(HTML.escaped(content.date))</time></p>
      <nav aria-label="Parts of the report"><ul>
      <li><a href="#diagram">Collections</a></li>
      <li><a href="#space">Space</a></li>
      <li><a href="#indexes">Indexes</a></li>
      <li><a href="#associations">Associations</a></li>
      <li><a href="#records">Records</a></li>
      </ul></nav>
      <ul class="figures">
      \(items)
      </ul>
      \(migrations)</header>

      """
  }

  private func section(_ id: String, _ title: String, _ body: String) -> String {
    """
    <section id="\(id)" aria-labelledby="\(id)-heading">
    <h2 id="\(id)-heading">\(title)</h2>
    \(body)</section>

    """
  }

  private func diagram() -> String {
    guard !content.collections.isEmpty else {
      return section("diagram", "Collections", "<p class=\"faint\">The store is empty.</p>\n")
    }
    let key =
      content.associations.isEmpty
      ? ""
      : """
      <p class="faint">An arrow leads from a property to the records that it refers to; a line with dots \
      is a many-to-many association.</p>

      """
    return section(
      "diagram", "Collections", "<div class=\"scroll\">\(DiagramSVG(content).text())</div>\n" + key)
  }

  private func space() -> String {
    var body = ReportCharts.space(content)
    if !content.collections.isEmpty {
      body += "<h3>By collection</h3>\n" + ReportCharts.collections(content)
    }
    return section("space", "Space", body)
  }

  // MARK: Tables

  private struct Column {
    var title: String
    var isNumber = false
  }

  /// - Parameter rows: the rows; the first cell is the title of the row.
  private func table(_ caption: String, _ columns: [Column], _ rows: [[String]]) -> String {
    let head = columns.map {
      "<th scope=\"col\"\($0.isNumber ? " class=\"number\"" : "")>\($0.title)</th>"
    }.joined()
    let body = rows.map { cells in
      "<tr>"
        + zip(columns, cells).enumerated().map { place, pair in
          let style = pair.0.isNumber ? " class=\"number\"" : ""
          return place == 0
            ? "<th scope=\"row\"\(style)>\(pair.1)</th>" : "<td\(style)>\(pair.1)</td>"
        }.joined() + "</tr>\n"
    }.joined()
    return """
      <div class="scroll"><table>
      <caption>\(caption)</caption>
      <thead><tr>\(head)</tr></thead>
      <tbody>
      \(body)</tbody>
      </table></div>

      """
  }

  private func indexes() -> String {
    guard content.indexCount > 0 else {
      return section("indexes", "Indexes", "<p class=\"faint\">There are none.</p>\n")
    }
    let rows = content.collections.flatMap { collection in
      collection.indexes.map { index in
        let kind = index.isUnique ? "<span class=\"tag\">unique</span> " : ""
        let state =
          index.isReady
          ? "<span class=\"tag\">ready</span>"
          : "<span class=\"tag warn\">being built</span>"
        return [
          "\(HTML.escaped(index.name))", HTML.escaped(collection.name),
          "<code>\(HTML.escaped(index.definition))</code>", kind + state,
          Amount.count(index.entryCount), Amount.bytes(index.bytes),
          index.fill.map(ReportCharts.meter) ?? "–",
        ]
      }
    }
    return section(
      "indexes", "Indexes",
      table(
        "Each index with its definition in the catalog, and how full its pages are",
        [
          Column(title: "Index"), Column(title: "Collection"), Column(title: "Definition"),
          Column(title: "State"), Column(title: "Entries", isNumber: true),
          Column(title: "Size", isNumber: true), Column(title: "Fill"),
        ], rows))
  }

  private func associations() -> String {
    guard !content.associations.isEmpty else {
      return section("associations", "Associations", "<p class=\"faint\">There are none.</p>\n")
    }
    let rows = content.associations.map { association in
      [
        HTML.escaped(association.label), HTML.escaped(association.first),
        HTML.escaped(association.second),
        association.isLists
          ? "lists, \(Amount.counted(association.linkCount, "link"))"
          : (["reference"] + association.traits).joined(separator: ", "),
        "\(association.firstRule), \(association.secondRule)",
      ]
    }
    return section(
      "associations", "Associations",
      table(
        "The rules say what deleting a record of the first end does to the second, and the other way round",
        [
          Column(title: "Name"), Column(title: "First end"), Column(title: "Second end"),
          Column(title: "Kind"), Column(title: "On delete"),
        ], rows))
  }

  // MARK: Records

  private func records() -> String {
    var body = """
      <div class="search" hidden><label for="search">Search</label>
      <input id="search" type="search" autocomplete="off" spellcheck="false">
      <span id="found" class="faint" role="status"></span></div>

      """
    for (number, collection) in content.collections.enumerated() {
      body += sample(of: collection, number: number)
    }
    if content.collections.isEmpty { body = "<p class=\"faint\">There are none.</p>\n" }
    return section("records", "Records", body)
  }

  private func sample(of collection: ReportContent.Collection, number: Int) -> String {
    let sample = collection.sample
    let shown =
      sample.rows.count == collection.recordCount
      ? Amount.counted(collection.recordCount, "record")
      : "the first \(Amount.count(sample.rows.count)) of \(Amount.counted(collection.recordCount, "record"))"
    let heading = """
      <h3 id="records-\(number)">\(HTML.escaped(collection.name)) <span class="faint">\(shown)</span></h3>

      """
    if sample.rows.isEmpty { return heading }
    let columns = sample.columns.enumerated().map { place, name in
      let isNumber = sample.rows.contains { row in
        if case .number = row.cells[place] { true } else { false }
      }
      return (name: name, isNumber: isNumber)
    }
    let head = columns.map {
      "<th scope=\"col\"\($0.isNumber ? " class=\"number\"" : "")>\(HTML.escaped($0.name))</th>"
    }.joined()
    let rows = sample.rows.map { row in
      "<tr><th scope=\"row\">\(HTML.escaped(row.id))</th>\(row.cells.map(cell).joined())</tr>\n"
    }.joined()
    return heading + """
      <div class="scroll"><table class="records" data-heading="records-\(number)" \
      aria-labelledby="records-\(number)">
      <thead><tr><th scope="col">id</th>\(head)</tr></thead>
      <tbody>
      \(rows)</tbody>
      </table></div>

      """
  }

  private func cell(_ cell: ReportSample.Cell) -> String {
    switch cell {
    case .absent: "<td></td>"
    case .null: "<td class=\"faint\">null</td>"
    case .number(let text): "<td class=\"number\">\(HTML.escaped(text))</td>"
    case .text(let text): "<td>\(HTML.escaped(text))</td>"
    case .json(let text): "<td><code>\(HTML.escaped(text))</code></td>"
    }
  }
}
