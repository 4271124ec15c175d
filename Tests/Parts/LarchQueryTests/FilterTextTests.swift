import Foundation
import RegexBuilder
import Testing

@testable import Larch

/// SQL's LIKE as a recursion over characters: slow, but clearly correct.
private func dslLike(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
  guard let first = pattern.first else { return text.isEmpty }
  let rest = pattern.dropFirst()
  switch first {
  case "%":
    return dslLike(text, rest) || (!text.isEmpty && dslLike(text.dropFirst(), pattern))
  case "_": return !text.isEmpty && dslLike(text.dropFirst(), rest)
  case "\\" where rest.first == "%" || rest.first == "_" || rest.first == "\\":
    return text.first == rest.first && dslLike(text.dropFirst(), rest.dropFirst())
  default: return text.first == first && dslLike(text.dropFirst(), rest)
  }
}

private func dslLike(_ text: String, _ pattern: String) -> Bool {
  dslLike(Array(text)[...], Array(pattern)[...])
}

@Suite("Tests of strings agree with Swift")
struct FilterTextTests {
  private let parts = DslRow.texts.filter { $0.count < 20 }

  @Test("Beginnings, ends and parts, by character")
  func characters() {
    for part in parts {
      dslCheck({ $0.text.hasPrefix(part) }, { $0.text.hasPrefix(part) })
      dslCheck({ $0.text.hasSuffix(part) }, { $0.text.hasSuffix(part) })
      dslCheck({ $0.text.contains(part) }, { Array($0.text).contains(Array(part)) })
      dslCheck({ $0.maybeText.hasPrefix(part) }, { $0.maybeText?.hasPrefix(part) ?? false })
      dslCheck({ !$0.maybeText.hasPrefix(part) }, { !($0.maybeText?.hasPrefix(part) ?? false) })
      dslCheck({ $0.maybeText.hasSuffix(part) }, { $0.maybeText?.hasSuffix(part) ?? false })
      dslCheck(
        { $0.maybeText.contains(part) },
        { row in
          row.maybeText.map { Array($0).contains(Array(part)) } ?? false
        })
    }
    // As in Swift, one character is not found in another.
    let node = Fields<DslRow>().text.contains("\n").node
    var row = DslRow()
    row.text = "a\r\nb"
    #expect(!node.matches(row) && !row.text.contains("\n" as Character))
    row.text = "a\nb"
    #expect(node.matches(row))
  }

  @Test("Without case, both sides are folded as the keys of such an index are")
  func caseInsensitive() {
    func fold(_ text: String) -> String { NFC.foldedForIndex(text) }
    for part in parts {
      let folded = fold(part)
      dslCheck({ $0.text.equals(part, options: .caseInsensitive) }, { fold($0.text) == folded })
      dslCheck(
        { $0.maybeText.equals(part, options: .caseInsensitive) },
        { row in
          row.maybeText.map { fold($0) == folded } ?? false
        })
      dslCheck(
        { $0.text.hasPrefix(part, options: .caseInsensitive) }, { fold($0.text).hasPrefix(folded) })
      dslCheck(
        { $0.text.hasSuffix(part, options: .caseInsensitive) }, { fold($0.text).hasSuffix(folded) })
      dslCheck(
        { $0.text.contains(part, options: .caseInsensitive) },
        {
          Array(fold($0.text)).contains(Array(folded))
        })
      // For plain letters this is what everyone expects.
      if part.utf8.allSatisfy({ $0 < 0x80 }) {
        dslCheck(
          { $0.text.equals(part, options: .caseInsensitive) },
          {
            $0.text.lowercased() == part.lowercased()
          })
      }
    }
  }

  @Test("Patterns match as the plain recursion does, with and without case")
  func like() {
    let patterns =
      parts + [
        "%", "%%", "_", "__", "a%", "%b", "a%b", "%a%", "_b%", "a_b", "100\\%", "100%", "a\\_b",
        "a\\\\b", "\\\\", "\\", "\\a", "a\\", "%\\", "cafe\u{301}", "caf_", "%é", "%e", "a_b%",
        "\r\n", "a%\n%", "_\n_", "👨%", "S%S", "s%s", "A%N_", "%lon_%", "%ong é", "%_%_%_%",
      ]
    for pattern in patterns {
      dslCheck({ $0.text.like(pattern) }, { dslLike($0.text, pattern) })
      dslCheck(
        { $0.maybeText.like(pattern) },
        { row in
          row.maybeText.map { dslLike($0, pattern) } ?? false
        })
      dslCheck(
        { $0.text.like(pattern, options: .caseInsensitive) },
        {
          dslLike(NFC.foldedForIndex($0.text), NFC.foldedForIndex(pattern))
        })
    }
    #expect(LikePattern("ab%c").prefix == "ab")
    #expect(LikePattern("100\\%_").prefix == "100%")
    #expect(LikePattern("%a").prefix.isEmpty)
  }

  @Test("A pattern with many wildcards ends")
  func likeIsNotExponential() {
    let pattern = String(repeating: "%a", count: 30) + "%b"
    let texts = [String(repeating: "a", count: 2000), String(repeating: "aé", count: 1000)]
    // A matcher that tries all combinations would practically never end.
    for text in texts { #expect(!LikePattern(pattern).matches(text)) }
  }

  @Test("Regular expressions: literals, builders and patterns as text")
  func regularExpressions() throws {
    dslCheck({ $0.text.contains(/a.?b/) }, { $0.text.contains(/a.?b/) })
    dslCheck({ $0.maybeText.contains(/é|b$/) }, { $0.maybeText?.contains(/é|b$/) ?? false })
    dslCheck({ $0.text.wholeMatch(of: /[a-c]+/) }, { $0.text.wholeMatch(of: /[a-c]+/) != nil })
    dslCheck(
      { $0.maybeText.wholeMatch(of: /.*/) },
      { row in
        row.maybeText.map { $0.wholeMatch(of: /.*/) != nil } ?? false
      })
    dslCheck({ $0.text.contains(Regex { OneOrMore(.digit) }) }, { $0.text.contains(/\d+/) })
    dslCheck({ $0.text.contains(pattern: "^c.f") }, { $0.text.contains(/^c.f/) })
    dslCheck(
      { $0.maybeText.wholeMatch(ofPattern: "a.*") },
      { row in
        row.maybeText.map { $0.wholeMatch(of: /a.*/) != nil } ?? false
      })
  }

  @Test("An invalid pattern is an error when the query runs")
  func invalidPattern() throws {
    guard case .record(let filter) = Fields<DslRow>().text.contains(pattern: "a(").node else {
      Issue.record("not a test of the record")
      return
    }
    let error = try #require(filter.error)
    #expect(error.code == .invalidQuery)
    #expect(error.context.field == "text")
    #expect(error.underlying != nil)
  }

  @Test("A regular expression may be used by many threads at once")
  func sharedRegex() async {
    let node = Fields<DslRow>().text.contains(/(a+)+b|é/).node
    let expected = DslRow.samples.filter { $0.text.contains(/(a+)+b|é/) }.count
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask { DslRow.samples.filter { node.matches($0) }.count }
      }
      for await count in group { #expect(count == expected) }
    }
  }
}
