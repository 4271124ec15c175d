extension FieldTest {
  /// The result of combining two tests of one value.
  enum Merged {
    case never, first, second
    case one(FieldTest)
    /// No single test is equivalent.
    case two
  }

  static func merged(_ a: FieldTest, _ b: FieldTest, form: KeyForm) -> Merged {
    switch (a, b) {
    case (.equal(let values), _): b.matches(values) ? .first : .never
    case (_, .equal(let values)): a.matches(values) ? .second : .never
    case (.oneOf(let list), _): .one(.oneOf(list.filter { b.matches($0) }))
    case (_, .oneOf(let list)): .one(.oneOf(list.filter { a.matches($0) }))
    case (.within(let lower, let upper), .within(let otherLower, let otherUpper)):
      if case .composite = form.unwrapped.node {
        // Several values may contain NaN, and then no bound implies another.
        .two
      } else {
        .one(
          .within(
            lower: tighter(lower, otherLower, isGreater: true),
            upper: tighter(upper, otherUpper, isGreater: false)))
      }
    case (.within(nil, nil), .text): .second
    case (.text, .within(nil, nil)): .first
    case (.text(let first), .text(let second)): merged(first, second)
    case (.within, .text), (.text, .within): .two
    }
  }

  /// The combination of a test and the negation of another one; nil if they stay separate.
  static func merged(_ test: FieldTest, without other: FieldTest) -> FieldTest? {
    switch test {
    case .equal(let values): other.matches(values) ? .oneOf([]) : test
    case .oneOf(let list): .oneOf(list.filter { !other.matches($0) })
    case .within, .text:
      // Values that pass are not nil.
      if case .equal(let values) = other, KeyValue.isNil(values) { test } else { nil }
    }
  }

  private static func merged(_ first: TextTest, _ second: TextTest) -> Merged {
    guard first.kind == .hasPrefix, second.kind == .hasPrefix,
      first.textForm == second.textForm
    else { return .two }
    // A text with a prefix also begins with the bytes of its normal form.
    let a = first.prefixBytes
    let b = second.prefixBytes
    return a.starts(with: b) || b.starts(with: a) ? .two : .never
  }

  /// The stricter of two bounds; nil is no bound.
  private static func tighter(
    _ a: ValueBound?, _ b: ValueBound?, isGreater: Bool
  ) -> ValueBound? {
    guard let a else { return b }
    guard let b else { return a }
    let order = KeyValue.compare(a.values, b.values)
    if order == 0 { return a.isIncluded ? b : a }
    return (order > 0) == isGreater ? a : b
  }

  /// The constants of a test of equality.
  var constants: [[KeyValue]]? {
    switch self {
    case .equal(let values): [values]
    case .oneOf(let list): list
    case .within, .text: nil
    }
  }
}

extension TextTest {
  fileprivate var prefixBytes: [UInt8] {
    NFC.normalized(textForm.folded(text))
  }
}
