import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The clauses of the Swift oracle that are about strings, each run in three ways.
@Suite("The Swift oracle: strings")
struct OracleTextClauseTests {
  /// Pairs that look alike and are equal, or are not.
  private static let texts = [
    "\u{E9}", "e\u{301}", "e", "\u{E9}t\u{E9}", "e\u{301}te\u{301}", "et", "E\u{301}", "\u{C9}",
    "\u{AC00}", "\u{1100}\u{1161}", "\u{1100}", "\u{2126}", "\u{3A9}", "", "x\u{302}\u{323}",
    "x\u{323}\u{302}", "x", "\u{212B}", "\u{C5}", "A\u{30A}", "A",
  ]
  /// Characters of several scalars, whose first scalars are no prefix.
  private static let characters = [
    "", "a", "ab", "a\u{301}", "a\u{301}b", "\u{E1}b", "\r", "\r\n", "a\r", "a\r\n", "a\r\nb",
    "\n", "\u{1F468}", "\u{1F468}\u{200D}\u{1F469}", "\u{1F468}\u{200D}\u{1F469}x",
    "\u{1F1E9}\u{1F1EA}", "\u{1F1E9}", "\u{1F1E9}\u{1F1EA}\u{1F1EB}", "\u{1F44D}\u{1F3FD}",
    "\u{1F44D}", "\u{1100}", "\u{1100}\u{1161}", "\u{1100}\u{1161}\u{11A8}", "n\u{303}", "n",
    "an\u{303}", "\u{0}", "a\u{0}", "a\u{0}b", "zz",
  ]
  private static let longs: [String] = {
    let long = String(repeating: "ab\u{E9}", count: 200)
    let composed = String(repeating: "e\u{301}", count: 300)
    let precomposed = String(repeating: "\u{E9}", count: 300)
    return [
      long, long + "a", long + "b", long + "ba", composed, precomposed, precomposed + "x",
      String(repeating: "a", count: 127), String(repeating: "a", count: 128),
      String(repeating: "a", count: 511), String(repeating: "a", count: 512),
      String(repeating: "a", count: 5000),
      String(repeating: "a", count: 5000) + "b", "a", "", "b",
    ]
  }()

  @Test(
    "Canonically equivalent strings are equal, in a list, in an order and as a prefix",
    arguments: OracleKind.allCases)
  func equivalence(kind: OracleKind) throws { try Self.equivalence(kind.indexes) }

  private static func equivalence<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of(texts) {
      $0.text = $1
      $0.note = $1
    }
    typealias Test = OracleFilter<K>
    let byText = OracleOrder<K>.by(\.text) { compareText($0.text, $1.text) }
    for a in texts {
      try clause.check(Test("text == \(a)", { $0.text == a }, { $0.text == a }), byText)
      try clause.ask(Test("note == \(a)", { $0.note == a }, { $0.note == a }))
      try clause.ask(
        Test("prefix \(a)", { $0.text.hasPrefix(a) }, { $0.text.hasPrefix(a) }), byText)
      let list = [a, "x\u{302}\u{323}"]
      try clause.ask(
        Test("in \(list)", { list.contains($0.text) }, { list.contains($0.text) }), byText)
      try clause.ask(
        Test("text > \(a)", { $0.text > a }, { compareText($0.text, a) > 0 }), byText.reversed())
    }
  }

  @Test("hasPrefix, hasSuffix and contains compare characters", arguments: OracleKind.allCases)
  func characters(kind: OracleKind) throws { try Self.characters(kind.indexes) }

  private static func characters<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of(characters) {
      $0.text = $1
      $0.note = $1.isEmpty ? nil : $1
    }
    typealias Test = OracleFilter<K>
    for a in characters {
      let name = a.debugDescription
      try clause.check(
        Test("prefix \(name)", { $0.text.hasPrefix(a) }, { $0.text.hasPrefix(a) }))
      try clause.ask(
        Test("suffix \(name)", { $0.text.hasSuffix(a) }, { $0.text.hasSuffix(a) }))
      try clause.ask(
        Test("contains \(name)", { $0.text.contains(a) }, { Test.holds($0.text, a) }))
      try clause.ask(
        Test("note prefix \(name)", { $0.note.hasPrefix(a) }, { $0.note?.hasPrefix(a) ?? false }))
      try clause.ask(
        !Test(
          "note contains \(name)", { $0.note.contains(a) },
          { $0.note.map { Test.holds($0, a) } ?? false }))
      try clause.ask(
        Test(
          "like \(name)_", { $0.text.like(Test.escaped(a) + "_") },
          { $0.text.hasPrefix(a) && $0.text.count == a.count + 1 }))
    }
  }

  @Test("An empty prefix matches every string that is not nil", arguments: OracleKind.allCases)
  func emptyPrefix(kind: OracleKind) throws { try Self.emptyPrefix(kind.indexes) }

  private static func emptyPrefix<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of([nil, "", "a", nil, "\u{E9}", "\u{0}"]) {
      $0.note = $1
      $0.text = $1 ?? ""
    }
    typealias Test = OracleFilter<K>
    try clause.check(Test("note prefix ''", { $0.note.hasPrefix("") }, { $0.note != nil }))
    try clause.check(Test("text prefix ''", { $0.text.hasPrefix("") }, { _ in true }))
    try clause.check(Test("note suffix ''", { $0.note.hasSuffix("") }, { $0.note != nil }))
    try clause.check(Test("note contains ''", { $0.note.contains("") }, { $0.note != nil }))
    try clause.check(Test("note like %", { $0.note.like("%") }, { $0.note != nil }))
    try clause.check(
      Test(
        "note ~prefix ''", { $0.note.hasPrefix("", options: .caseInsensitive) }, { $0.note != nil })
    )
    #expect(try clause.store.count(OracleThing<K>.where { $0.note.hasPrefix("") }) == 8)
  }

  @Test(
    "Strings past 511 bytes are indexed, found, sorted and selected",
    arguments: OracleKind.allCases)
  func longStrings(kind: OracleKind) throws { try Self.longStrings(kind.indexes) }

  private static func longStrings<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of(longs) {
      $0.text = $1
      $0.note = $1
    }
    typealias Test = OracleFilter<K>
    let byText = OracleOrder<K>.by(\.text) { compareText($0.text, $1.text) }
    let byNote = OracleOrder<K>.by(\.note, .descending) { compareText($0.note!, $1.note!) }
    for a in longs {
      let name = "\(a.prefix(4))…\(a.utf8.count)"
      try clause.check(Test("text == \(name)", { $0.text == a }, { $0.text == a }))
      try clause.ask(Test("note == \(name)", { $0.note == a }, { $0.note == a }), byNote)
      try clause.ask(
        Test("text < \(name)", { $0.text < a }, { compareText($0.text, a) < 0 }), byText)
      try clause.ask(
        Test("text >= \(name)", { $0.text >= a }, { compareText($0.text, a) >= 0 }), byText,
        limit: 5, offset: 2)
      try clause.ask(
        Test("prefix \(name)", { $0.text.hasPrefix(a) }, { $0.text.hasPrefix(a) }), byText)
      let list = [a, a + "x", String(a.dropLast())]
      try clause.ask(Test("in \(name)", { list.contains($0.text) }, { list.contains($0.text) }))
    }
    #expect(try clause.store.verify().isClean)
  }

  @Test("Strings are in the order of their bytes in normal form C", arguments: OracleKind.allCases)
  func order(kind: OracleKind) throws { try Self.order(kind.indexes) }

  private static func order<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of(texts + characters + OracleValues.texts) {
      $0.text = $1
      $0.note = $1
    }
    typealias Test = OracleFilter<K>
    let every = Test("all", { (0...1).contains($0.number) }, { _ in true })
    let flagged = Test("flag", { $0.flag }, { $0.flag })
    for order in [
      OracleOrder<K>.by(\.text) { compareText($0.text, $1.text) },
      OracleOrder<K>.by(\.text, .descending) { compareText($0.text, $1.text) },
      OracleOrder<K>.by(\.note) { compareText($0.note!, $1.note!) },
    ] {
      for test in [every, flagged] {
        try clause.ask(test, order)
        try clause.ask(test, order.reversed())
        try clause.ask(test, order, limit: 10, offset: 7)
      }
    }
    for a in texts {
      try clause.ask(Test("text <= \(a)", { $0.text <= a }, { compareText($0.text, a) <= 0 }))
    }
  }

  @Test("Elements of arrays are compared like strings", arguments: OracleKind.allCases)
  func elements(kind: OracleKind) throws { try Self.elements(kind.indexes) }

  private static func elements<K: OracleIndexes>(_: K.Type) throws {
    let lists = texts.indices.map { [texts[$0], texts[($0 * 7 + 3) % texts.count]] } + [[]]
    let clause = try OracleClause<K>.of(lists) { $0.tags = $1 }
    typealias Test = OracleFilter<K>
    for a in texts + ["absent"] {
      try clause.check(
        Test("tags contains \(a)", { $0.tags.contains(a) }, { $0.tags.contains(a) }))
      try clause.ask(
        Test(
          "tags contains prefix \(a)", { $0.tags.contains { $0.hasPrefix(a) } },
          { $0.tags.contains { $0.hasPrefix(a) } }))
    }
    try clause.check(Test("tags any of none", { $0.tags.containsAny(of: []) }, { _ in false }))
    try clause.check(Test("tags all of none", { $0.tags.containsAll(of: []) }, { _ in true }))
  }
}
