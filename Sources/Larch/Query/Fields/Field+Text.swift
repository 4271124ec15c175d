extension Field where Value: TextValue {
  /// The text equals another one when upper and lower case are the same; false for nil.
  public func equals(_ text: String, options: TextOption) -> Filter<Root> {
    textFilter(.equal, text, options)
  }

  /// The text begins with another one, by characters as in Swift; false for nil.
  public func hasPrefix(_ prefix: String, options: TextOption? = nil) -> Filter<Root> {
    textFilter(.hasPrefix, prefix, options)
  }

  /// The text ends with another one, by characters as in Swift; false for nil.
  public func hasSuffix(_ suffix: String, options: TextOption? = nil) -> Filter<Root> {
    textFilter(.hasSuffix, suffix, options)
  }

  /// The text has another one in it, by characters as in Swift; false for nil.
  public func contains(_ text: String, options: TextOption? = nil) -> Filter<Root> {
    textFilter(.contains, text, options)
  }

  /// The whole text is as a pattern says: `%` stands for any text, `_` for one character, `\`
  /// before one of these or itself makes it plain. False for nil.
  public func like(_ pattern: String, options: TextOption? = nil) -> Filter<Root> {
    textFilter(.like, pattern, options)
  }

  /// Not available: a field has no other text.
  @available(
    *, unavailable,
    message:
      "a filter compares a field, not another text made of it: without case it does so by `equals(_:options: .caseInsensitive)`, or the same option of `hasPrefix` and `contains`"
  )
  public func lowercased() -> Self { self }

  /// Not available: a field has no other text.
  @available(
    *, unavailable,
    message:
      "a filter compares a field, not another text made of it: without case it does so by `equals(_:options: .caseInsensitive)`, or the same option of `hasPrefix` and `contains`"
  )
  public func uppercased() -> Self { self }

  private func textFilter(
    _ kind: TextTest.Kind, _ text: String, _ options: TextOption?
  ) -> Filter<Root> {
    let test = TextTest(kind: kind, text: text, options?.form.form ?? .exact)
    return Filter(node.indexKey().filter(.text(test)))
  }
}
