/// How many writes a change consists of, and who made them.
///
/// Without a named author it takes no memory of its own, so a commit pays nothing for it.
package struct Authorship: Sendable, Hashable {
  /// The authors that were named.
  package private(set) var names: Set<String> = []
  /// Whether some of the writes have no author, or one that is not known.
  package private(set) var hasOthers = false
  package private(set) var count = 0

  package init() {}

  /// One write; nil for a write without an author.
  package init(_ author: String?) { add(author) }

  /// What others did, or nobody knows: it counts as one write.
  static let unknown = Authorship(nil)

  mutating func add(_ author: String?) {
    count += 1
    if let author { names.insert(author) } else { hasOthers = true }
  }

  /// Somebody else may have written too.
  mutating func addUnknownAuthor() { hasOthers = true }

  mutating func add(_ other: Authorship) {
    count += other.count
    hasOthers = hasOthers || other.hasOthers
    if !other.names.isEmpty { names.formUnion(other.names) }
  }

  /// Whether all of the writes are of one author.
  func isOnly(_ author: String) -> Bool {
    !hasOthers && names.count == 1 && names.contains(author)
  }
}

extension ChangeEvent {
  /// The writes of the event. Those of other processes are not known.
  var authorship: Authorship {
    if case .commit(_, let changes) = self { changes.authorship } else { .unknown }
  }
}
