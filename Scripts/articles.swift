// Makes the articles of the site from docs/*.md, and checks every link between documents:
//
//   swift -swift-version 6 Scripts/articles.swift           writes what is not current
//   swift -swift-version 6 Scripts/articles.swift --check   writes nothing; fails if something is not
//
// The documents are written for those who read them in the repository, where a link is a path and an
// anchor is a heading in small letters. DocC leaves such links as they are, and on a site they lead
// nowhere. It cannot make them at its start either, since the Swift Package Index runs DocC on a
// clone and nothing before it. So the articles lie in the catalog, made from the documents:
//
// - The tables of docs/README.md say which documents are articles and in which order. The words about
//   a document become the first sentence of its article.
// - A link to an article becomes an article link. A link to anything else in the repository becomes
//   the path of it, since the site does not have it.
// - In the documents for users, a code span with the name of a type on the first page becomes a link
//   to the type: the first one of each section, not in headings and not inside links. In the others
//   such a name may as well be that of a folder.
import Foundation

// MARK: - Markdown

/// A part of a document: lines of a code block, or a paragraph, a heading or a table.
struct Part {
  var text: String
  var isCode: Bool
  var line: Int

  var heading: String? {
    guard !isCode, let match = text.prefixMatch(of: /#+ +(.*)/) else { return nil }
    return String(match.1)
  }
}

func parts(of document: String) -> [Part] {
  var result: [Part] = []
  var isFenced = false
  let lines = document.split(separator: "\n", omittingEmptySubsequences: false)
  for (index, line) in lines.enumerated() {
    let isFence = line.drop(while: { $0 == " " }).hasPrefix("```")
    let isCode = isFenced || isFence
    if isFence { isFenced.toggle() }
    // A paragraph is one part, since a link may begin on one of its lines and end on the next.
    let isAlone = line.isEmpty || line.hasPrefix("#")
    if let last = result.last, last.isCode == isCode, isCode || !isAlone && !last.text.isEmpty,
      isCode || last.heading == nil
    {
      result[result.count - 1].text += "\n" + line
    } else {
      result.append(Part(text: String(line), isCode: isCode, line: index + 1))
    }
  }
  return result
}

/// What becomes of the code spans, images and links of a paragraph. The rest stays.
struct Rewriting {
  var codeSpan: (_ code: String, _ ticks: Int) -> String = { code, _ in code }
  var image: (_ text: String, _ target: String) -> String = { "![\($0)](\($1))" }
  /// `after` is the character that follows the link.
  var link: (_ text: String, _ target: String, _ after: Character?) -> String = { text, target, _ in
    "[\(text)](\(target))"
  }

  func callAsFunction(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let first = rest.first {
      if first == "\\" {
        result += rest.prefix(2)
        rest = rest.dropFirst(2)
      } else if first == "`" {
        let ticks = rest.prefix { $0 == "`" }
        let body = rest[ticks.endIndex...]
        guard let end = body.firstRange(of: ticks) else { return result + rest }
        result += codeSpan(String(body[..<end.lowerBound]), ticks.count)
        rest = body[end.upperBound...]
      } else if first == "!", let match = rest.prefixMatch(of: /!\[([^\]]*)\]\(([^)\s]+)\)/) {
        result += image(String(match.1), String(match.2))
        rest = rest[match.range.upperBound...]
      } else if first == "[", let match = rest.prefixMatch(of: /\[([^\]]+)\]\(([^)\s]+)\)/) {
        rest = rest[match.range.upperBound...]
        result += link(String(match.1), String(match.2), rest.first)
      } else {
        result.append(first)
        rest.removeFirst()
      }
    }
    return result
  }
}

/// The anchors of a document as the repository shows it, each with the one that DocC makes of the
/// same heading.
func headingAnchors(of document: String) -> [String: String] {
  var result: [String: String] = [:]
  for heading in parts(of: document).compactMap(\.heading) {
    let kept = heading.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
    let anchor = kept.lowercased().replacing(" ", with: "-")
    result[anchor] = kept.split { $0 == " " || $0 == "-" }.joined(separator: "-")
  }
  return result
}

// MARK: - The documents

struct Article {
  var name: String
  var summary: String

  var document: String { "docs/\(name).md" }
}

final class Documents {
  let root: URL
  let firstPage = "Sources/Larch/Larch.docc/Larch.md"
  let articleFolder = "Sources/Larch/Larch.docc/Guides"

  private(set) var faults: [String] = []
  private var texts: [String: String] = [:]
  private var anchorsOfFiles: [String: [String: String]] = [:]

  init(root: URL) { self.root = root }

  func file(_ path: String) -> URL { root.appendingPathComponent(path) }

  func read(_ path: String) -> String {
    if let known = texts[path] { return known }
    let text = try? String(contentsOf: file(path), encoding: .utf8)
    if text == nil { faults.append("\(path) cannot be read") }
    texts[path] = text ?? ""
    return text ?? ""
  }

  func names(in folder: String) -> [String] {
    let found = try? FileManager.default.contentsOfDirectory(atPath: file(folder).path)
    return (found ?? []).filter { $0.hasSuffix(".md") }.sorted()
  }

  // MARK: Links

  struct Target {
    /// Where it leads, from the root of the repository.
    var path: String
    /// The anchor that DocC makes of the heading.
    var anchor: String?
  }

  /// Where a link leads; nil for an address of another site. A link to nothing is a fault.
  func resolve(_ target: String, in document: String, line: Int) -> Target? {
    if target.contains(/^[a-z]+:/) { return nil }
    let pieces = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    var path = document
    if !pieces[0].isEmpty {
      let base = URL(fileURLWithPath: "/" + document).deletingLastPathComponent()
      let full = base.appendingPathComponent(String(pieces[0])).standardizedFileURL.path
      path = String(full.dropFirst())
    }
    guard FileManager.default.fileExists(atPath: file(path).path) else {
      faults.append("\(document):\(line): \(target) leads to nothing")
      return Target(path: path, anchor: nil)
    }
    guard pieces.count == 2 else { return Target(path: path, anchor: nil) }
    let anchors = anchorsOfFiles[path] ?? headingAnchors(of: read(path))
    anchorsOfFiles[path] = anchors
    let anchor = anchors[String(pieces[1])]
    if anchor == nil { faults.append("\(document):\(line): \(target) leads to no heading") }
    return Target(path: path, anchor: anchor)
  }

  func checkLinks(of document: String) {
    for part in parts(of: read(document)) where !part.isCode {
      var rewriting = Rewriting()
      rewriting.image = { _, target in
        _ = self.resolve(target, in: document, line: part.line)
        return ""
      }
      rewriting.link = { _, target, _ in
        _ = self.resolve(target, in: document, line: part.line)
        return ""
      }
      _ = rewriting(part.text)
    }
  }

  // MARK: Articles

  /// The articles as docs/README.md has them, one list for each of its tables.
  func listedArticles() -> [[Article]] {
    parts(of: read("docs/README.md")).filter { !$0.isCode && $0.text.hasPrefix("|") }.map { table in
      table.text.matches(of: /\| \[[^\]]+\]\(([a-z-]+)\.md\) \| (.*) \|/).map {
        Article(name: String($0.1), summary: $0.2.prefix(1).uppercased() + $0.2.dropFirst() + ".")
      }
    }
  }

  func checkLists(of articles: [[Article]]) {
    let listed = Set(articles.joined().map(\.document))
    for name in names(in: "docs") where name != "README.md" && !listed.contains("docs/" + name) {
      faults.append("docs/README.md does not list docs/\(name)")
    }
    let groups = read(firstPage).split(separator: "\n### ").dropFirst().map { group in
      group.matches(of: /\n- <doc:([a-z-]+)>/).map { String($0.1) }
    }
    if groups.filter({ !$0.isEmpty }) != articles.map({ $0.map(\.name) }) {
      faults.append("\(firstPage) does not list the documents as docs/README.md does")
    }
  }

  /// The text of an article.
  /// - Parameters:
  ///   - articles: the names of all articles.
  ///   - types: the names of the types that become links; with none, options do not either.
  func text(of article: Article, articles: Set<String>, types: Set<String>) -> String {
    var linked: Set<String> = []
    var result = ""
    var hasTitle = false
    for part in parts(of: read(article.document)) {
      if part.isCode {
        result += part.text + "\n"
        continue
      }
      // What other scripts put between is of no use here.
      let lines = part.text.split(separator: "\n", omittingEmptySubsequences: false)
        .filter { !$0.hasPrefix("<!--") }
      if lines.isEmpty { continue }
      if part.heading != nil { linked = [] }
      let rewriting = rewriting(of: article, articles: articles, line: part.line) { code in
        guard part.heading == nil, let symbol = self.symbol(code, types: types),
          linked.insert(symbol).inserted
        else { return nil }
        return symbol
      }
      if hasTitle {
        result += rewriting(lines.joined(separator: "\n")) + "\n"
      } else {
        // DocC takes ticks in a title as they are.
        hasTitle = true
        result += part.text.filter { $0 != "`" } + "\n"
        result += "\n<!-- Made from \(article.document), which is the one to change. -->\n"
        result += "\n" + article.summary + "\n"
      }
    }
    while result.hasSuffix("\n\n") { result.removeLast() }
    return result
  }

  private func rewriting(
    of article: Article, articles: Set<String>, line: Int, symbol: @escaping (String) -> String?
  ) -> Rewriting {
    var result = Rewriting()
    result.codeSpan = { code, ticks in
      // Two ticks or more make a link to a symbol in DocC: no code there can have ticks in it.
      guard ticks == 1 else {
        return code.trimmingCharacters(in: .whitespaces).replacing("`", with: "\\`")
      }
      guard let symbol = symbol(code) else { return "`\(code)`" }
      return symbol == code ? "``\(code)``" : "[`\(code)`](doc:\(symbol))"
    }
    // DocC knows an image by the name of its file.
    result.image = { text, target in "![\(text)](\(target.split(separator: "/").last!))" }
    result.link = { text, target, next in
      guard let to = self.resolve(target, in: article.document, line: line) else {
        return "[\(text)](\(target))"
      }
      let name = to.path.split(separator: "/").last!
      if to.path == "docs/\(name)", articles.contains(String(name.dropLast(3))) {
        return "[\(text)](doc:\(name.dropLast(3))\(to.anchor.map { "#" + $0 } ?? ""))"
      }
      if [String(name), to.path].contains(text.filter { $0 != "`" }) { return "`\(to.path)`" }
      return next == ")" ? "\(text), `\(to.path)`" : "\(text) (`\(to.path)`)"
    }
    return result
  }

  /// The path of the symbol that a code span names. The documents call options `Options.name`.
  private func symbol(_ code: String, types: Set<String>) -> String? {
    if types.contains(code) { return code }
    if types.isEmpty { return nil }
    return code.wholeMatch(of: /Options\.([A-Za-z]+)/).map { "Store/Options/\($0.1)" }
  }

  // MARK: The work

  func run(isCheck: Bool) throws {
    let articles = listedArticles()
    checkLists(of: articles)
    let read =
      ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Benchmarks/README.md"]
      + names(in: "docs").map { "docs/" + $0 }
      + names(in: "docs/decisions").map { "docs/decisions/" + $0 }
    read.forEach(checkLinks)

    let types = Set(self.read(firstPage).matches(of: /\n- ``([A-Za-z]+)``/).map { String($0.1) })
    let all = Set(articles.joined().map(\.name))
    var written = 0
    let forUsers = Set((articles.first ?? []).map(\.name))
    for article in articles.joined() {
      let path = "\(articleFolder)/\(article.name).md"
      let text = text(
        of: article, articles: all, types: forUsers.contains(article.name) ? types : [])
      if (try? String(contentsOf: file(path), encoding: .utf8)) == text { continue }
      if isCheck {
        faults.append("\(path) is not what its document makes; run `make articles`")
      } else {
        try text.write(to: file(path), atomically: true, encoding: .utf8)
        written += 1
      }
    }
    for name in names(in: articleFolder) where !all.contains(String(name.dropLast(3))) {
      faults.append("\(articleFolder)/\(name) has no document; remove it")
    }
    if faults.isEmpty {
      print("articles: \(all.count), " + (isCheck ? "all current" : "\(written) written"))
    }
  }
}

let arguments = CommandLine.arguments.dropFirst()
guard arguments.isEmpty || arguments == ["--check"] else {
  print("usage: swift -swift-version 6 Scripts/articles.swift [--check]")
  exit(2)
}
let documents = Documents(
  root: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent())
try documents.run(isCheck: !arguments.isEmpty)
for fault in Set(documents.faults).sorted() { print("articles: " + fault) }
exit(documents.faults.isEmpty ? 0 : 1)
