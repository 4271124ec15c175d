internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// `commit-once <store> <what>`: makes one commit, and ends. It saves an entry, begins an outbox, or puts a
/// compacted file in the place of the store.
func commitOnce(_ arguments: [String]) throws {
  guard arguments.count == 2 else { throw UsageError() }
  limitLifetime()
  let store = try Store(at: arguments[0], for: Entry.self)
  defer { store.close() }
  switch arguments[1] {
  case "save":
    var entry = Entry(id: "of the child", owner: 1, text: "", value: nil)
    try store.save(&entry)
  case "outbox": try store.environment.beginOutbox(role: .writer, place: .start)
  case "compact": try store.compact()
  default: throw UsageError()
  }
}
