internal import Larch

/// An id that may be another one in the next run: one that a store assigned, or any UUID.
struct MarkedID: Hashable, Sendable {
  /// Of an assigned id: the collection whose it is. Nil for a UUID, which is the same wherever it is.
  let collection: String?
  /// The id as its collection shows it.
  let text: String

  init(collection: String?, text: String) {
    self.collection = collection
    self.text = text
  }
}

/// A text that has a mark in place of each id, so that the ids can be given other names.
struct MarkedText: Sendable {
  /// What stands for an id. No text of a dump has it: control characters are escaped there.
  static let mark = "\u{1}"

  let text: String
  /// One for each mark, in their order.
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
  /// Where a record has assigned ids, by coding names, and those of which collection they are.
  let collections: [[String]: String]
  private(set) var found: [MarkedID] = []

  init(collections: [[String]: String]) { self.collections = collections }

  /// The mark in place of a value that is such an id, which is then noted.
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
  /// - Parameter collections: where it has assigned ids, by coding names, and those of which
  ///   collection they are.
  init(_ record: RawRecord, assigned collections: [[String]: String]) throws {
    var marks = IDMarks(collections: collections)
    text = try record.json { marks.take($0, $1, $2) }
    ids = marks.found
  }
}
