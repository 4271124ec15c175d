/// Older names of the fields of a type, by their present coding name.
struct FieldAliases: Equatable, Sendable {
  private(set) var byOwner: [ObjectIdentifier: [String: [String]]] = [:]

  var isEmpty: Bool { byOwner.isEmpty }

  func older(_ name: String, of owner: ObjectIdentifier?) -> [String] {
    guard let owner else { return [] }
    return byOwner[owner]?[name] ?? []
  }

  /// Whether it is an older name of any field of the type.
  func isOlder(_ name: String, of owner: ObjectIdentifier) -> Bool {
    byOwner[owner]?.values.contains { $0.contains(name) } ?? false
  }

  mutating func add(_ older: String, to name: String, of owner: ObjectIdentifier) {
    byOwner[owner, default: [:]][name, default: []].append(older)
  }

  mutating func add(_ other: FieldAliases) {
    for (owner, names) in other.byOwner {
      for (name, older) in names {
        for one in older where !self.older(name, of: owner).contains(one) {
          add(one, to: name, of: owner)
        }
      }
    }
  }
}
