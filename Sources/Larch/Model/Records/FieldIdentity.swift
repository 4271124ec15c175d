/// Identifies the field that a key path reads, so that a filter finds the index over it.
package enum FieldIdentity: Hashable, @unchecked Sendable {
  /// The id, under which the record is stored.
  case id
  /// A stored property, by the coding names that lead to it.
  case stored([String])
  /// A value of the decoded record only. Key paths are immutable; only their equality is used.
  case computed(AnyKeyPath)
  /// The place of the value of a field in its own order, where its keys have another one. The cases are in
  /// that order: those of another enum, or of another version of the program, may have other places.
  indirect case place(of: FieldIdentity, cases: String)

  init(_ keyPath: AnyKeyPath, _ resolution: FieldNaming.Resolution) {
    switch resolution {
    case .stored(_, ["id"]): self = .id
    case .stored(let names, _): self = .stored(names)
    case .computed: self = .computed(keyPath)
    }
  }
}
