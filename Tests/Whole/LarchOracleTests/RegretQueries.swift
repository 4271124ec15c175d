import Foundation
import LarchTestSupport

@testable import Larch

/// A random query over a store, and what its result is needed for.
struct RegretCase {
  let store: RegretStore
  let place: Int
  let query: Query<RegretItem>
  let need: QueryNeed
  /// Of a request for groups.
  var answer: RegretAnswer?

  init(_ store: RegretStore, _ place: Int) throws {
    self.store = store
    self.place = place
    var random = SeededGenerator(seed: store.seed &* 1_000_003 &+ UInt64(place) &* 7919 &+ 5)
    let filter = random.filter(store)
    var query = filter.map { filter in RegretItem.where { _ in filter } } ?? RegretItem.all
    query = random.order(query, store)
    // Most programs need a record, a few records, or all.
    query.details.limit = random.pick([nil, nil, 1, 1, 3, 10, 10, 50, 100])
    if random.chance(1, in: 8) { query = query.offset(random.below(30)) }
    var need: QueryNeed =
      switch random.below(12) {
      case 0...4: .records
      case 5, 6: .ids
      case 7, 8: .count
      case 9, 10: .exists
      default: .fields(random.fields(store))
      }
    if random.chance(1, in: 7) {
      let pages = query.offset(0).limit(1 + random.below(random.pick([3, 40, 400])))
      if let token = try store.store.page(pages).next {
        query = query.after(token)
        if need.isAnyOrder { need = .records }
      }
    }
    self.query = query
    self.need = need
  }

  /// A random request for groups.
  init(groupsOf store: RegretStore, _ place: Int) {
    self.store = store
    self.place = place
    var random = SeededGenerator(seed: store.seed &* 1_000_033 &+ UInt64(place) &* 7907 &+ 3)
    let filter = random.chance(1, in: 3) ? nil : random.filter(store)
    var query = filter.map { filter in RegretItem.where { _ in filter } } ?? RegretItem.all
    if random.chance(1, in: 3) { query = random.order(query, store) }
    // Of most requests all records are in a group.
    if random.chance(1, in: 8) { query = query.limit(random.pick([1, 10, 50, 200])) }
    let (fields, other) = random.groups(store)
    let answer = RegretAnswer(query, fields, other, &random)
    // A limit of distinct values is not one of rows.
    if case .distinct = answer.need { query.details.limit = nil }
    if case .distinctCount = answer.need { query.details.limit = nil }
    self.query = query
    self.answer = answer
    need = answer.need
  }

  /// The fields that a run selects.
  var selected: [FieldReference] {
    if let answer { return answer.selected }
    if case .fields(let fields) = need { return fields }
    return []
  }

  /// What to write to repeat it, and what it asks.
  var text: String {
    let order = query.details.order.map { "\($0.descends ? "-" : "+")\($0.field.name)" }
    let need =
      if let answer {
        answer.text
      } else if case .fields(let fields) = need {
        fields.map(\.name).joined(separator: " and ")
      } else {
        "\(need)"
      }
    return """
      store \(store.seed), query \(place): \(store.text)
      \(need) where \(query.details.filter.text), order \(order)\
      \(query.details.idsDescend ? " from the end" : ""), \
      limit \(query.details.limit.map(String.init) ?? "none"), offset \(query.details.offset)\
      \(query.details.after == nil ? "" : ", from the second page on")
      """
  }
}

extension SeededGenerator {
  private typealias Item = RegretItem

  /// Mostly a field of an index.
  private mutating func field(_ store: RegretStore) -> RegretField {
    chance(3, in: 4) ? pick(pick(store.indexes).fields) : pick(RegretField.allCases)
  }

  /// Nil for all records.
  fileprivate mutating func filter(_ store: RegretStore) -> Filter<RegretItem>? {
    switch below(20) {
    case 0: return nil
    case 1...5: return leaf(store)
    case 6...8: return indexFilter(store)
    case 9...14: return leaf(store) && leaf(store)
    case 15, 16: return leaf(store) && leaf(store) && leaf(store)
    case 17: return leaf(store) || leaf(store)
    case 18: return (leaf(store) || leaf(store)) && leaf(store)
    default: return indexFilter(store) || leaf(store) && leaf(store)
    }
  }

  /// Conditions on the first fields of an index.
  private mutating func indexFilter(_ store: RegretStore) -> Filter<RegretItem> {
    let index = pick(store.indexes)
    var filter: Filter<RegretItem>?
    for (place, field) in index.fields.enumerated() where place == 0 || chance(1, in: 2) {
      let next = leaf(field, store)
      filter = filter.map { $0 && next } ?? next
    }
    return filter ?? leaf(store)
  }

  private mutating func leaf(_ store: RegretStore) -> Filter<RegretItem> {
    leaf(field(store), store)
  }

  /// Constants are those of records, so frequent ones are asked for more often, or of a random
  /// level, so rare ones and missing ones are asked for too.
  private mutating func leaf(_ field: RegretField, _ store: RegretStore) -> Filter<RegretItem> {
    let f = Fields<RegretItem>()
    if chance(1, in: 25) { return idLeaf(store) }
    let item = pick(store.items)
    let other = pick(store.items)
    switch field {
    case .group: return numbers(f.group, chance(1, in: 3) ? below(6) : item.group, other.group)
    case .number: return numbers(f.number, item.number, other.number)
    case .rank: return numbers(f.rank, chance(1, in: 3) ? below(50) : item.rank, other.rank)
    case .code: return numbers(f.code, item.code, other.code)
    case .word: return texts(f.word, item.word, other.word)
    case .team:
      switch below(6) {
      case 0: return f.team == nil
      case 1: return f.team != nil
      case 2: return f.team > (item.team ?? 2)
      case 3: return [item.team ?? 1, other.team ?? 2].contains(f.team)
      default: return f.team == (chance(1, in: 3) ? below(9) : item.team ?? 1)
      }
    case .note:
      switch below(6) {
      case 0: return f.note == nil
      case 1: return f.note != nil
      case 2: return f.note.hasPrefix(String((item.note ?? "oak").prefix(1 + below(5))))
      case 3: return f.note >= (item.note ?? "elm")
      default: return f.note == (chance(1, in: 3) ? Item.text(below(30)) : item.note ?? "ash7")
      }
    case .isOpen: return f.isOpen == item.isOpen
    case .tags:
      let tag = chance(1, in: 3) ? Item.text(below(40)) : item.tags.first ?? "oak0"
      switch below(5) {
      case 0: return f.tags.containsAny(of: [tag, other.tags.first ?? "elm1"])
      case 1: return f.tags.containsAll(of: [tag, other.tags.last ?? "elm1"])
      default: return f.tags.contains(tag)
      }
    case .day:
      switch below(5) {
      case 0: return f.day == item.day
      case 1: return f.day >= item.day
      case 2: return f.day < item.day
      default: return f.day >= min(item.day, other.day) && f.day < max(item.day, other.day)
      }
    case .grade:
      return chance(1, in: 4)
        ? [item.grade, other.grade].contains(f.grade) : f.grade == pick(Item.Grade.allCases)
    }
  }

  private mutating func idLeaf(_ store: RegretStore) -> Filter<RegretItem> {
    let f = Fields<RegretItem>()
    let id = pick(store.items).id
    switch below(4) {
    case 0: return (0...below(5)).map { _ in pick(store.items).id }.contains(f.id)
    case 1: return f.id > id
    case 2: return f.id <= id
    default: return f.id == id
    }
  }

  private mutating func numbers(
    _ field: Field<RegretItem, Int>, _ value: Int, _ other: Int
  ) -> Filter<RegretItem> {
    switch below(12) {
    case 0: return field < value
    case 1: return field >= value
    case 2: return field > value
    case 3: return field >= min(value, other) && field <= max(value, other)
    case 4, 5: return field >= value && field < value + pick([2, 10, 100, 1000])
    case 6: return field != value
    case 7: return (0...below(6)).map { value + $0 * pick([1, 3]) }.contains(field)
    case 8: return field == value || field == other
    default: return field == value
    }
  }

  private mutating func texts(
    _ field: Field<RegretItem, String>, _ value: String, _ other: String
  ) -> Filter<RegretItem> {
    switch below(10) {
    case 0, 1: return field.hasPrefix(String(value.prefix(1 + below(5))))
    case 2: return field >= value
    case 3: return field >= min(value, other) && field <= max(value, other)
    case 4: return [value, other, Item.text(below(9))].contains(field)
    case 5: return field.hasSuffix(String(value.suffix(1)))
    case 6: return field == Item.text(below(20))
    default: return field == value
    }
  }

  // MARK: Orders

  /// No order, that of an index from one of its fields on, or any.
  fileprivate mutating func order(
    _ query: Query<RegretItem>, _ store: RegretStore
  ) -> Query<RegretItem> {
    var fields: [RegretField] = []
    switch below(10) {
    case 0...3: break
    case 4...7:
      let index = pick(store.indexes).fields
      fields = Array(index.dropFirst(below(index.count)))
      if fields.count > 1, chance(1, in: 3) { fields.removeLast() }
    default: fields = (0...below(3)).map { _ in field(store) }
    }
    var query = query
    let descends = chance(1, in: 3)
    for field in fields {
      query = then(query, by: field, chance(1, in: 8) != descends ? .descending : .ascending)
    }
    return chance(1, in: 8) ? query.reversed() : query
  }

  private func then(
    _ query: Query<RegretItem>, by field: RegretField, _ direction: SortDirection
  ) -> Query<RegretItem> {
    switch field {
    case .group: query.then(by: \.group, direction)
    case .number: query.then(by: \.number, direction)
    case .rank: query.then(by: \.rank, direction)
    case .word: query.then(by: \.word, direction)
    case .team: query.then(by: \.team, direction)
    case .note: query.then(by: \.note, direction)
    case .isOpen: query.then(by: \.isOpen, direction)
    case .tags: query
    case .day: query.then(by: \.day, direction)
    case .grade: query.then(by: \.grade, direction)
    case .code: query.then(by: \.code, direction)
    }
  }

  /// Up to three fields that make groups, mostly the first ones of an index, and one of an aggregate, mostly
  /// one that follows them.
  fileprivate mutating func groups(
    _ store: RegretStore
  ) -> (fields: [RegretField], other: RegretField) {
    let index = pick(store.indexes).fields.filter(\.isSingle)
    let start = chance(1, in: 4) ? below(max(1, index.count)) : 0
    var fields = Array(index.dropFirst(start).prefix(1 + below(2)))
    if fields.isEmpty || chance(1, in: 4) {
      let field = pick(RegretField.allCases.filter(\.isSingle))
      if !fields.contains(field) { fields.append(field) }
    }
    let next = index.first { !fields.contains($0) }
    return (fields, chance(2, in: 3) ? next ?? field(store) : field(store))
  }

  /// Fields that are needed, often all in the keys of an index.
  fileprivate mutating func fields(_ store: RegretStore) -> [FieldReference] {
    var query = RegretItem.all
    for field in pick(store.indexes).fields.prefix(2) {
      query = then(query, by: field, .ascending)
    }
    return query.details.order.map(\.field)
  }
}
