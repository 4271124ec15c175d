import Foundation
import Larch

/// A line of the file that is imported.
struct Article: Record {
  var id: Int
  var sku: String
  var name: String
  var cents: Int
  var stock: Int?
  var tags: [String] = []
  var maker: Maker?

  struct Maker: Codable, Sendable { var name: String, country: String }

  static let schema = Schema<Article> {
    Unique(\.sku)
    Index(\.maker?.country)
    Index(\.tags)
    Default(\.tags, [])
    Default(\.stock, 10)
    Validate(\.cents, .range(1...))
  }
}

/// What clients write meanwhile.
struct Order: Record {
  var id = RecordID<Order>()
  var client: Int
  var number: Int
  var articleID: Article.ID?

  static let schema = Schema<Order> { Unique(\.client, \.number) }
}
