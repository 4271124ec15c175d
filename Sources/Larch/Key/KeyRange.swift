/// The bytes with which keys begin, and whether they are cut, so that a scan finds more than
/// requested.
struct KeyPrefix: Equatable, Sendable {
  var bytes: [UInt8] = []
  var isCut = false

  init() {}

  /// What was written so far.
  init(_ writer: borrowing KeyWriter) {
    bytes = [UInt8](writer.bytes)
    isCut = writer.isCut
  }
}

/// An interval of key bytes for an index scan: from `lower`, which is included, to `upper`, which
/// is not.
///
/// A range with cut bounds contains more than requested, never less: with `needsCheck` the records
/// must be tested.
struct KeyRange: Equatable, Sendable {
  var lower: [UInt8]
  /// Nil for no upper bound.
  var upper: [UInt8]?
  var needsCheck: Bool

  /// Calls with the bounds as memory.
  @inline(__always)
  func withBounds<T>(
    _ body: (_ lower: UnsafeRawBufferPointer, _ upper: UnsafeRawBufferPointer?) throws -> T
  ) rethrows -> T {
    try lower.withUnsafeBytes { lower in
      guard let upper else { return try body(lower, nil) }
      return try upper.withUnsafeBytes { try body(lower, $0) }
    }
  }

  /// Whether no key can be in it.
  var isEmpty: Bool {
    guard let upper else { return false }
    return lower.withUnsafeBytes { a in upper.withUnsafeBytes { b in compareBytes(a, b) >= 0 } }
  }

  /// Whether no key can be in it but one.
  var isOneKey: Bool {
    guard let upper, upper.count == lower.count + 1, upper.last == 0 else { return false }
    return lower.withUnsafeBytes { a in
      upper.withUnsafeBytes { b in compareBytes(a, UnsafeRawBufferPointer(rebasing: b.dropLast())) }
    } == 0
  }

  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    lower.withUnsafeBytes { compareBytes($0, key) <= 0 }
      && (upper?.withUnsafeBytes { compareBytes(key, $0) < 0 } ?? true)
  }

  /// The least bytes after everything that begins with `prefix`; nil if there are none.
  static func successor(ofPrefix prefix: [UInt8]) -> [UInt8]? {
    var bytes = prefix
    while let last = bytes.popLast() {
      if last < 0xFF {
        bytes.append(last + 1)
        return bytes
      }
    }
    return nil
  }

  /// The same, in memory that is as long as the prefix at least.
  static func successor(
    ofPrefix prefix: UnsafeRawBufferPointer, in memory: UnsafeMutableRawBufferPointer
  ) -> UnsafeRawBufferPointer? {
    var count = prefix.count
    while count > 0, prefix[count - 1] == 0xFF { count -= 1 }
    guard count > 0, count <= memory.count else { return nil }
    memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: prefix[..<count]))
    memory[count - 1] += 1
    return UnsafeRawBufferPointer(rebasing: memory[..<count])
  }

  /// The key with exactly these bytes: it has all components, or it is cut.
  static func exactly(_ key: KeyPrefix) -> KeyRange {
    KeyRange(lower: key.bytes, upper: key.bytes + [0], needsCheck: key.isCut)
  }

  /// All keys that begin with these whole components, or with this beginning of a string.
  static func beginning(with prefix: KeyPrefix) -> KeyRange {
    KeyRange(
      lower: prefix.bytes, upper: successor(ofPrefix: prefix.bytes), needsCheck: prefix.isCut)
  }

  /// Equality of the first components, or of all if `isComplete`. A NaN among them finds the
  /// records with NaN, but with Swift's `==` it would find none; the caller must handle that.
  static func equal(to prefix: KeyPrefix, isComplete: Bool) -> KeyRange {
    isComplete || prefix.isCut ? exactly(prefix) : beginning(with: prefix)
  }

  /// Keys whose component after `prefix`, of an optional type, is nil.
  static func isNil(after prefix: KeyPrefix, isLast: Bool) -> KeyRange {
    if prefix.isCut { return exactly(prefix) }
    var key = prefix
    key.bytes.append(0)
    return equal(to: key, isComplete: isLast)
  }

  /// Keys whose component after `prefix`, of an optional type, is not nil.
  static func isNotNil(after prefix: KeyPrefix) -> KeyRange {
    if prefix.isCut { return exactly(prefix) }
    var key = prefix
    key.bytes.append(1)
    return beginning(with: key)
  }

  /// A bound: the bytes of the previous components and of the bound itself.
  enum Bound {
    case unbounded
    case including(KeyPrefix)
    case excluding(KeyPrefix)

    fileprivate func isExactly(_ bytes: [UInt8]) -> Bool {
      switch self {
      case .unbounded: false
      case .including(let key), .excluding(let key): key.bytes == bytes
      }
    }
  }

  /// Keys that begin with `prefix` and whose next component, of the given form, lies between two
  /// bounds. Neither nil nor NaN is in any such range, as in Swift.
  ///
  /// Bounds begin with the bytes of `prefix`, and have the marks of optionals.
  static func between(
    _ from: Bound, _ to: Bound, after prefix: KeyPrefix, form: KeyForm, isLast: Bool
  ) -> KeyRange {
    if prefix.isCut { return exactly(prefix) }
    var present = prefix.bytes
    var rest = form
    while case .optional(let wrapped) = rest.node {
      present.append(1)
      rest = wrapped
    }
    if let nan = nanBytes(of: rest), from.isExactly(present + nan) || to.isExactly(present + nan) {
      return .none
    }
    var needsCheck = false
    var lower = present
    switch from {
    case .unbounded: break
    case .including(let key):
      lower = key.bytes
      needsCheck = key.isCut
    case .excluding(let key):
      needsCheck = key.isCut
      if key.isCut {
        lower = key.bytes
      } else if isLast {
        lower = key.bytes + [0]
      } else {
        // No key comes after a bound of only FF bytes (NaN, or the greatest integer).
        guard let next = successor(ofPrefix: key.bytes) else { return .none }
        lower = next
      }
    }
    var upper = successor(ofPrefix: present)
    if let nan = nanBytes(of: rest) { upper = present + nan }
    switch to {
    case .unbounded: break
    case .excluding(let key):
      needsCheck = needsCheck || key.isCut
      upper = key.isCut ? key.bytes + [0] : key.bytes
    case .including(let key):
      needsCheck = needsCheck || key.isCut
      upper = isLast || key.isCut ? key.bytes + [0] : successor(ofPrefix: key.bytes)
    }
    return KeyRange(lower: lower, upper: upper, needsCheck: needsCheck)
  }

  /// A range without any key.
  static var none: KeyRange { KeyRange(lower: [], upper: [], needsCheck: false) }

  private static func nanBytes(of form: KeyForm) -> [UInt8]? {
    switch form.node {
    case .primitive(.double), .primitive(.date): [UInt8](repeating: 0xFF, count: 8)
    case .primitive(.float): [UInt8](repeating: 0xFF, count: 4)
    default: nil
    }
  }
}
