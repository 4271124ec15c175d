extension ValueTest {
  /// What a condition says of a record or a key: `unknown` where the bytes do not tell.
  enum Outcome: UInt8 {
    case no, yes, unknown

    @inline(__always)
    init(_ isTrue: Bool) { self = isTrue ? .yes : .no }
  }
}

/// The logic of three values, for every tree of conditions.
extension ValueTest.Outcome {
  static prefix func ! (_ outcome: Self) -> Self {
    switch outcome {
    case .no: .yes
    case .yes: .no
    case .unknown: .unknown
    }
  }

  /// Whether all parts are true. No part is tested after one that is false.
  @inline(__always)
  static func all<Parts: Sequence>(
    _ parts: Parts, _ test: (Parts.Element) throws -> Self
  ) rethrows -> Self {
    try combine(parts, decisive: .no, otherwise: .yes, test)
  }

  /// Whether any part is true. No part is tested after one that is true.
  @inline(__always)
  static func any<Parts: Sequence>(
    _ parts: Parts, _ test: (Parts.Element) throws -> Self
  ) rethrows -> Self {
    try combine(parts, decisive: .yes, otherwise: .no, test)
  }

  @inline(__always)
  private static func combine<Parts: Sequence>(
    _ parts: Parts, decisive: Self, otherwise: Self, _ test: (Parts.Element) throws -> Self
  ) rethrows -> Self {
    var outcome = otherwise
    for part in parts {
      let one = try test(part)
      if one == decisive { return decisive }
      if one == .unknown { outcome = .unknown }
    }
    return outcome
  }
}
