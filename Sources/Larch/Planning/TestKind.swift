/// What a test is, beside its field and its constants: everything that planning looks at before it
/// looks at a constant.
struct TestKind: Equatable, Sendable {
  private let code: UInt32

  /// Lists with more constants are planned each time, so that each length is not kept.
  private static let listLimit = 16

  /// A test that bounds nothing and that no key decides, whatever its fields are.
  static let opaque = TestKind(code: 0)

  private init(code: UInt32) { self.code = code }

  /// Nil if the test has no kind that is worth keeping.
  @inline(__always)
  init?(_ test: FieldTest) {
    switch test {
    case .equal(let values):
      // Nil is found by an index that ignores case, and is never unique.
      code = KeyValue.isNil(values) ? 2 : 1
    case .within(let lower, let upper):
      code = 4 | (lower == nil ? 0 : 1) | (upper == nil ? 0 : 2)
    case .oneOf(let list):
      guard list.count <= TestKind.listLimit else { return nil }
      code = 16 | UInt32(truncatingIfNeeded: list.count) << 8
    case .text(let text):
      let kind: UInt32
      switch text.kind {
      case .equal: kind = 0
      case .hasPrefix: kind = 1
      case .hasSuffix: kind = 2
      case .contains: kind = 3
      // A pattern bounds a scan by the text before its first wild card, if there is one.
      case .like: kind = text.pattern?.prefix.isEmpty == false ? 4 : 5
      }
      code = 32 | kind << 8 | UInt32(text.textForm.code)
    }
  }

  var negated: TestKind { TestKind(code: code | 1 << 31) }

  /// A part of a hash.
  var bits: UInt { UInt(code) }
}

extension FilterNode {
  /// The kind of one conjunct, with its field if it has one; nil if it is planned each time.
  @inline(__always)
  func withKind<T>(_ body: (FieldReference?, TestKind) -> T) -> T? {
    switch self {
    case .field(let filter):
      guard let kind = TestKind(filter.test), filter.field.isKept else { return nil }
      return body(filter.field, kind)
    case .not(.field(let filter)):
      guard let kind = TestKind(filter.test), filter.field.isKept else { return nil }
      return body(filter.field, kind.negated)
    case .pair, .record, .not(.pair), .not(.words), .not(.record): return body(nil, .opaque)
    // The words decide whether an index of words can answer.
    case .all, .any, .related, .words, .not: return nil
    }
  }
}

extension FieldReference {
  /// Whether the program has one object for the field, so that a later query has the same.
  var isKept: Bool { calculation == nil && related == nil }
}
