internal import Larch
package import LarchInspection

/// Names of collections that a user types.
package enum CollectionName {
  /// The requested collections, sorted by name: one, or all for nil.
  ///
  /// - Throws: `UsageError` for a name that the store does not have.
  package static func chosen(
    _ name: String?, in inspector: StoreInspector
  ) throws -> [StoreInspector.Collection] {
    let sorted = inspector.collections.sorted { $0.name < $1.name }
    guard let name else { return sorted }
    guard let found = sorted.first(where: { $0.name == name }) else {
      throw missing(name, among: sorted.map(\.name))
    }
    return [found]
  }

  /// The error for an unknown name.
  package static func missing(_ name: String, among known: [String]) -> UsageError {
    if let meant = SimilarName.best(for: name, among: known) {
      return UsageError("the store has no collection \(Quoted(name)); did you mean \(meant)?")
    }
    let list = known.prefix(12).map { Printable.escaped($0) }.joined(separator: ", ")
    return UsageError(
      "the store has no collection \(Quoted(name)); it has "
        + (known.isEmpty ? "none" : list + (known.count > 12 ? ", …" : "")))
  }
}
