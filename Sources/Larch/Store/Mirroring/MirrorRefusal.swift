/// Why a store does not ship to a log: the two do not have the same past.
enum MirrorRefusal {
  /// Another store continues the log.
  case superseded
  /// The file was replaced by a restored one.
  case restored
  /// All copies of a shared store write to the log.
  case shared
  /// The log has commits that the store never had.
  case foreign
  /// Another log has the commits that were shipped.
  case elsewhere(String)

  func error(_ path: String, _ log: String) -> LarchError {
    LarchError(.diverged, message) {
      $0.path = path
      $0.detail =
        if case .elsewhere(let other) = self { "\(log); mirrored to \(other)" } else { log }
    }
  }

  private var message: StaticString {
    switch self {
    case .superseded:
      "Another store continues the log: a follower was promoted, or a copy was restored. Open that one. Commits that were not shipped are in this file: `mirror.startOver()` to a log with another name, `larch mirror … --name NEW --replace`, makes it a store of its own."
    case .restored:
      "The store was restored, and its log has the commits of the time before. To keep them, mirror the store to another log; `mirror.startOver()`, `larch mirror … --replace`, puts the restored state in their place."
    case .shared:
      "The log is that of a shared store, to which all its copies write. Open the store with `Store(sharing:copy:for:)`, or choose another name for this one's log (`--name`)."
    case .foreign:
      "The log has commits that this store does not have: those of another store, or of this one before its mirror was ended. Check the address and the name (`--name`). `mirror.startOver()`, `larch mirror … --replace`, puts this store in their place. If the file that wrote them was lost, take its place with a new one: `Store.takeOver`, `larch restore … --take-over`."
    case .elsewhere:
      "The store is mirrored to another log, which the detail names. Check the address and the name (`--name`). `mirror.startOver()`, `larch mirror … --replace`, puts this store in place of whatever this log has, and moves the mirror here; the other log stays as it is."
    }
  }
}
