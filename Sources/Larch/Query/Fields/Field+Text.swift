extension Field where Value: TextValue {
  /// The text equals another one, ignoring case; false for nil.
  public func equals(_ text: String, _ option: TextIndexOption) -> Filter<Root> {
    textFilter(.equal, text, option)
  }

  /// The text begins with another one, compared by characters as in Swift; false for nil.
  public func hasPrefix(_ prefix: String, _ option: TextIndexOption? = nil) -> Filter<Root> {
    textFilter(.hasPrefix, prefix, option)
  }

  /// The text ends with another one, compared by characters as in Swift; false for nil.
  public func hasSuffix(_ suffix: String, _ option: TextIndexOption? = nil) -> Filter<Root> {
    textFilter(.hasSuffix, suffix, option)
  }

  /// The text contains another one, compared by characters as in Swift; false for nil.
  public func contains(_ text: String, _ option: TextIndexOption? = nil) -> Filter<Root> {
    textFilter(.contains, text, option)
  }

  /// The whole text matches a pattern as in SQL: `%` stands for any text, `_` for one character,
  /// and `\` before `%`, `_` or `\` makes it literal. False for nil.
  public func like(_ pattern: String, _ option: TextIndexOption? = nil) -> Filter<Root> {
    textFilter(.like, pattern, option)
  }

  private func textFilter(
    _ kind: TextTest.Kind, _ text: String, _ option: TextIndexOption?
  ) -> Filter<Root> {
    let test = TextTest(kind: kind, text: text, ignoresCase: option == .caseInsensitive)
    return Filter(node.indexKey().filter(.text(test)))
  }
}
