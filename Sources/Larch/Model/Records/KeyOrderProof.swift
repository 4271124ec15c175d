/// Finds out whether the cases of an enum have the order of their keys.
///
/// An ``IndexKey`` promises that. But an enum with a raw value gets its key automatically, and
/// often has a `<` in the order of its cases.
enum KeyOrderProof {
  /// An order of cases that is not that of their keys.
  struct Order: Sendable {
    /// The place of each case, by its byte. Cases with equal keys, of which neither comes first, share one.
    let places: [UInt8]
    /// The cases in this order, as text.
    let cases: String
  }

  private struct Finding {
    var isInOrder = true
    /// Nil if the keys have it.
    var order: Order?
  }

  private static let findings = Locked<[ObjectIdentifier: Finding]>([:])
  private static let equal = Locked<[ObjectIdentifier: Bool]>([:])

  /// False if two cases of the enum, or of the enum in the optional, contradict it.
  static func holds(for type: Any.Type) -> Bool { finding(for: type).isInOrder }

  /// The order of the own `<` of an enum, or of the enum in an optional, if its keys have another one.
  static func order(of type: Any.Type) -> Order? { finding(for: type).order }

  private static func finding(for type: Any.Type) -> Finding {
    let type = Reflection.unwrapped(type)
    guard Reflection.Kind(of: type) == .enumeration,
      let type = type as? any (IndexKey & Comparable).Type
    else { return Finding() }
    let id = ObjectIdentifier(type)
    if let known = findings.withLock({ $0[id] }) { return known }
    let finding = find(type)
    findings.withLock { $0[id] = finding }
    return finding
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

  private static func find<Key: IndexKey & Comparable>(_ type: Key.Type) -> Finding {
    guard let (cases, keys) = cases(of: type) else { return Finding() }
    let isInOrder = cases.indices.allSatisfy { a in
      cases.indices.allSatisfy { b in
        (cases[a] < cases[b]) == (KeyValue.compare(keys[a], keys[b]) < 0)
      }
    }
    if isInOrder { return Finding() }
    if cases.count == 1 { return Finding(isInOrder: false) }
    func precedes(_ a: Int, _ b: Int) -> Bool {
      // A `<` that has neither of two different cases first is no order; their keys are one.
      cases[a] < cases[b] || (!(cases[b] < cases[a]) && KeyValue.compare(keys[a], keys[b]) < 0)
    }
    let sorted = cases.indices.sorted(by: precedes)
    if zip(sorted, sorted.dropFirst()).allSatisfy({ KeyValue.compare(keys[$0], keys[$1]) <= 0 }) {
      return Finding(isInOrder: false)
    }
    var places = [UInt8](repeating: 0, count: cases.count)
    var text = ""
    for (number, byte) in sorted.enumerated() {
      let isFirst = number == 0
      let isTied = !isFirst && !precedes(sorted[number - 1], byte)
      places[byte] =
        isFirst ? 0 : isTied ? places[sorted[number - 1]] : places[sorted[number - 1]] + 1
      text += isFirst ? "" : isTied ? " = " : " < "
      text += keys[byte].map(\.description).joined(separator: ", ")
    }
    return Finding(isInOrder: false, order: Order(places: places, cases: text))
  }

  /// All cases of an enum without payloads, by their bytes, and the values of their keys.
  private static func cases<Key: IndexKey>(
    of type: Key.Type
  ) -> (cases: [Key], keys: [[KeyValue]])? {
    guard let cases = Reflection.cases(of: type) else { return nil }
    let coding = Key.keyCoding
    return (cases, cases.map { coding.values(of: $0) })
  }
}
