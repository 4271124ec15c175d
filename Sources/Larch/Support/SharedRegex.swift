/// A regular expression may contain closures of the program, so only one thread at a time uses it.
final class SharedRegex: Sendable {
  private let body: Locked<any Matcher>

  init(_ component: sending some RegexComponent) {
    body = Locked(RegexMatcher(regex: component.regex))
  }

  func isFound(in text: String) -> Bool { body.withLock { $0.isFound(in: text) } }

  func matches(_ text: String) -> Bool { body.withLock { $0.matches(text) } }
}

private protocol Matcher {
  func isFound(in text: String) -> Bool
  func matches(_ text: String) -> Bool
}

private struct RegexMatcher<Output>: Matcher {
  let regex: Regex<Output>

  // A match that throws is no match, as in Swift's own `contains`.
  func isFound(in text: String) -> Bool { (try? regex.firstMatch(in: text)) != nil }

  func matches(_ text: String) -> Bool { (try? regex.wholeMatch(in: text)) != nil }
}
