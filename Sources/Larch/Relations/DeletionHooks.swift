/// The hooks of a plan: they run before it is executed, and may change it.
final class DeletionHooks {
  /// One record.
  struct Doomed: Hashable {
    let place: Int
    let id: [UInt8]
  }

  /// A collection whose own hooks do not run.
  private let erased: CollectionHandle?
  /// The records with hooks that will be deleted, in the order in which they were found: first the
  /// requested ones, then those that rules delete.
  private(set) var doomed: [Doomed] = []
  /// Whether hooks, or rules with custom code, run for records that lose references.
  private(set) var changesSurvivors = false
  /// The error that forbids the plan, unless a hook removes the cause.
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
