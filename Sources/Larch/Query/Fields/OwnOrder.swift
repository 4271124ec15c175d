/// The order of an enum's own `<`, where the keys have another one.
///
/// Filters with `<` ask the values themselves. Whatever sorts, or looks for the least value, compares
/// the places of the cases in that order.
struct OwnOrder<Value>: Sendable {
  /// The form of the places: a number, or nil.
  let form: KeyForm
  /// The place of a value as a key value.
  let place: @Sendable (Value) -> KeyValue
  /// The cases in this order.
  private let cases: String

  /// Nil if the keys of the values have their order.
  init?() {
    guard let order = KeyOrderProof.order(of: Value.self) else { return nil }
    func caseReader<Key>(_: Key.Type) -> (@Sendable (Value) -> UInt8?)? {
      // The first byte of an enum without payloads is its case. `Key` is `Value`, or its optional is.
      if Value.self == Key.self {
        return { value in withUnsafeBytes(of: value) { $0[0] } }
      }
      if Value.self == Key?.self {
        return { value in
          unsafeBitCast(value, to: Key?.self).map { key in withUnsafeBytes(of: key) { $0[0] } }
        }
      }
      return nil
    }
    let type = Reflection.unwrapped(Value.self)
    guard let caseOf = _openExistential(type, do: caseReader) else { return nil }
    let number = KeyForm.primitive(.uint8)
    form = Value.self is any OptionalType.Type ? .optional(number) : number
    cases = order.cases
    place = { value in
      guard let byte = caseOf(value) else { return .null }
      // The memory of an enum of C may have any byte.
      let places = order.places
      return .unsigned(UInt64(Int(byte) < places.count ? places[Int(byte)] : byte))
    }
  }

  /// Whether a value is the nil of an optional.
  func isNil(_ value: Value) -> Bool { if case .null = place(value) { true } else { false } }

  /// The field by which rows are sorted, for the field that has the values.
  func field<Root>(
    of name: String, _ identity: FieldIdentity, _ read: @escaping @Sendable (Root) -> Value
  ) -> TypedField<Root> {
    TypedField(
      form: form, isMultiple: false, isStandard: false, name: "\(name) by its own <",
      identity: .place(of: identity, cases: cases),
      forEachValue: { [place] record, body in
        var values = KeyValues()
        values.append(place(read(record)))
        _ = body(values)
      })
  }
}

/// How values of a type are compared by an order.
struct ValueOrder<Value>: Sendable {
  /// Nil if the keys of the values have their order.
  private let own = OwnOrder<Value>()

  var isOwn: Bool { own != nil }

  /// What a value is compared by: the values of its key, or its place in its own order.
  ///
  /// - Parameters:
  ///   - key: the values of its key.
  ///   - value: returns it.
  @inline(__always)
  func values(_ key: [KeyValue], of value: () throws -> Value) rethrows -> [KeyValue] {
    guard let own else { return key }
    return [own.place(try value())]
  }
}
