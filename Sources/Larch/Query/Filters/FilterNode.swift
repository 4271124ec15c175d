/// A filter as a tree, without the record type.
package enum FilterNode: Sendable {
  /// True where all are; without any, always.
  case all([FilterNode])
  /// True where one is; without any, never.
  case any([FilterNode])
  indirect case not(FilterNode)
  /// A field against constants.
  case field(FieldFilter)
  /// A field against another field.
  case pair(PairFilter)
  /// What only the decoded record tells.
  case record(RecordFilter)
  /// What related records tell.
  case related(RelatedFilter)

  static var always: FilterNode { .all([]) }
  static var never: FilterNode { .any([]) }

  var isAlways: Bool {
    if case .all(let nodes) = self { return nodes.isEmpty }
    return false
  }

  var isNever: Bool {
    if case .any(let nodes) = self { return nodes.isEmpty }
    return false
  }
}

/// One field against constants; for an array or a set, some element of it.
package final class FieldFilter: Sendable {
  package let field: FieldReference
  package let test: FieldTest

  package init(_ field: FieldReference, _ test: FieldTest) {
    self.field = field
    self.test = test
  }
}

/// What is asked of the values of a field. Nil equals nil and is in no range; NaN equals nothing.
package enum FieldTest: Sendable {
  case equal([KeyValue])
  /// Present, and between the bounds.
  case within(lower: ValueBound?, upper: ValueBound?)
  /// Ascending, each once, none with a NaN: `oneOf(anyOrder:)` makes it so.
  case oneOf([[KeyValue]])
  /// Of a text: nil passes none.
  case text(TextTest)
}

/// The end of a range.
package struct ValueBound: Sendable {
  var values: [KeyValue]
  var isIncluded: Bool

  package init(values: [KeyValue], isIncluded: Bool) {
    self.values = values
    self.isIncluded = isIncluded
  }
}

/// What is asked of a text.
package struct TextTest: Sendable {
  package enum Kind: Sendable {
    case equal, hasPrefix, hasSuffix, contains
    /// A pattern of SQL's kind: `%` for any text, `_` for one character, `\` before one of them
    /// or itself makes it plain.
    case like
  }

  let kind: Kind
  let text: String
  /// Upper and lower case are the same, as in an index that ignores case.
  let ignoresCase: Bool
  /// What the text is compared with: the folded one where case does not matter.
  let wanted: String
  /// Of `like`.
  let pattern: LikePattern?

  package init(kind: Kind, text: String, ignoresCase: Bool) {
    self.kind = kind
    self.text = text
    self.ignoresCase = ignoresCase
    wanted = ignoresCase ? NFC.foldedForIndex(text) : text
    pattern = kind == .like ? LikePattern(wanted) : nil
  }
}

/// Two fields of one record against each other.
package final class PairFilter: Sendable {
  package enum Comparison: Sendable { case equal, less, lessOrEqual }

  package let left: FieldReference
  let comparison: Comparison
  package let right: FieldReference

  package init(_ left: FieldReference, _ comparison: Comparison, _ right: FieldReference) {
    self.left = left
    self.comparison = comparison
    self.right = right
  }
}

/// A closure of the user's over the decoded record; made as `RecordTest`, which knows its type.
package class RecordFilter: @unchecked Sendable {
  /// What plans call it.
  let text: String
  /// Why it cannot be asked, such as a pattern that is none; thrown when the query runs.
  let error: LarchError?

  init(text: String, error: LarchError? = nil) {
    self.text = text
    self.error = error
  }
}

final class RecordTest<R>: RecordFilter, @unchecked Sendable {
  let matches: @Sendable (R) -> Bool

  init(text: String, error: LarchError? = nil, matches: @escaping @Sendable (R) -> Bool) {
    self.matches = matches
    super.init(text: text, error: error)
  }
}

/// A condition that only those can ask who made it, in a module above this one.
package final class StoredTest<Test: Sendable>: RecordFilter, @unchecked Sendable {
  package let test: Test

  package init(_ test: Test, text: String) {
    self.test = test
    super.init(text: text)
  }
}
