/// The effects of deleting records by the rules of their associations.
///
/// ```swift
/// let plan = try store.deletionPlan(for: company)
/// if plan.isAllowed { try store.write { tx in try tx.delete(company) } } else { print(plan) }
/// ```
///
/// The planner of the deletion itself makes it, so it is exact.
public struct DeletionPlan: Sendable {
  /// One record that would be affected.
  public struct Entry: Sendable, Hashable {
    /// The collection of the record.
    public let collection: String
    /// The id of the record, as text.
    public let id: String
    /// The association whose rule applies, such as `Person.companyID`; nil for a record whose
    /// deletion was requested.
    public let association: String?
    /// The collection of the record at the other end of the association: the deleted one that
    /// causes this, or the one that prevents the deletion.
    public let otherCollection: String?
    /// The id of that record, as text.
    public let otherID: String?
  }

  /// The number of affected records of a collection.
  public struct Count: Sendable, Hashable {
    /// The collection.
    public let collection: String
    /// The number of its records that would be deleted.
    public let deleted: Int
    /// The number of references in its records that would be removed.
    public let nullified: Int
    /// The number of times that a rule forbids deleting one of its records.
    public let refused: Int
  }

  /// The records that would be deleted, without duplicates: the requested ones first.
  public let deleted: [Entry]
  /// The references that would be removed from records that stay, each with the deleted record.
  public let nullified: [Entry]
  /// The records that cannot be deleted, each with the record that prevents it. Unless this is
  /// empty, nothing is deleted at all.
  public let refused: [Entry]
  /// The typed ids, by the type of the record.
  private let typed: [ObjectIdentifier: any Sendable]

  init(_ recorder: DeletionRecorder, typed: [ObjectIdentifier: any Sendable]) {
    deleted = recorder.deleted
    nullified = recorder.nullified
    refused = recorder.refused
    self.typed = typed
  }

  /// Whether no rule forbids the deletion.
  public var isAllowed: Bool { refused.isEmpty }

  /// The ids of the records of a type that would be deleted, in order.
  ///
  /// - Complexity: O(1).
  public func ids<R: Record>(_ type: R.Type) -> [R.ID] {
    typed[ObjectIdentifier(type)] as? [R.ID] ?? []
  }

  /// The number of entries of each collection, sorted by collection name.
  ///
  /// - Complexity: O(entries).
  public var counts: [Count] {
    var sums: [String: (deleted: Int, nullified: Int, refused: Int)] = [:]
    for entry in deleted { sums[entry.collection, default: (0, 0, 0)].deleted += 1 }
    for entry in nullified { sums[entry.collection, default: (0, 0, 0)].nullified += 1 }
    for entry in refused { sums[entry.collection, default: (0, 0, 0)].refused += 1 }
    return sums.sorted { $0.key < $1.key }.map {
      Count(
        collection: $0.key, deleted: $0.value.deleted, nullified: $0.value.nullified,
        refused: $0.value.refused)
    }
  }
}

extension DeletionPlan: CustomStringConvertible {
  /// A line for each collection, then one for each entry.
  public var description: String {
    if deleted.isEmpty { return "nothing to delete" }
    var lines = counts.map { count in
      var parts: [String] = []
      if count.deleted > 0 { parts.append("delete \(count.deleted)") }
      if count.nullified > 0 { parts.append("nullify \(count.nullified)") }
      if count.refused > 0 { parts.append("refuse \(count.refused)") }
      return "\(count.collection): \(parts.joined(separator: ", "))"
    }
    lines += deleted.map { $0.line("delete", "because of") }
    lines += nullified.map { $0.line("nullify", "because of") }
    lines += refused.map { $0.line("refuse", "while there is") }
    return lines.joined(separator: "\n")
  }
}

extension DeletionPlan.Entry {
  fileprivate func line(_ verb: String, _ reason: String) -> String {
    guard let association, let otherCollection, let otherID else {
      return "\(verb) \(collection) \(id)"
    }
    return "\(verb) \(collection) \(id): \(association), \(reason) \(otherCollection) \(otherID)"
  }
}
