import Foundation
import Larch
import Workload

/// Larch with `Search(\.title, \.body)`.
final class LarchTexts: TextPeer {
  static let name = "Larch"

  struct Article: Record {
    var id = RecordID<Article>()
    var title: String
    var body: String
    var year: Int

    static let schema = Schema<Article> { Search(\.title, \.body) }
  }

  /// The same collection before somebody wanted to search it.
  struct PlainArticle: Record {
    var id = RecordID<PlainArticle>()
    var title: String
    var body: String
    var year: Int

    static let collectionName = Article.collectionName
  }

  private let store: Store
  private let path: String
  private let isIndexed: Bool

  init(directory: String, isIndexed: Bool, isLogged: Bool) throws {
    path = directory + "/texts.larch"
    self.isIndexed = isIndexed
    var options = Store.Options()
    if isLogged { options.durability = .logged }
    store =
      isIndexed
      ? try Store(at: path, for: Article.self, options: options)
      : try Store(at: path, for: PlainArticle.self, options: options)
  }

  func close() { store.close() }

  func save(_ texts: [TextWorkload.Text]) throws {
    for start in stride(from: 0, to: texts.count, by: TextBenchmark.saveLimit) {
      let part = texts[start..<min(start + TextBenchmark.saveLimit, texts.count)]
      try store.write { tx in
        for text in part {
          if isIndexed {
            var article = Article(title: text.title, body: text.body, year: text.year)
            try tx.save(&article)
          } else {
            var article = PlainArticle(title: text.title, body: text.body, year: text.year)
            try tx.save(&article)
          }
        }
      }
    }
  }

  func optimize() -> Bool { false }

  func change(_ changes: ArraySlice<TextChange>) throws {
    try store.write { tx in
      for change in changes {
        guard var article = try tx.find(Article.self, RecordID(change.id)) else {
          throw BenchmarkError("Larch: no text \(change.id)")
        }
        article.body = change.body
        try tx.update(article)
      }
    }
  }

  private func query(_ typed: String) -> Query<Article> {
    let words = Larch.TextQuery(typed)
    return Article.where { words.matches($0.title, $0.body) }
  }

  func count(_ typed: String) throws -> Int { try store.count(query(typed)) }

  func first(_ limit: Int, _ typed: String) throws -> [FoundText] {
    try store.fetch(query(typed).limit(limit)).map(FoundText.init)
  }

  func best(_ limit: Int, _ typed: String) throws -> [FoundText] {
    try store.fetch(query(typed).sortedByRelevance().limit(limit)).map(FoundText.init)
  }

  func all() throws -> QueryResult {
    try store.read { tx in
      var result = QueryResult()
      for article in try tx.all(Article.self) {
        FoundText(article).add(to: &result, .bytes)
      }
      return result
    }
  }

  func sizes() throws -> TextSizes {
    let collections = try store.statistics(exact: true).collections
    return TextSizes(
      file: try TextBenchmark.fileSize(path), used: collections.reduce(0) { $0 + $1.bytes })
  }

  func verify() throws {
    let report = try store.verify()
    guard report.faultCount == 0 else { throw BenchmarkError("Larch: \(report.faultCount) faults") }
  }
}

extension FoundText {
  init(_ article: LarchTexts.Article) {
    id = article.id.rawValue
    title = article.title
    body = article.body
    year = article.year
  }
}
