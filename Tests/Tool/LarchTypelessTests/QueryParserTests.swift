import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

@Suite struct QueryParserTests {
  @Test(arguments: [
    ("", "all"),
    ("  \n\t ", "all"),
    ("age >= 30", "age >= 30"),
    ("age>=30", "age >= 30"),
    ("30 <= age", "age >= 30"),
    ("age == 30", "age = 30"),
    ("age <> 30", "age != 30"),
    ("a.b.c = 1", "a.b.c = 1"),
    ("`a b`.`c` = 1", "a b.c = 1"),
    ("`and` = 1", "and = 1"),
    ("a = 1 and b = 2 and c = 3", "(a = 1 & b = 2 & c = 3)"),
    ("a = 1 or b = 2 and c = 3", "(a = 1 | (b = 2 & c = 3))"),
    ("(a = 1 or b = 2) and c = 3", "((a = 1 | b = 2) & c = 3)"),
    ("not a = 1 and b = 2", "(!a = 1 & b = 2)"),
    ("NOT (A = 1 OR b = 2)", "!(A = 1 | b = 2)"),
    ("not not a", "!!a"),
    ("a", "a"),
    ("a and not b", "(a & !b)"),
    ("(((a)))", "a"),
    ("a in ()", "a in []"),
    ("a in (1, 'x', nil, true)", "a in [1, 'x', nil, true]"),
    ("a not in (1)", "!a in [1]"),
    ("a between 1 and 2 and b = 3", "(a between 1, 2 & b = 3)"),
    ("a not between 1 and 2", "!a between 1, 2"),
    ("a like 'x%'", "a like 'x%'"),
    ("a not like 'x%' ignoring case", "!a ~like 'x%'"),
    ("a begins with 'x'", "a hasPrefix 'x'"),
    ("a starts with 'x' ignoring case", "a ~hasPrefix 'x'"),
    ("a ends with 'x'", "a hasSuffix 'x'"),
    ("a contains 'x'", "a contains 'x'"),
    ("a has 'x'", "a has 'x'"),
    ("a is nil", "a is nil"),
    ("a IS NULL", "a is nil"),
    ("a is not nil", "!a is nil"),
    ("a = nil", "a = nil"),
    ("a < b", "a < field b"),
    ("a = `nil`", "a = field nil"),
    ("a = inf", "a = inf"),
    ("a = -inf", "a = -inf"),
    ("a != NaN", "a != nan"),
    ("a = 'x' ignoring case", "a ~= 'x'"),
    ("a = -1.5e-3", "a = -1.5e-3"),
    ("a = 18446744073709551615", "a = 18446744073709551615"),
    ("a = 0x00fF", "a = 0x00fF"),
    ("a = 2001-01-01", "a = date 0.0"),
    ("a = 2001-01-01T00:00:01.5Z", "a = date 1.5"),
    ("a = 2001-01-01T02:00:00+02:00", "a = date 0.0"),
    ("a = 2001-01-01T00:00", "a = date 0.0"),
    ("a = 2000-12-31t23:30:00-0030", "a = date 0.0"),
    ("a = \"it's\"", "a = 'it's'"),
    (#"a = 'it\'s \u{E9}\t\\ 100\%'"#, "a = 'it's \u{E9}\t\\ 100\\%'"),
    ("order = 1 order by order", "order = 1 order order"),
    ("limit = 1 limit 2", "limit = 1 limit 2"),
    ("in = 1 or like like 'x' or is is nil", "(in = 1 | like like 'x' | is is nil)"),
    ("order by a", "all order a"),
    ("order by a desc, b asc, c", "all order a desc, b, c"),
    ("order by a ignoring case descending, b ascending", "all order ~a desc, b"),
    ("a = 1 limit 0 offset 3", "a = 1 limit 0 offset 3"),
    ("offset 3 limit 2", "all limit 2 offset 3"),
    ("a order by a limit 1", "a order a limit 1"),
  ])
  func aQueryIsRead(text: String, meaning: String) throws {
    #expect(try QueryParser.parse(text).meaning == meaning)
  }

  @Test(arguments: [
    ("age >", 6, "expected a constant or a field, found the end"),
    ("age >= 30 and", 14, "expected a field, found the end"),
    ("age >= 30 city = 1", 11, "expected and, or, order by, limit, offset or the end"),
    ("and a", 1, "expected a field, found \"and\""),
    ("(a = 1", 7, "expected and, or or a closing bracket"),
    ("a = 1)", 6, "found \")\""),
    ("a ! 1", 3, "expected a field, a constant or an operator, found \"!\""),
    ("a = 'x", 5, "no closing '"),
    ("`a = 1", 1, "no closing backquote"),
    ("`` = 1", 1, "expected a name"),
    ("a = 12x", 5, "\"12x\" is not a number"),
    ("a = 1e", 5, "exponent"),
    ("a = -", 5, "expected a number"),
    ("a = 2024-13-01", 5, "is not a date"),
    ("a = 2024-02-30", 5, "is not a date"),
    ("a = 2023-02-29", 5, "is not a date"),
    ("a = 2024-01-01T25:00", 5, "is not a date"),
    ("a in 1", 6, "an opening bracket"),
    ("a in (1 2)", 9, "a comma or a closing bracket"),
    ("a in (b)", 7, "expected a constant"),
    ("a between 1", 12, "expected and"),
    ("a begins 'x'", 10, "expected with"),
    ("a is 3", 6, "expected nil or not nil"),
    ("a not = 3", 7, "expected in, between, like"),
    ("a 3", 3, "after \"a\""),
    ("30 age", 4, "a comparison after the constant"),
    ("a. = 1", 4, "after the dot"),
    (#"a = '\q'"#, 6, #"found "\\q""#),
    (#"a = '\u{110000}'"#, 6, "number of a character"),
    (#"a = '\u{D800}'"#, 6, "number of a character"),
    ("order a", 7, "expected"),
    ("order by", 9, "expected a field"),
    ("a limit -1", 9, "a whole number, 0 or more"),
    ("a limit 1.5", 9, "a whole number, 0 or more"),
    ("a limit 99999999999999999999", 9, "a whole number, 0 or more"),
    ("a limit 1 limit 2", 11, "repeated"),
    ("a = 1 ignoring", 15, "expected case"),
    ("a < 'x' ignoring case", 5, "only = and text"),
    ("a = 1; drop", 6, "found \";\""),
  ])
  func aMistakeIsShownWithItsPlace(text: String, column: Int, message: String) {
    let error = #expect(throws: QueryTextError.self) { try QueryParser.parse(text) }
    #expect(error?.column == column, "\(String(describing: error))")
    #expect(error?.message.contains(message) == true, "\(String(describing: error))")
    #expect(error?.description.contains("\n") == false)
  }

  @Test func hostileTextsAreRefused() {
    let texts = [
      String(repeating: "(", count: 60_000),
      String(repeating: "not ", count: 16_000) + "a",
      String(repeating: "(", count: 101) + "a" + String(repeating: ")", count: 101),
      "a" + String(repeating: " or a", count: 1_000),
      "a = '" + String(repeating: "x", count: 10 << 20) + "'",
      String(repeating: "a", count: 10 << 20),
      "a = " + String(repeating: "9", count: 70_000),
      "a" + String(repeating: ".", count: 60_000),
      String(repeating: "\u{301}", count: 30_000),
    ]
    for text in texts {
      let error = #expect(throws: QueryTextError.self) { try QueryParser.parse(text) }
      #expect((error?.description.count ?? 0) < 500)
    }
  }

  @Test func whatIsJustWithinTheLimitsIsRead() throws {
    let deep = String(repeating: "(", count: 99) + "a" + String(repeating: ")", count: 99)
    #expect(try QueryParser.parse(deep).meaning == "a")
    let wide = "a" + String(repeating: " or a", count: 999)
    guard case .any(let parts) = try QueryParser.parse(wide).filter else {
      Issue.record("no alternatives")
      return
    }
    #expect(parts.count == 1_000)
    let list = "a in (" + Array(repeating: "1", count: 20_000).joined(separator: ", ") + ")"
    #expect(throws: Never.self) { try QueryParser.parse(list) }
  }

  @Test func datesAreReadAsRecordsWriteThem() throws {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<2_000 {
      let whole = Double(Int64(random.next() % 300_000_000_000) - 60_000_000_000)
      let part = Double(random.next() % 1_000_000) / [1, 1_000, 1_000_000][random.below(3)]
      let seconds = whole + part
      var writer = JSONTextWriter()
      try withUnsafeBytes(of: seconds) { try writer.scalar(.date, $0) }
      let text = String(decoding: writer.bytes, as: UTF8.self)
      guard text.hasPrefix("\"") else { continue }
      #expect(DateText.seconds(String(text.dropFirst().dropLast())) == seconds, "\(text)")
    }
  }

  @Test func numbersAreComparedByTheirDigits() throws {
    let ascending = [
      "-1e400", "-18446744073709551616", "-2.5", "-2", "-1e-400", "0", "1e-400", "0.1", "0.10001",
      "1", "1.5", "9.99", "10", "1e2", "101", "9007199254740993", "18446744073709551615", "1e400",
    ]
    let numbers = try ascending.map { try #require(ExactNumber($0)) }
    for (a, first) in numbers.enumerated() {
      for (b, second) in numbers.enumerated() {
        let order = ExactNumber.compare(first, second)
        #expect((order < 0) == (a < b) && (order > 0) == (a > b), "\(ascending[a]) \(ascending[b])")
      }
    }
    #expect(ExactNumber("-1.5")?.floor.value == -2)
    #expect(ExactNumber("1500e-3")?.floor.value == 1)
    #expect(ExactNumber("15e1")?.floor.isExact == true)
    #expect(ExactNumber("0.0")?.floor.isExact == true)
    #expect(ExactNumber("-0.5e1")?.floor.value == -5)
    #expect(ExactNumber("12a") == nil)
    #expect(ExactNumber("") == nil)
  }
}

// MARK: - Meanings

extension QueryText {
  /// The query as it was understood, without places.
  fileprivate var meaning: String {
    var text = filter?.meaning ?? "all"
    if !order.isEmpty {
      text +=
        " order "
        + order.map {
          "\($0.textForm.isFolded ? "~" : "")\($0.field.text)\($0.descends ? " desc" : "")"
        }
        .joined(separator: ", ")
    }
    if let limit { text += " limit \(limit)" }
    if offset > 0 { text += " offset \(offset)" }
    return text
  }
}

extension QueryText.Condition {
  fileprivate var meaning: String {
    switch self {
    case .all(let parts): "(" + parts.map(\.meaning).joined(separator: " & ") + ")"
    case .any(let parts): "(" + parts.map(\.meaning).joined(separator: " | ") + ")"
    case .not(let part): "!" + part.meaning
    case .test(let test): test.field.text + test.operation.meaning
    }
  }
}

extension QueryText.Operation {
  fileprivate var meaning: String {
    switch self {
    case .isTrue: ""
    case .isNil: " is nil"
    case .compare(let comparison, let literal): " \(comparison.sign) \(literal.meaning)"
    case .compareField(let comparison, let name): " \(comparison.sign) field \(name.text)"
    case .equalText(let literal, _): " ~= \(literal.meaning)"
    case .between(let lower, let upper): " between \(lower.meaning), \(upper.meaning)"
    case .oneOf(let list): " in [\(list.map(\.meaning).joined(separator: ", "))]"
    case .contains(let literal, let form):
      " \(form.isFolded ? "~" : "")contains \(literal.meaning)"
    case .has(let literal): " has \(literal.meaning)"
    case .words(let literal, let others):
      "\(others.map { ", " + $0.text }.joined()) matches \(literal.meaning)"
    case .text(let kind, let literal, let form):
      " \(form.isFolded ? "~" : "")\(kind) \(literal.meaning)"
    }
  }
}

extension QueryText.Comparison {
  fileprivate var sign: String {
    switch self {
    case .equal: "="
    case .notEqual: "!="
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    }
  }
}

extension QueryText.Literal {
  fileprivate var meaning: String {
    switch value {
    case .null: "nil"
    case .bool(let value): "\(value)"
    case .number(let text): text
    case .text(let text): "'\(text)'"
    case .hexadecimal(let digits): "0x\(digits)"
    case .date(let seconds): "date \(seconds)"
    case .uuid(let bytes): "uuid \(bytes)"
    case .bytes(let bytes): "bytes \(bytes)"
    }
  }
}
