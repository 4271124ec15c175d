/// How an observer finds out whether a value differs from the one before.
enum ValueComparison<Value>: Sendable {
  /// By the digest of the stored records that it was made of.
  case stored
  /// By `==`. The last value is kept for it.
  case equality(any MemoryEquality)
  /// Not at all: each value that was read counts as another one.
  case unknown

  /// By `==`, if the type is `Equatable`.
  static func equality(of type: Value.Type) -> ValueComparison {
    memoryEquality(of: type).map { .equality($0) } ?? .unknown
  }

  /// What must be kept of a value, so that the next one can be compared with it.
  func kept(_ value: Value, _ digest: RowDigest) -> Kept {
    switch self {
    case .stored: .digest(digest.value)
    case .equality: .value(value)
    case .unknown: .nothing
    }
  }

  enum Kept {
    case nothing
    case digest(Int)
    /// In an object of its own: nothing is kept of the values of most observers.
    indirect case value(Value)
  }

  func isSame(_ old: Kept, _ new: Kept) -> Bool {
    switch (self, old, new) {
    case (.stored, .digest(let old), .digest(let new)): old == new
    case (.equality(let equality), .value(let old), .value(let new)):
      withUnsafePointer(to: old) { old in
        withUnsafePointer(to: new) { equality.areEqual(old, $0) }
      }
    default: false
    }
  }
}

extension ValueComparison.Kept: Sendable where Value: Sendable {}

extension Selection {
  /// The values of each field are compared, since a tuple is never `Equatable`.
  var rowComparison: ValueComparison<[Row]> {
    let elements = fields.compactMap { memoryEquality(of: $0.type) }
    guard elements.count == fields.count else { return .unknown }
    if elements.count == 1 { return .equality(ArrayEquality<Row>(element: elements[0])) }
    guard let offsets = TupleLayout.offsets(of: fields.map(\.type), in: Row.self) else {
      return .unknown
    }
    return .equality(
      ArrayEquality<Row>(element: TupleEquality(elements: Array(zip(offsets, elements)))))
  }
}

extension Grouped {
  var rowComparison: ValueComparison<[Row]> { parts.comparison }
}

/// How two keys of groups are compared: by the value of one field, or by those of several.
enum GroupEquality<Key>: Sendable {
  case key(Key.Type)
  case tuple(of: [Any.Type])

  /// How rows are compared that have such a key, and then values of these types.
  func rows<Row>(_ types: [Any.Type]) -> ValueComparison<[Row]> {
    guard let key, let offsets = TupleLayout.offsets(of: [Key.self] + types, in: Row.self) else {
      return .unknown
    }
    let elements = types.compactMap { memoryEquality(of: $0) }
    guard elements.count == types.count else { return .unknown }
    return .equality(
      ArrayEquality<Row>(element: TupleEquality(elements: Array(zip(offsets, [key] + elements)))))
  }

  private var key: (any MemoryEquality)? {
    switch self {
    case .key(let type): return memoryEquality(of: type)
    case .tuple(let types):
      let elements = types.compactMap { memoryEquality(of: $0) }
      guard elements.count == types.count,
        let offsets = TupleLayout.offsets(of: types, in: Key.self)
      else { return nil }
      return TupleEquality(elements: Array(zip(offsets, elements)))
    }
  }
}

// MARK: - Equality of values whose type is known only at run time

/// Compares two values in memory. It is found once for a type: to find it for each value would cost
/// more than to compare.
protocol MemoryEquality: Sendable {
  func areEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Bool
}

/// Nil if the type is not `Equatable`.
private func memoryEquality(of type: Any.Type) -> (any MemoryEquality)? {
  func open<E: Equatable>(_: E.Type) -> any MemoryEquality { TypedEquality<E>() }
  return (type as? any Equatable.Type).map { open($0) }
}

private struct TypedEquality<E: Equatable>: MemoryEquality {
  func areEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Bool {
    a.assumingMemoryBound(to: E.self).pointee == b.assumingMemoryBound(to: E.self).pointee
  }
}

private struct TupleEquality: MemoryEquality {
  /// With their offsets.
  let elements: [(Int, any MemoryEquality)]

  func areEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Bool {
    elements.allSatisfy { offset, element in element.areEqual(a + offset, b + offset) }
  }
}

private struct ArrayEquality<Element>: MemoryEquality {
  let element: any MemoryEquality

  func areEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Bool {
    a.assumingMemoryBound(to: [Element].self).pointee.withUnsafeBufferPointer { a in
      b.assumingMemoryBound(to: [Element].self).pointee.withUnsafeBufferPointer { b in
        guard a.count == b.count else { return false }
        guard let start = a.baseAddress, let other = b.baseAddress else { return true }
        return a.indices.allSatisfy { element.areEqual(start + $0, other + $0) }
      }
    }
  }
}
