/// Lets run-time code see through `Optional`.
protocol OptionalType {
  static var wrappedType: Any.Type { get }
  static var noneSample: Any { get }
  var isNil: Bool { get }
}

extension Optional: OptionalType {
  static var wrappedType: Any.Type { Wrapped.self }
  static var noneSample: Any { Self.none as Any }
  var isNil: Bool { self == nil }
}

extension Reflection {
  /// `Wrapped` of an optional, any number deep, or the type itself.
  static func unwrapped(_ type: Any.Type) -> Any.Type {
    var type = type
    while let optional = type as? any OptionalType.Type { type = optional.wrappedType }
    return type
  }
}

/// In-place handling of optionals whose types are known only at run time. The payload of an
/// optional starts at its beginning.
protocol OptionalMemory: OptionalType {
  static func isNone(at memory: UnsafeRawPointer) -> Bool
  static func initializeNone(at memory: UnsafeMutableRawPointer)
  /// Turns the payload that was just initialized there into an optional.
  static func wrap(at memory: UnsafeMutableRawPointer)
}

extension Optional: OptionalMemory {
  static func isNone(at memory: UnsafeRawPointer) -> Bool {
    switch memory.assumingMemoryBound(to: Self.self).pointee {
    case .none: true
    case .some: false
    }
  }

  static func initializeNone(at memory: UnsafeMutableRawPointer) {
    memory.assumingMemoryBound(to: Self.self).initialize(to: nil)
  }

  static func wrap(at memory: UnsafeMutableRawPointer) {
    let payload = memory.assumingMemoryBound(to: Wrapped.self).move()
    memory.assumingMemoryBound(to: Self.self).initialize(to: .some(payload))
  }
}
