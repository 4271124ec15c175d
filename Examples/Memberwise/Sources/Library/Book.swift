import Foundation
import Larch

/// Codable through a protocol of this target.
package protocol LibraryRecord: Record {
  var title: String { get }
}

package struct Book: LibraryRecord {
  package var id = RecordID<Book>()
  package var title: String
  package var cover: Cover?
  package var editions: [Edition] = []

  package struct Edition: Codable, Sendable, Hashable {
    package var year: Int
    package var pages: Int
    package init(year: Int, pages: Int) {
      self.year = year
      self.pages = pages
    }
  }

  package init(title: String, cover: Cover? = nil, editions: [Edition] = []) {
    self.title = title
    self.cover = cover
    self.editions = editions
  }
}

/// What a book is bound in. It is public, and so is what the plugin adds to it.
@available(macOS 15, *)
public struct Cover: Codable, Sendable, Hashable {
  /// In words.
  public var color: String
  var isHard = true
  /// A hard cover.
  public init(color: String) { self.color = color }
}
