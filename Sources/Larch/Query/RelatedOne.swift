/// The record at the other end of an association that has one there, or none.
///
/// ```swift
/// let group = try store.fetch(user.related(User.group).one)  // Group?
/// ```
///
/// It is a value: nothing is read until it is used with a store or a transaction.
public struct RelatedOne<Owner: Record, Target: Record>: Sendable {
  let related: Related<Owner, Target>
}

extension Related {
  /// The one related record, for an association with one at its other end: fetching it gives an
  /// optional where fetching the related records gives an array. Of several, it is the one with the
  /// lowest id.
  public var one: RelatedOne<Owner, Target> { RelatedOne(related: self) }
}
