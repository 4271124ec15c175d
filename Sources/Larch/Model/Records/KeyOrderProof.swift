/// Finds out whether the cases of an enum have the order of their keys.
///
/// An ``IndexKey`` promises that. But an enum with a raw value gets its key automatically, and
/// often has a `<` in the order of its cases.
enum KeyOrderProof {
  /// The place of each case by its byte, for enums whose keys have another order.
  private static let places = Locked<[ObjectIdentifier: [UInt8]?]>([:])
  private static let equal = Locked<[ObjectIdentifier: Bool]>([:])

  /// False if two cases of the enum, or of the enum in the optional, contradict it.
  static func holds(for type: Any.Type) -> Bool { places(of: type) == nil }

  /// The place of each case in the order of its own `<`, by its byte: for an enum, or an enum in an
  /// optional, whose keys have another order.
  static func places(of type: Any.Type) -> [UInt8]? {
    guard let type = Reflection.unwrapped(type) as? any (IndexKey & Comparable).Type,
      Reflection.Kind(of: type) == .enumeration
    else { return nil }
    let id = ObjectIdentifier(type)
    if let known = places.withLock({ $0[id] }) { return known }
    let found = find(type)
    places.withLock { $0[id] = .some(found) }
    return found
  }

  /// Whether two cases of an enum without payloads are equal exactly if their keys are. False if that
  /// is not known: the `==` of another type may be its own.
  static func provesEquality(of type: Any.Type) -> Bool {
    guard let type = type as? any (IndexKey & Equatable).Type,
      Reflection.Kind(of: type) == .enumeration
    else { return false }
    let id = ObjectIdentifier(type)
    if let known = equal.withLock({ $0[id] }) { return known }
    let isProved = compareEquality(type)
    equal.withLock { $0[id] = isProved }
    return isProved
  }

  private static func compareEquality<Key: IndexKey & Equatable>(_ type: Key.Type) -> Bool {
    guard let (cases, keys) = cases(of: type) else { return false }
    return cases.indices.allSatisfy { a in
      cases.indices.allSatisfy { b in
        (cases[a] == cases[b]) == KeyValue.areEqual(keys[a], keys[b])
      }
    }
  }

  private static func find<Key: IndexKey & Comparable>(_ type: Key.Type) -> [UInt8]? {
    guard let (cases, keys) = cases(of: type) else { return nil }
    let isInOrder = cases.indices.allSatisfy { a in
      cases.indices.allSatisfy { b in
        (cases[a] < cases[b]) == (KeyValue.compare(keys[a], keys[b]) < 0)
      }
    }
    if isInOrder { return nil }
    let order = cases.indices.sorted { a, b in
      // A `<` that has neither of two cases first is no order; their keys are one.
      cases[a] < cases[b]
        || (!(cases[b] < cases[a]) && KeyValue.compare(keys[a], keys[b]) < 0)
    }
    var places = [UInt8](repeating: 0, count: cases.count)
    for (place, byte) in order.enumerated() { places[byte] = UInt8(place) }
    return places
  }

  /// All cases of an enum without payloads, by their bytes, and the values of their keys.
  private static func cases<Key: IndexKey>(
    of type: Key.Type
  ) -> (cases: [Key], keys: [[KeyValue]])? {
    guard Reflection.isTrusted, let count = Reflection.caseCount(of: type) else { return nil }
    let cases = (0..<count).compactMap {
      Reflection.value(of: type, byte: UInt8(truncatingIfNeeded: $0))
    }
    guard cases.count == count else { return nil }
    let coding = Key.keyCoding
    return (cases, cases.map { coding.values(of: $0) })
  }
}
