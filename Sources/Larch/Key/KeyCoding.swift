/// How the values of a type are written as keys, and read from them: its ``IndexKey/_key``.
///
/// The classes of the standard types are not generic, because a method of a generic class is
/// compiled once for all types, and a save calls `write` for each indexed field.
class KeyCoding<Value>: _Witness, @unchecked Sendable {
  /// What the bytes stand for.
  let form: KeyForm
  /// Whether the bytes can be made from the stored field.
  let isStandard: Bool

  init(_ form: KeyForm, isStandard: Bool) {
    self.form = form
    self.isStandard = isStandard
  }

  /// Writes the bytes of a key.
  func write(_ value: Value, to writer: inout KeyWriter, isLast: Bool) {
    // Only Larch makes codings, and each overrides this.
    preconditionFailure("\(Self.self) does not write.")
  }

  /// Appends the standard values that stand for a value.
  func append(_ value: Value, to values: inout KeyValues) {
    // As above.
    preconditionFailure("\(Self.self) has no values.")
  }

  /// Makes the value that a standard value stands for; false if that does not determine it. Without
  /// an optional, whose type would be looked up for each row.
  func make(_ known: KeyValue, at target: UnsafeMutablePointer<Value>) -> Bool { false }

  /// Makes the value from its bytes in a key, without end mark and escapes, as `make` does from the standard
  /// value of these bytes; false if that must be asked.
  func make(component: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<Value>) -> Bool {
    false
  }

  /// Whether that makes any value.
  var readsComponents: Bool { false }

  /// Whether keys of a type with raw values have other values, which it declares.
  var hasOtherValues: Bool { false }

  /// Whether some may have them, so that each value must be asked.
  var mayHaveOtherValues: Bool { false }

  /// Whether the key of a value is that of its raw value.
  func isRawValue(_ value: Value) -> Bool { true }

  /// How optionals of the type are written.
  func optional() -> KeyCoding<Value?> { OptionalKey(self) }

  /// How records with an id of this type are stored; nil for a type that cannot be an id.
  var idKind: RecordIDKind? { nil }

  /// The id with this number, if the store assigns ids of this type.
  func assigned(_ number: Int64) -> Value? { nil }

  /// Gives an id this number; false if the store does not assign ids of this type. Without an
  /// optional, whose type would be looked up for each record.
  func assign(_ number: Int64, to id: inout Value) -> Bool {
    guard let assigned = assigned(number) else { return false }
    id = assigned
    return true
  }

  /// Makes the id of the record that is stored under this key; false if only another way, or the
  /// record, tells how the id was written.
  func makeID(_ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<Value>) -> Bool {
    false
  }

  /// The values of one key.
  final func values(of value: Value) -> [KeyValue] {
    var values = KeyValues()
    append(value, to: &values)
    return values.list
  }

  /// The value of these key values; nil if they do not determine it.
  final func read(_ list: [KeyValue]) -> Value? {
    guard list.count == 1 else { return nil }
    return withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { room in
      guard let start = room.baseAddress, make(list[0], at: start) else { return nil }
      return start.move()
    }
  }
}

extension IndexKey {
  /// How this type is written as a key. A generic type makes it for each call, so a caller with many
  /// values asks once.
  static var keyCoding: KeyCoding<Self> { _key.typed() }

  /// The values of one key.
  static func values(of value: Self) -> [KeyValue] { keyCoding.values(of: value) }
}

/// For a type that another one represents.
class DerivedKey<Value: IndexKey>: KeyCoding<Value>, @unchecked Sendable {
  private let representing: KeyCoding<Value.IndexValue>

  init() {
    // A declaration of the program, met when a store is opened for it; no data comes here.
    precondition(
      Value.IndexValue.self != Value.self,
      "\(Value.self).indexValue must not be of type \(Value.self) itself: use a standard type, or a type whose own indexValue is one."
    )
    representing = Value.IndexValue.keyCoding
    super.init(representing.form, isStandard: false)
  }

  override final func write(_ value: Value, to writer: inout KeyWriter, isLast: Bool) {
    representing.write(value.indexValue, to: &writer, isLast: isLast)
  }

  override final func append(_ value: Value, to values: inout KeyValues) {
    representing.append(value.indexValue, to: &values)
  }
}

/// For a type that can be made from its raw value, where that is its index value.
final class RawValueKey<Value: IndexKey & RawRepresentable>: DerivedKey<Value>, @unchecked Sendable
where Value.RawValue: IndexKey {
  private let raw = Value.RawValue.keyCoding
  /// Whether it is for all values; nil if each must be asked.
  private let isRaw = RawIndexValue.holds(for: Value.self)

  override func make(_ known: KeyValue, at target: UnsafeMutablePointer<Value>) -> Bool {
    if isRaw == false { return false }
    return make(at: target, isIndexValue: true) { raw.make(known, at: $0) }
  }

  override func make(
    component: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<Value>
  ) -> Bool {
    if isRaw == false { return false }
    return make(at: target, isIndexValue: true) { raw.make(component: component, at: $0) }
  }

  override var hasOtherValues: Bool { isRaw == false }

  override var mayHaveOtherValues: Bool { isRaw != true }

  override func isRawValue(_ value: Value) -> Bool { isRaw == true || RawIndexValue.holds(value) }

  override var readsComponents: Bool { isRaw != false && raw.readsComponents }

  override var idKind: RecordIDKind? { raw.idKind }

  override func assigned(_ number: Int64) -> Value? {
    raw.assigned(number).flatMap { Value(rawValue: $0) }
  }

  override func makeID(
    _ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<Value>
  ) -> Bool {
    // The key of a record has the raw value of its id.
    make(at: target, isIndexValue: false) { raw.makeID(key, at: $0) }
  }

  /// - Parameter isIndexValue: whether the value is made from its index value.
  private func make(
    at target: UnsafeMutablePointer<Value>, isIndexValue: Bool,
    _ makeRaw: (UnsafeMutablePointer<Value.RawValue>) -> Bool
  ) -> Bool {
    withUnsafeTemporaryAllocation(of: Value.RawValue.self, capacity: 1) { room in
      guard let start = room.baseAddress, makeRaw(start) else { return false }
      guard let value = Value(rawValue: start.move()) else { return false }
      if isIndexValue, isRaw != true, !RawIndexValue.holds(value) { return false }
      target.initialize(to: value)
      return true
    }
  }
}

/// For a character: the string of it alone.
final class CharacterKey: DerivedKey<Character>, @unchecked Sendable {
  override func make(_ known: KeyValue, at target: UnsafeMutablePointer<Character>) -> Bool {
    guard case .string(let text) = known, text.count == 1, let character = text.first else {
      return false
    }
    target.initialize(to: character)
    return true
  }
}

/// For an optional: `00` for nil; `01`, then the value.
class OptionalKey<Wrapped>: KeyCoding<Wrapped?>, @unchecked Sendable {
  private let wrapped: KeyCoding<Wrapped>
  private let needsMark: Bool

  init(_ wrapped: KeyCoding<Wrapped>) {
    self.wrapped = wrapped
    needsMark = wrapped.form.mayBeginWithNil
    super.init(.optional(wrapped.form), isStandard: wrapped.isStandard)
  }

  override func write(_ value: Wrapped?, to writer: inout KeyWriter, isLast: Bool) {
    if let value {
      writer.appendPresent()
      wrapped.write(value, to: &writer, isLast: isLast)
    } else {
      writer.appendNil()
    }
  }

  override func append(_ value: Wrapped?, to values: inout KeyValues) {
    guard let value else { return values.append(.null) }
    if needsMark { values.append(.present) }
    wrapped.append(value, to: &values)
  }

  override func make(_ known: KeyValue, at target: UnsafeMutablePointer<Wrapped?>) -> Bool {
    if case .null = known {
      target.initialize(to: nil)
      return true
    }
    return withUnsafeTemporaryAllocation(of: Wrapped.self, capacity: 1) { room in
      guard let start = room.baseAddress, wrapped.make(known, at: start) else { return false }
      target.initialize(to: start.move())
      return true
    }
  }
}

/// For several values, one after the other. It is not a stored field.
final class SeveralKeys<First: IndexKey, each Rest: IndexKey>: KeyCoding<
  CompositeKey<First, repeat each Rest>
>, @unchecked Sendable
{
  private let first: KeyCoding<First>
  private let rest: (repeat KeyCoding<each Rest>)
  private let count: Int

  init() {
    let first = First.keyCoding
    // Not read from the property: Swift 6.3 cannot compile that before `super.init` without
    // optimization.
    let rest = (repeat (each Rest).keyCoding)
    var parts = [first.form]
    for coding in repeat each rest { parts.append(coding.form) }
    self.first = first
    self.rest = rest
    count = parts.count
    super.init(.composite(parts), isStandard: false)
  }

  override func write(
    _ value: CompositeKey<First, repeat each Rest>, to writer: inout KeyWriter, isLast: Bool
  ) {
    var remaining = count - 1
    first.write(value.first, to: &writer, isLast: isLast && remaining == 0)
    for (coding, part) in repeat (each rest, each value.rest) {
      remaining -= 1
      coding.write(part, to: &writer, isLast: isLast && remaining == 0)
    }
  }

  override func append(
    _ value: CompositeKey<First, repeat each Rest>, to values: inout KeyValues
  ) {
    first.append(value.first, to: &values)
    for (coding, part) in repeat (each rest, each value.rest) { coding.append(part, to: &values) }
  }
}
