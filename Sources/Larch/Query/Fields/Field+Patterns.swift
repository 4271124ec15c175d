extension Field where Value: TextValue {
  /// A regular expression matches somewhere in the text; false for nil.
  ///
  /// ```swift
  /// Person.where { $0.email.contains(/@acme\..+/) }
  /// ```
  ///
  /// Larch decodes records for this test, and threads that run the same query match one at a time.
  public func contains(_ regex: sending some RegexComponent) -> Filter<Root> {
    let regex = SharedRegex(regex)
    return filter("contains /…/", decoded: { $0._text.map { regex.isFound(in: $0) } ?? false })
  }

  /// A regular expression matches the whole text; false for nil.
  ///
  /// Larch decodes records for this test, and threads that run the same query match one at a time.
  public func wholeMatch(of regex: sending some RegexComponent) -> Filter<Root> {
    let regex = SharedRegex(regex)
    return filter("whole match of /…/", decoded: { $0._text.map { regex.matches($0) } ?? false })
  }

  /// A regular expression in a string matches somewhere in the text; false for nil.
  ///
  /// Larch decodes records for this test. The query throws `.invalidQuery` if the pattern is not a
  /// regular expression.
  public func contains(pattern: String) -> Filter<Root> {
    patternFilter("contains a pattern", pattern) { $0.isFound(in: $1) }
  }

  /// A regular expression in a string matches the whole text; false for nil.
  ///
  /// Larch decodes records for this test. The query throws `.invalidQuery` if the pattern is not a
  /// regular expression.
  public func wholeMatch(ofPattern pattern: String) -> Filter<Root> {
    patternFilter("whole match of a pattern", pattern) { $0.matches($1) }
  }

  private func patternFilter(
    _ operation: StaticString, _ pattern: String,
    _ test: @escaping @Sendable (SharedRegex, String) -> Bool
  ) -> Filter<Root> {
    do {
      let regex = SharedRegex(try Regex(pattern))
      return filter(operation, decoded: { $0._text.map { test(regex, $0) } ?? false })
    } catch {
      let failure = LarchError(
        .invalidQuery, "A pattern is not a regular expression; correct it.", underlying: error
      ) { $0.field = node.name }
      return filter(operation, error: failure, decoded: { _ in false })
    }
  }
}
