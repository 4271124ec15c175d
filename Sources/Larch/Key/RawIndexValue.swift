/// Finds out whether the index values of a type are its raw values, as they are unless it declares others.
///
/// A key has the index value. Only if that is the raw value can the value be made from a key: with
/// `indexValue` of another case's raw value it would be that other case.
enum RawIndexValue {
  private static let known = Locked<[ObjectIdentifier: Bool]>([:])

  /// For an enum whose cases can be listed; nil for other types, whose values must be looked at.
  static func holds<Value: IndexKey & RawRepresentable>(for type: Value.Type) -> Bool?
  where Value.RawValue: IndexKey {
    guard Reflection.Kind(of: type) == .enumeration else { return nil }
    let id = ObjectIdentifier(type)
    if let known = known.withLock({ $0[id] }) { return known }
    guard let cases = Reflection.cases(of: type) else { return nil }
    let isRaw = cases.allSatisfy(holds)
    known.withLock { $0[id] = isRaw }
    return isRaw
  }

  /// For one value.
  static func holds<Value: IndexKey & RawRepresentable>(_ value: Value) -> Bool
  where Value.RawValue: IndexKey {
    let (index, raw) = (value.indexValue, value.rawValue)
    // The usual types, without an array for the values of each key.
    if areSameBytes(index, raw) || areSameTexts(index, raw) { return true }
    return KeyValue.compare(type(of: index).values(of: index), type(of: raw).values(of: raw)) == 0
  }

  @inline(__always)
  private static func areSameBytes<First, Second>(_ first: First, _ second: Second) -> Bool {
    guard First.self == Second.self, _isPOD(First.self) else { return false }
    return withUnsafeBytes(of: first) { a in
      withUnsafeBytes(of: second) { b in compareBytes(a, b) == 0 }
    }
  }

  @inline(__always)
  private static func areSameTexts<First, Second>(_ first: First, _ second: Second) -> Bool {
    guard First.self == String.self, Second.self == String.self else { return false }
    return unsafeBitCast(first, to: String.self) == unsafeBitCast(second, to: String.self)
  }
}
