/// An error of an element, and the key of the source to which a map traces it.
struct KeyedError: Error {
  let key: String
  let error: any Error

  /// The error without the key.
  static func plain(_ error: any Error) -> any Error { (error as? KeyedError)?.error ?? error }

  /// Runs `body` for the value of a key.
  static func under<T>(_ key: String, _ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as KeyedError {
      throw KeyedError(key: "\(key).\(error.key)", error: error.error)
    } catch {
      if error is ImportSkip || error is CancellationError { throw error }
      throw KeyedError(key: key, error: error)
    }
  }
}

/// What a map noted about an element, for the report.
struct MapTally {
  var unknown: [String: Int] = [:]
  var unused: [String: Int] = [:]
  var coerced: [String: Int] = [:]
  var related: [String: ImportRelated] = [:]
  /// Linked objects that a hook left out: the key and the reason.
  var omissions: [(key: String, reason: String)] = []

  var isEmpty: Bool {
    unknown.isEmpty && unused.isEmpty && coerced.isEmpty && related.isEmpty && omissions.isEmpty
  }

  mutating func noteUnknown(_ key: String) { unknown[key, default: 0] += 1 }

  /// Adds what was noted about an object under a key.
  mutating func add(_ other: MapTally, under key: String) {
    if other.isEmpty { return }
    for (name, count) in other.unknown { unknown["\(key).\(name)", default: 0] += count }
    for (name, count) in other.unused { unused["\(key).\(name)", default: 0] += count }
    for (name, count) in other.coerced { coerced["\(key).\(name)", default: 0] += count }
    for (name, counts) in other.related { related[name, default: ImportRelated()].add(counts) }
    omissions += other.omissions.map { ("\(key).\($0.key)", $0.reason) }
  }
}

extension ImportRelated {
  mutating func add(_ other: ImportRelated) {
    inserted += other.inserted
    updated += other.updated
    unchanged += other.unchanged
    linked += other.linked
  }

  mutating func count(_ change: SavedChange) {
    switch change {
    case .inserted: inserted += 1
    case .updated: updated += 1
    case .unchanged: unchanged += 1
    }
  }
}
