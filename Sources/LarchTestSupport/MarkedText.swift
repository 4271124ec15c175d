internal import Larch

/// An id that may differ in the next run: one that a store assigned, or any UUID.
struct MarkedID: Hashable, Sendable {
  /// The collection of an assigned id. Nil for a UUID, which is the same everywhere.
  let collection: String?
  /// The text of the id.
  let text: String

  init(collection: String?, text: String) {
    self.collection = collection
    self.text = text
  }
}

/// A text with a mark in place of each id, so that the ids can get other names.
struct MarkedText: Sendable {
  /// The mark for an id. No text of a dump contains it: control characters are escaped there.
  static let mark = "\u{1}"

  let text: String
  /// One id per mark, in order.
  let ids: [MarkedID]

  /// The text with a name for each id.
  func text(naming name: (MarkedID) -> String) -> String {
    if ids.isEmpty { return text }
    var result = ""
    for (place, piece) in text.split(separator: Self.mark, omittingEmptySubsequences: false)
      .enumerated()
    {
      if place > 0 { result += name(ids[place - 1]) }
      result += piece
    }
    return result
  }
}

/// Finds ids in a record while it is written as text.
private struct IDMarks {
  /// The places of assigned ids in a record, by coding names, with their collections.
  let collections: [[String]: String]
  private(set) var found: [MarkedID] = []

  init(collections: [[String]: String]) { self.collections = collections }

  /// The mark for a value that is such an id, which is then noted.
  mutating func take(_ path: [String], _ kind: FieldKind, _ text: String) -> String? {
    switch kind {
    case .uuid:
      found.append(MarkedID(collection: nil, text: String(text.dropFirst().dropLast())))
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64:
      guard let collection = collections[path] else { return nil }
      found.append(MarkedID(collection: collection, text: text))
    default: return nil
    }
    return MarkedText.mark
  }
}

extension MarkedText {
  /// A record as JSON.
  ///
  /// - Parameter collections: the places of its assigned ids, by coding names, with their
  ///   collections.
  init(_ record: RawRecord, assigned collections: [[String]: String]) throws {
    var marks = IDMarks(collections: collections)
    text = try record.json { marks.take($0, $1, $2) }
    ids = marks.found
  }
}
