/// A filter as a tree, without the record type.
package enum FilterNode: Sendable {
  /// True if all are true; always true if there are none.
  case all([FilterNode])
  /// True if one is true; never true if there are none.
  case any([FilterNode])
  indirect case not(FilterNode)
  /// A field compared with constants.
  case field(FieldFilter)
  /// A field compared with another field.
  case pair(PairFilter)
  /// The words of fields.
  case words(WordsFilter)
  /// A test of the decoded record.
  case record(RecordFilter)
  /// A test of related records.
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

/// One field compared with constants; for an array or a set, the test of some element.
package final class FieldFilter: Sendable {
  package let field: FieldReference
  package let test: FieldTest
  /// The values that the field must equal; none for another test. Beside the test, which is copied where it
  /// is taken apart.
  let wantedValues: [KeyValue]

  package init(_ field: FieldReference, _ test: FieldTest) {
    self.field = field
    self.test = test
    wantedValues = if case .equal(let values) = test { values } else { [] }
  }
}

/// A test of the values of a field. Nil equals nil and is in no range; NaN equals nothing.
package enum FieldTest: Sendable {
  case equal([KeyValue])
  /// Not nil, and between the bounds.
  case within(lower: ValueBound?, upper: ValueBound?)
  /// In ascending order, without duplicates and NaN: `oneOf(anyOrder:)` makes it so.
  case oneOf([[KeyValue]])
  /// A test of a text; false for nil.
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

/// A test of a text.
package struct TextTest: Sendable {
  package enum Kind: Sendable {
    case equal, hasPrefix, hasSuffix, contains
    /// A pattern as in SQL: `%` stands for any text, `_` for one character, and `\` before `%`, `_`
    /// or `\` makes it literal.
    case like
  }

  let kind: Kind
  let text: String
  /// The form in which texts are compared, like that of an index.
  let textForm: TextForm
  /// The text to compare with, in the form.
  let wanted: String
  /// For `like`.
  let pattern: LikePattern?

  package init(kind: Kind, text: String, _ textForm: TextForm = .exact) {
    self.kind = kind
    self.text = text
    self.textForm = textForm
    wanted = textForm.folded(text)
    pattern = kind == .like ? LikePattern(wanted) : nil
  }
}

/// Two fields of one record compared with each other.
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

/// A closure of the program over the decoded record; always a `RecordTest`, which knows the type.
package class RecordFilter: @unchecked Sendable {
  /// Its name in plans.
  let text: String
  /// The same for logs, which must not show the values of a query.
  let textWithoutValues: String
  /// The reason why it cannot be used, such as an invalid pattern; thrown when the query runs.
  let error: LarchError?
  /// Whether it may throw an error for a record. It is then tested after all that cannot.
  let mayFail: Bool

  init(
    text: String, textWithoutValues: String? = nil, error: LarchError? = nil, mayFail: Bool = false
  ) {
    self.text = text
    self.textWithoutValues = textWithoutValues ?? text
    self.error = error
    self.mayFail = mayFail
  }
}

final class RecordTest<R>: RecordFilter, @unchecked Sendable {
  let matches: @Sendable (R) throws -> Bool

  init(
    text: String, textWithoutValues: String? = nil, error: LarchError? = nil,
    mayFail: Bool = false, matches: @escaping @Sendable (R) throws -> Bool
  ) {
    self.matches = matches
    super.init(
      text: text, textWithoutValues: textWithoutValues, error: error, mayFail: mayFail)
  }
}

/// A condition that only its creator can evaluate, in a module above this one.
package final class StoredTest<Test: Sendable>: RecordFilter, @unchecked Sendable {
  package let test: Test

  package init(_ test: Test, text: String) {
    self.test = test
    super.init(text: text)
  }
}
