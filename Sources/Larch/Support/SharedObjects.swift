/// An object that all who describe the same thing share. See `SharedObjects`.
///
/// Unchecked, since its owner guards the number of users, and each subclass says what guards its own.
class SharedObject: @unchecked Sendable {
  /// Equal for objects that are the same.
  let hash: Int
  /// Guarded by the owner.
  fileprivate var users = 0

  init(hash: Int) { self.hash = hash }

  /// Whether two objects describe the same thing.
  func isSame(as other: SharedObject) -> Bool { self === other }
}

/// Finds objects by what they describe, as long as somebody uses them.
final class SharedObjects: Sendable {
  private struct Entry: Hashable {
    let object: SharedObject

    static func == (a: Entry, b: Entry) -> Bool { a.object.isSame(as: b.object) }

    func hash(into hasher: inout Hasher) { hasher.combine(object.hash) }
  }

  private let entries = Locked<Set<Entry>>([])

  /// Begins a use of an object, or of the same one that others use already. `endUse` must follow.
  func use<Object: SharedObject>(_ object: Object) -> Object {
    entries.withLock { entries in
      let found = entries.insert(Entry(object: object)).memberAfterInsert.object
      // The same thing has the same class, and if it had not, nothing would be shared.
      guard let found = found as? Object else { return object }
      found.users += 1
      return found
    }
  }

  /// Ends a use of an object that `use` has returned.
  func endUse(_ object: SharedObject) {
    entries.withLock { entries in
      object.users -= 1
      if object.users == 0 { entries.remove(Entry(object: object)) }
    }
  }

  /// How many different objects are in use, for tests.
  var count: Int { entries.withLock { $0.count } }
}
