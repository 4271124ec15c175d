/// Records the steps of a plan, for people to read.
final class DeletionRecorder {
  /// The association, and the record at its other end, that cause a step.
  struct Cause {
    let association: String
    let collection: String
    let id: String

    init(_ end: AssociationEnd, _ collection: CollectionHandle, _ id: UnsafeRawBufferPointer) {
      association = end.association.stored.key
      self.collection = collection.stored.name
      self.id = collection.stored.idKind.text(of: id)
    }
  }

  private(set) var deleted: [DeletionPlan.Entry] = []
  private(set) var nullified: [DeletionPlan.Entry] = []
  private(set) var refused: [DeletionPlan.Entry] = []

  func noteDeleted(
    _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle, cause: Cause?
  ) {
    deleted.append(entry(id, collection, cause))
  }

  func noteNullified(
    _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle, cause: Cause
  ) {
    nullified.append(entry(id, collection, cause))
  }

  func noteRefused(
    _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle, cause: Cause
  ) {
    refused.append(entry(id, collection, cause))
  }

  private func entry(
    _ id: UnsafeRawBufferPointer, _ collection: CollectionHandle, _ cause: Cause?
  ) -> DeletionPlan.Entry {
    DeletionPlan.Entry(
      collection: collection.stored.name, id: collection.stored.idKind.text(of: id),
      association: cause?.association, otherCollection: cause?.collection, otherID: cause?.id)
  }
}
