import Foundation
import LarchTestSupport

@testable import Larch

/// How a plan answers a request for groups, and what an array answers.
///
/// Conditions, order and limit of groups come after all of them are known, so no plan depends on them;
/// they are here for the answers.
struct RegretAnswer {
  let need: QueryNeed
  /// The fields that a run of a plan selects.
  let selected: [FieldReference]
  /// The rows, as text.
  let rows: (PlanRun, RecordAccess<RegretItem>) throws -> [String]
  /// The rows of these records.
  let expected: ([RegretItem]) -> [String]
  let text: String
}

/// A field by which records are grouped.
private protocol RegretColumn {
  associatedtype Value: IndexKey & Sendable
  var path: any KeyPath<RegretItem, Value> & Sendable { get }
}

private struct GroupedColumn<Value: IndexKey & Sendable>: RegretColumn {
  let path: any KeyPath<RegretItem, Value> & Sendable
}

/// An aggregate of a request and of an array.
private protocol RegretAggregate {
  associatedtype Value: Sendable
  var asked: GroupAggregate<RegretItem, Value> { get }
  func value(of items: [RegretItem]) -> Value
}

private struct CountedGroup: RegretAggregate {
  var asked: GroupAggregate<RegretItem, Int> { .count }
  func value(of items: [RegretItem]) -> Int { items.count }
}

private struct SummedGroup: RegretAggregate {
  let path: any KeyPath<RegretItem, Int> & Sendable
  var asked: GroupAggregate<RegretItem, Int> { .sum(path) }
  func value(of items: [RegretItem]) -> Int { items.reduce(0) { $0 + $1[keyPath: path] } }
}

private struct AverageOfGroup: RegretAggregate {
  let path: any KeyPath<RegretItem, Int> & Sendable
  var asked: GroupAggregate<RegretItem, Double?> { .average(path) }
  func value(of items: [RegretItem]) -> Double? {
    Double(items.reduce(0) { $0 + $1[keyPath: path] }) / Double(items.count)
  }
}

private struct ExtremeOfGroup<Field: IndexKey & Comparable & Sendable>: RegretAggregate {
  let path: any KeyPath<RegretItem, Field> & Sendable
  let isGreatest: Bool
  var asked: GroupAggregate<RegretItem, Field?> { isGreatest ? .max(path) : .min(path) }
  func value(of items: [RegretItem]) -> Field? {
    let values = items.map { $0[keyPath: path] }
    return isGreatest ? values.max() : values.min()
  }
}

private struct ExtremeOfOptional<Field: IndexKey & Comparable & Sendable>: RegretAggregate {
  let path: any KeyPath<RegretItem, Field?> & Sendable
  let isGreatest: Bool
  var asked: GroupAggregate<RegretItem, Field?> { isGreatest ? .max(path) : .min(path) }
  func value(of items: [RegretItem]) -> Field? {
    let values = items.compactMap { $0[keyPath: path] }
    return isGreatest ? values.max() : values.min()
  }
}

/// What follows the groups of a request.
private struct RegretEnding {
  var hasCondition: Bool
  var isSorted: Bool
  var limit: Int?

  private static func isKept(_ row: String) -> Bool { row.utf8.reduce(0) { $0 ^ $1 } % 3 != 0 }

  func end<Row>(_ grouped: Grouped<RegretItem, Row>) -> Grouped<RegretItem, Row> {
    var grouped = grouped
    if hasCondition { grouped = grouped.having { RegretEnding.isKept("\($0)") } }
    if isSorted { grouped = grouped.sorted { "\($0)" < "\($1)" } }
    return limit.map { grouped.limit($0) } ?? grouped
  }

  func end(_ rows: [String]) -> [String] {
    let rows = (hasCondition ? rows.filter(RegretEnding.isKept) : rows).sorted()
    return limit.map { Array(rows.prefix($0)) } ?? rows
  }

  var text: String {
    "\(hasCondition ? ", having" : "")\(isSorted ? ", sorted" : "")\(limit.map { ", limit \($0)" } ?? "")"
  }
}

/// Makes the answer of a request from what it is made of.
private struct RegretAnswers {
  let query: Query<RegretItem>
  let ending: RegretEnding
  let text: String

  func answer(_ columns: [any RegretColumn], _ aggregates: [any RegretAggregate]) -> RegretAnswer {
    switch columns.count {
    case 1: one(columns[0], aggregates)
    case 2: two(columns[0], columns[1], aggregates)
    default: three(columns[0], columns[1], columns[2], aggregates)
    }
  }

  private func one<A: RegretColumn>(_ a: A, _ aggregates: [any RegretAggregate]) -> RegretAnswer {
    let a = a.path
    return select(query.grouped(by: a), { $0[keyPath: a] }, aggregates)
  }

  private func two<A: RegretColumn, B: RegretColumn>(
    _ a: A, _ b: B, _ aggregates: [any RegretAggregate]
  ) -> RegretAnswer {
    let (a, b) = (a.path, b.path)
    return select(query.grouped(by: a, b), { ($0[keyPath: a], $0[keyPath: b]) }, aggregates)
  }

  private func three<A: RegretColumn, B: RegretColumn, C: RegretColumn>(
    _ a: A, _ b: B, _ c: C, _ aggregates: [any RegretAggregate]
  ) -> RegretAnswer {
    let (a, b, c) = (a.path, b.path, c.path)
    return select(
      query.grouped(by: a, b, c), { ($0[keyPath: a], $0[keyPath: b], $0[keyPath: c]) }, aggregates)
  }

  private func select<Key>(
    _ grouping: Grouping<RegretItem, Key>, _ key: @escaping (RegretItem) -> Key,
    _ aggregates: [any RegretAggregate]
  ) -> RegretAnswer {
    aggregates.count == 1
      ? select(grouping, key, aggregates[0]) : select(grouping, key, aggregates[0], aggregates[1])
  }

  private func select<Key, A: RegretAggregate>(
    _ grouping: Grouping<RegretItem, Key>, _ key: @escaping (RegretItem) -> Key, _ a: A
  ) -> RegretAnswer {
    answer(grouping.select(a.asked), key) { (key: $0, a.value(of: $1)) }
  }

  private func select<Key, A: RegretAggregate, B: RegretAggregate>(
    _ grouping: Grouping<RegretItem, Key>, _ key: @escaping (RegretItem) -> Key, _ a: A, _ b: B
  ) -> RegretAnswer {
    answer(grouping.select(a.asked, b.asked), key) {
      (key: $0, a.value(of: $1), b.value(of: $1))
    }
  }

  private func answer<Key, Row>(
    _ grouped: Grouped<RegretItem, Row>, _ key: @escaping (RegretItem) -> Key,
    _ row: @escaping (Key, [RegretItem]) -> Row
  ) -> RegretAnswer {
    // Without an order of their own, groups are compared in that of their texts.
    let asked = ending.end(grouped)
    let (ending, isSorted) = (ending, ending.isSorted)
    return RegretAnswer(
      need: asked.need, selected: asked.selected,
      rows: { run, access in
        let rows = try asked.rows(of: asked.groups(of: run, access)).map { "\($0)" }
        return isSorted ? rows : rows.sorted()
      },
      expected: { items in
        let groups = Dictionary(grouping: items) { "\(key($0))" }
        return ending.end(groups.values.map { "\(row(key($0[0]), $0))" })
      }, text: text + ending.text)
  }
}

extension RegretAnswer {
  /// A random request for groups, or for one number of all records.
  init(
    _ query: Query<RegretItem>, _ fields: [RegretField], _ other: RegretField,
    _ random: inout SeededGenerator
  ) {
    let names = fields.map { "\($0)" }.joined(separator: ", ")
    let columns = fields.compactMap(\.column)
    let references = fields.compactMap(\.reference)
    switch random.below(12) {
    case 0:
      self.init(distinct: .distinctCount(references), references, fields, "distinct \(names)")
    case 1:
      self.init(distinct: .distinct(references), references, fields, "each distinct \(names)")
    case 2, 3:
      let number = other.number ?? \RegretItem.rank
      self.init(query, sumOf: number, "sum of \(other.number == nil ? .rank : other)")
    default:
      var aggregates: [(text: String, any RegretAggregate)] = []
      for _ in 0..<(1 + random.below(2)) {
        aggregates.append(other.aggregate(&random))
      }
      if random.chance(1, in: 3) { aggregates = [("count", CountedGroup())] }
      var ending = RegretEnding(
        hasCondition: random.chance(1, in: 4), isSorted: random.chance(1, in: 4), limit: nil)
      if ending.isSorted, random.chance(1, in: 2) { ending.limit = 1 + random.below(5) }
      let text = "\(aggregates.map(\.text).joined(separator: " and ")) by \(names)"
      self = RegretAnswers(query: query, ending: ending, text: text)
        .answer(columns, aggregates.map(\.1))
    }
  }

  /// The distinct values; of a plan only their number is compared.
  private init(
    distinct need: QueryNeed, _ references: [FieldReference], _ fields: [RegretField],
    _ text: String
  ) {
    self.need = need
    selected = references
    self.text = text
    rows = { run, _ in
      var seen: Set<String> = []
      var apart = 0
      while try run.next() != nil {
        // What is distinct is counted without its value.
        if case .distinctCount = need, !run.mayRepeatValues {
          apart += 1
          continue
        }
        let values = try references.indices.map { try run.values(of: $0) }
        seen.insert("\(values)")
      }
      return ["\(seen.count + apart)"]
    }
    expected = { items in
      ["\(Set(items.map { item in fields.map { $0.value(of: item) } }).count)"]
    }
  }

  private init(
    _ query: Query<RegretItem>, sumOf path: any KeyPath<RegretItem, Int> & Sendable,
    _ text: String
  ) {
    let reference = TypedField.of(path)
    need = query.details.isPart ? .fields([reference]) : .values([reference])
    selected = [reference]
    self.text = text
    rows = { run, _ in
      var total = KeyTotal()
      if let whole = try run.total(of: 0) {
        total = whole
      } else {
        while try run.next() != nil {
          if let value = try run.value(of: 0) { total.add(value, 1) }
        }
      }
      return ["\(Int.sum(total) ?? .min)"]
    }
    expected = { items in ["\(items.reduce(0) { $0 + $1[keyPath: path] })"] }
  }
}

extension RegretField {
  /// Nil for a list.
  fileprivate var column: (any RegretColumn)? {
    switch self {
    case .group: GroupedColumn(path: \.group)
    case .number: GroupedColumn(path: \.number)
    case .rank: GroupedColumn(path: \.rank)
    case .word: GroupedColumn(path: \.word)
    case .team: GroupedColumn(path: \.team)
    case .note: GroupedColumn(path: \.note)
    case .isOpen: GroupedColumn(path: \.isOpen)
    case .tags: nil
    case .day: GroupedColumn(path: \.day)
    case .grade: GroupedColumn(path: \.grade)
    case .code: GroupedColumn(path: \.code)
    }
  }

  var isSingle: Bool { column != nil }

  fileprivate var reference: FieldReference? {
    func reference(_ column: some RegretColumn) -> FieldReference { TypedField.of(column.path) }
    return column.map { reference($0) }
  }

  fileprivate func value(of item: RegretItem) -> String {
    func value(_ column: some RegretColumn) -> String { "\(item[keyPath: column.path])" }
    return column.map { value($0) } ?? ""
  }

  fileprivate var number: (any KeyPath<RegretItem, Int> & Sendable)? {
    switch self {
    case .group: return \RegretItem.group
    case .number: return \RegretItem.number
    case .rank: return \RegretItem.rank
    case .code: return \RegretItem.code
    case .word, .team, .note, .isOpen, .tags, .day, .grade: return nil
    }
  }

  fileprivate func aggregate(
    _ random: inout SeededGenerator
  ) -> (text: String, any RegretAggregate) {
    let isGreatest = random.chance(1, in: 2)
    if let number {
      switch random.below(4) {
      case 0: return ("sum(\(self))", SummedGroup(path: number))
      case 1: return ("average(\(self))", AverageOfGroup(path: number))
      default: break
      }
    }
    let extreme: (any RegretAggregate)? =
      switch self {
      case .group, .number, .rank, .code:
        number.map { ExtremeOfGroup(path: $0, isGreatest: isGreatest) }
      case .word: ExtremeOfGroup(path: \.word, isGreatest: isGreatest)
      case .day: ExtremeOfGroup(path: \.day, isGreatest: isGreatest)
      case .team: ExtremeOfOptional(path: \.team, isGreatest: isGreatest)
      case .note: ExtremeOfOptional(path: \.note, isGreatest: isGreatest)
      case .isOpen, .tags, .grade: nil
      }
    return extreme.map { ("\(isGreatest ? "max" : "min")(\(self))", $0) }
      ?? ("count", CountedGroup())
  }
}
