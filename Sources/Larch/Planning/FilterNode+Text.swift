extension FilterNode {
  /// The filter as Swift code on one line: `age != 20 && name.hasPrefix("A")`.
  var text: String { text(isInside: false) }

  /// - Parameter isInside: whether it is an operand, and so needs brackets.
  private func text(isInside: Bool) -> String {
    switch self {
    case .all(let nodes): FilterNode.text(nodes, " && ", ifEmpty: "true", isInside)
    case .any(let nodes): FilterNode.text(nodes, " || ", ifEmpty: "false", isInside)
    case .not(.field(let filter)): filter.text(isNegated: true)
    case .not(.pair(let filter)):
      if case .equal = filter.comparison {
        "\(filter.left.text) != \(filter.right.text)"
      } else {
        "!(\(filter.text))"
      }
    case .not(.words(let filter)): "!\(filter.text)"
    case .not(.record(let filter)): "!\(filter.shownText)"
    case .not(.related(let filter)): filter.text(isNegated: true)
    case .not(let node): "!(\(node.text))"
    case .field(let filter): filter.text(isNegated: false)
    case .pair(let filter): filter.text
    case .words(let filter): filter.text
    case .record(let filter): filter.shownText
    case .related(let filter): filter.text(isNegated: false)
    }
  }

  private static func text(
    _ nodes: [FilterNode], _ separator: String, ifEmpty: String, _ isInside: Bool
  ) -> String {
    if nodes.isEmpty { return ifEmpty }
    if nodes.count == 1 { return nodes[0].text(isInside: isInside) }
    let text = nodes.map { $0.text(isInside: true) }.joined(separator: separator)
    return isInside ? "(\(text))" : text
  }
}

extension PairFilter {
  fileprivate var text: String {
    switch comparison {
    case .equal: "\(left.text) == \(right.text)"
    case .less: "\(left.text) < \(right.text)"
    case .lessOrEqual: "\(left.text) <= \(right.text)"
    }
  }
}

extension WordsFilter {
  /// The fields and the words, for a plan that uses an index of words: `title, body (larch && tree*)`.
  var searchText: String { "\(fields.map(\.name).joined(separator: ", ")) (\(queryText))" }

  private var queryText: String {
    PlanText.hidesValues ? PlanText.hidden : PlanText.shortened(query.description)
  }

  /// The call as in Swift, with the words as they were read: `(larch && tree*).matches(title, body)`.
  fileprivate var text: String {
    "(\(queryText)).matches(\(fields.map(\.name).joined(separator: ", ")))"
  }
}

extension RecordFilter {
  fileprivate var shownText: String { PlanText.hidesValues ? textWithoutValues : text }
}

extension FieldReference {
  /// Its name, or the calculation.
  fileprivate var text: String { calculation?.text { PlanText.value($0) } ?? name }
}

extension RelatedFilter {
  fileprivate func text(isNegated: Bool) -> String {
    if least > 1 { return name + ".count \(isNegated ? "<" : ">=") \(least)" }
    if filter.isAlways { return (isNegated ? "" : "!") + name + ".isEmpty" }
    return (isNegated ? "!" : "") + name + (isToOne ? ".matches" : ".contains")
      + " { \(filter.text) }"
  }
}

extension FieldFilter {
  fileprivate func text(isNegated: Bool) -> String {
    let not = isNegated ? "!" : ""
    if field.isMultiple { return not + elementText }
    let name = field.text
    switch test {
    case .equal(let values):
      if case .bool(let value)? = values.first, field.form == .primitive(.bool),
        !PlanText.hidesValues
      {
        return (value != isNegated ? "" : "!") + name
      }
      return "\(name) \(isNegated ? "!=" : "==") \(PlanText.value(values))"
    case .oneOf(let list): return "\(not)\(PlanText.list(list)).contains(\(name))"
    case .within(nil, nil): return "\(name) \(isNegated ? "==" : "!=") nil"
    case .within(let lower, let upper):
      let text = [
        lower.map { "\(name) \($0.isIncluded ? ">=" : ">") \(PlanText.value($0.values))" },
        upper.map { "\(name) \($0.isIncluded ? "<=" : "<") \(PlanText.value($0.values))" },
      ].compactMap { $0 }.joined(separator: " && ")
      return isNegated ? "!(\(text))" : text
    case .text(let text): return "\(not)\(text.text(of: name))"
    }
  }

  /// The test of some element of an array or a set.
  private var elementText: String {
    let name = field.name
    switch test {
    case .equal(let values): return "\(name).contains(\(PlanText.value(values)))"
    case .oneOf(let list): return "\(name).containsAny(of: \(PlanText.list(list)))"
    case .within(nil, nil): return "\(name).contains { $0 != nil }"
    case .within(let lower, let upper):
      let text = [
        lower.map { "$0 \($0.isIncluded ? ">=" : ">") \(PlanText.value($0.values))" },
        upper.map { "$0 \($0.isIncluded ? "<=" : "<") \(PlanText.value($0.values))" },
      ].compactMap { $0 }.joined(separator: " && ")
      return "\(name).contains { \(text) }"
    case .text(let text): return "\(name).contains { \(text.text(of: "$0")) }"
    }
  }
}

extension TextTest {
  fileprivate func text(of name: String) -> String {
    let call =
      switch kind {
      case .equal: "equals"
      case .hasPrefix: "hasPrefix"
      case .hasSuffix: "hasSuffix"
      case .contains: "contains"
      case .like: "like"
      }
    let options = textForm.option.map { ", options: " + $0 } ?? ""
    return "\(name).\(call)(\(PlanText.value(.string(text)))\(options))"
  }
}

/// Constants in the text of plans.
enum PlanText {
  /// Longer texts and data are shortened.
  private static let lengthLimit = 40
  /// The number of values that are shown of a longer list.
  private static let listLimit = 8

  /// Set while a text is made for a log, which must not show the values of a query.
  static var hidesValues: Bool { hiding.get() }
  private static let hiding = TaskLocal<Bool>(wrappedValue: false)
  /// The text in place of a value.
  static let hidden = "…"

  /// Runs a body in which a mark replaces each value and id.
  static func withoutValues<T>(_ body: () throws -> T) rethrows -> T {
    try hiding.withValue(true, operation: body)
  }

  static func value(_ value: KeyValue) -> String {
    if hidesValues { return hidden }
    switch value {
    case .string(let text), .url(let text):
      return text.count > lengthLimit
        ? KeyValue.quoted(String(text.prefix(lengthLimit))) + "…" : KeyValue.quoted(text)
    case .data(let bytes):
      return bytes.count > lengthLimit / 2
        ? KeyValue.data([UInt8](bytes.prefix(lengthLimit / 2))).description + "…"
        : value.description
    case .date(let seconds): return ISODate.text(seconds) ?? value.description
    default: return value.description
    }
  }

  /// A value of a field: one, or several in brackets.
  static func value(_ values: [KeyValue]) -> String {
    values.count == 1 || hidesValues
      ? value(values[0]) : "(" + values.map { value($0) }.joined(separator: ", ") + ")"
  }

  static func list(_ list: [[KeyValue]]) -> String {
    "[" + shortened(list.map { value($0) }) + "]"
  }

  /// The beginning of a long text.
  static func shortened(_ text: String) -> String {
    text.count > 2 * lengthLimit ? text.prefix(2 * lengthLimit) + "…" : text
  }

  /// Some of many texts, and their number.
  static func shortened(_ texts: [String]) -> String {
    guard texts.count > listLimit else { return texts.joined(separator: ", ") }
    return texts.prefix(listLimit).joined(separator: ", ") + ", … \(texts.count) in all"
  }
}
