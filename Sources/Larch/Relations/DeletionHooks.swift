/// What of a plan concerns hooks: they run before it is done, and may change what has to be done.
final class DeletionHooks {
  /// One record.
  struct Doomed: Hashable {
    let place: Int
    let id: [UInt8]
  }

  /// A collection whose own hooks do not run.
  private let erased: CollectionHandle?
  /// The records with hooks that go, in the order in which they were found: first those that were
  /// asked for, then those that rules delete with them.
  private(set) var doomed: [Doomed] = []
  /// Whether hooks, or rules with code, run for records that lose references.
  private(set) var changesSurvivors = false
  /// What forbids the plan, unless a hook changes that.
  var denial: LarchError?

  init(erased: CollectionHandle?) { self.erased = erased }

  /// Whether any hook has to run.
  var isNeeded: Bool { changesSurvivors || !doomed.isEmpty }

  func noteDeleted(_ id: UnsafeRawBufferPointer, _ collection: CollectionHandle) {
    guard collection.schema.hasHooks, collection !== erased else { return }
    doomed.append(Doomed(place: collection.place, id: [UInt8](id)))
  }

  func noteNullified(in collection: CollectionHandle) {
    if collection.schema.savesRunCode, collection !== erased { changesSurvivors = true }
  }
}
