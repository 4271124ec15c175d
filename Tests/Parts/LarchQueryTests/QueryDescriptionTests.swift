import Foundation
import Testing

@testable import Larch

/// An index over each kind of path, to check that filters name the same fields.
private struct DslIndexed: Record {
  enum CodingKeys: String, CodingKey {
    case id, name
    case surname = "last_name"
    case address, home, tags, numbers, role
  }
  var id: UUID
  var name: String
  var surname: String?
  var address: DslAddress
  var home: DslAddress?
  var tags: [String]
  var numbers: Set<Int>?
  var role: DslRole
  var shout: String { name.uppercased() }

  static let schema = Schema<DslIndexed> {
    Index(\.id)
    Index(\.name)
    Index(\.surname)
    Index(\.address.city)
    Index(\.address.place?.city)
    Index(\.home?.city)
    Index(\.home?.zip)
    Index(\.home?.place?.zip)
    Index(\.tags)
    Index(\.numbers)
    Index(\.role)
    Index(\.shout, name: "shout")
    Index(\.name.count, name: "count")
    Index(\.home?.shout, name: "homeShout")
  }
}

@Suite("Queries describe a request without running it")
struct QueryDescriptionTests {
  @Test("A filter names a field as an index over it does")
  func identities() throws {
    let schema = try SchemaCompiler.compile(DslIndexed.self)
    let fields = Fields<DslIndexed>()
    let named: [(FieldReference, String)] = [
      (fields.id.node.indexKey().field, "id"),
      (fields.name.node.indexKey().field, "name"),
      (fields.surname.node.indexKey().field, "surname"),
      (fields.address.city.node.indexKey().field, "address.city"),
      (fields.address.place.city.node.indexKey().field, "address.place.city"),
      (fields.home.city.node.indexKey().field, "home.city"),
      (fields.home.zip.node.indexKey().field, "home.zip"),
      (fields.home.place.zip.node.indexKey().field, "home.place.zip"),
      (try #require(fields.tags.node.elementKey).field, "tags"),
      (try #require(fields.numbers.node.elementKey).field, "numbers"),
      (fields.role.node.indexKey().field, "role"),
      (fields.shout.node.indexKey().field, "<String>"),
      (fields.name.count.node.indexKey().field, "name.<Int>"),
      (fields[\.home?.shout].node.indexKey().field, "<Optional<String>>"),
    ]
    for (index, (field, name)) in zip(schema.indexes, named) {
      #expect(index.fields[0].identity == field.identity, "\(index.name)")
      #expect(index.fields[0].form == field.form, "\(index.name)")
      #expect(index.fields[0].isMultiple == field.isMultiple, "\(index.name)")
      #expect(index.fields[0].storedPath == field.storedPath || field.identity == .id)
      #expect(field.name == name)
    }
    #expect(schema.indexes.count == named.count)
    #expect(fields.id.node.identity == .id)
    #expect(Fields<DslBook>().id.node.identity == .id)
    #expect(Fields<DslBook>().isbn.node.identity == .stored(["isbn"]))
    let book = DslBook(isbn: "1", number: 2)
    #expect((Fields<DslBook>().id == "1").node.matches(book))
    #expect(fields.surname.node.identity == .stored(["last_name"]))
    #expect(fields.home.place.zip.node.identity == .stored(["home", "place", "zip"]))
    #expect(fields.address.city.node.identity == .stored(["address", "town"]))
    // Of an optional, a computed property is only itself.
    #expect(fields.home.shout.node.identity == fields.home.shout.node.identity)
    #expect(fields.home.shout.node.identity != fields.address.shout.node.identity)
    #expect(fields.home.shout.node.identity != fields.home.first.node.identity)
    #expect(fields.home.shout.node.name == "home.<Optional<String>>")
  }

  @Test("The same property is the same object each time, from filters and from key paths")
  func sharedFields() {
    func field(_ filter: Filter<DslRow>) -> FieldReference? {
      guard case .field(let filter) = filter.node else { return nil }
      return filter.field
    }
    let fields = Fields<DslRow>()
    for _ in 0..<2 {
      #expect(field(fields.maybeAddress.zip == 1) === field(fields.maybeAddress.zip == 2))
      #expect(field(fields.address.city == "") === fields.address.city.node.indexKey().field)
      #expect(field(fields.tags.contains("a")) === field(fields.tags.contains("b")))
    }
    #expect(TypedField<DslRow>.of(\.number).identity == .stored(["number"]))
    #expect(TypedField<DslRow>.of(\.id).identity == .id)
  }

  private func text(_ node: FilterNode) -> String {
    func list(_ nodes: [FilterNode], _ word: String) -> String {
      "(" + nodes.map(text).joined(separator: word) + ")"
    }
    func bound(_ bound: ValueBound?, _ open: String, _ closed: String) -> String {
      bound.map { ($0.isIncluded ? closed : open) + "\($0.values)" } ?? ""
    }
    switch node {
    case .all(let nodes): return list(nodes, " & ")
    case .any(let nodes): return list(nodes, " | ")
    case .not(let node): return "!" + text(node)
    case .pair(let pair): return "\(pair.left.name) \(pair.comparison) \(pair.right.name)"
    case .words(let filter):
      return "\(filter.query) in \(filter.fields.map(\.name).joined(separator: ", "))"
    case .record(let test): return "{\(test.text)}"
    case .related(let filter): return "\(filter.name) { \(text(filter.filter)) }"
    case .field(let filter):
      switch filter.test {
      case .equal(let values): return "\(filter.field.name) = \(values)"
      case .oneOf(let list): return "\(filter.field.name) in \(list)"
      case .within(let lower, let upper):
        return filter.field.name + bound(lower, " > ", " >= ") + bound(upper, " < ", " <= ")
      case .text(let test):
        let name = test.textForm.isFolded ? "~\(test.kind)" : "\(test.kind)"
        return "\(filter.field.name) \(name) \(test.text)"
      }
    }
  }

  private func expect<Condition: FilterExpression>(
    _ expected: String, location: SourceLocation = #_sourceLocation,
    _ condition: (Fields<DslRow>) -> Condition
  ) where Condition.Root == DslRow {
    #expect(
      text(condition(Fields())._filter.node) == expected, sourceLocation: location)
  }

  @Test("Operators become the leaves that the planner knows")
  func leaves() {
    expect("number = [5]") { $0.number == 5 }
    expect("!number = [5]") { $0.number != 5 }
    expect("maybeNumber = [nil]") { $0.maybeNumber == nil }
    expect("!maybeNumber = [nil]") { $0.maybeNumber != nil }
    expect("number > [5]") { $0.number > 5 }
    expect("number < [5]") { 5 > $0.number }
    expect("maybeNumber >= [1] <= [5]") { (1...5).contains($0.maybeNumber) }
    expect("number >= [1] < [5]") { (1..<5).contains($0.number) }
    expect("number in [[1], [2], [3]]") { [3, 1, 2, 1].contains($0.number) }
    expect("maybeReal in [[nil], [0.0]]") { [0, nil, .nan].contains($0.maybeReal) }
    expect("larch && !sql in text") { TextQuery("larch -sql").matches($0.text) }
    expect("text hasPrefix a") { $0.text.hasPrefix("a") }
    expect("maybeText ~like A%") { $0.maybeText.like("A%", options: .caseInsensitive) }
    expect("text ~equal A") { $0.text.equals("A", options: .caseInsensitive) }
    expect("number equal other") { $0.number == $0.other }
    expect("!number equal maybeNumber") { $0.number != $0.maybeNumber }
    expect("other less number") { $0.number > $0.other }
    expect("maybeNumber lessOrEqual number") { $0.maybeNumber <= $0.number }
    expect("flag = [true]") { $0.flag }
    expect("flag = [false]") { !$0.flag }
    expect("!maybeFlag = [true]") { !($0.maybeFlag == true) }
    expect("flag = [true]") { !(!$0.flag) }
    expect("!text.<Int> = [1]") {
      $0.text.count != 1
    }
    expect("role = [\"owner\"]") { $0.role == .owner }
    expect("version >= [1, 2]") { $0.version >= DslVersion(major: 1, minor: 2) }
    expect("tags = [\"a\"]") { $0.tags.contains("a") }
    expect("tags in [[\"a\"], [\"b\"]]") { $0.tags.containsAny(of: ["b", "a"]) }
    expect("(tags = [\"a\"] & tags = [\"b\"])") { $0.tags.containsAll(of: ["a", "b"]) }
    expect("price = [1]") { $0.price == 1 }
    expect("{maybeAddress == nil}") { $0.maybeAddress == nil }
    expect("price less maybePrice") { $0.price < $0.maybePrice }
    expect("{a closure}") { $0.satisfies { $0.flag } }
  }

  @Test("A condition on elements becomes an index test if one element decides it")
  func elementLeaves() {
    expect("tags hasPrefix a") { $0.tags.contains { $0.hasPrefix("a") } }
    expect("(marks < [0] | marks > [9])") { $0.marks.contains { $0 < 0 || $0 > 9 } }
    expect("(marks > [1] & marks < [9] & {marks contains where …})") {
      $0.marks.contains { $0 > 1 && $0 < 9 }
    }
    expect("(tags hasPrefix a & {tags contains where …})") {
      $0.tags.contains { $0.hasPrefix("a") && $0.count > 1 }
    }
    expect("{tags contains where …}") { $0.tags.contains { $0 != "a" } }
    expect("{tags contains where …}") { $0.tags.contains { $0 == "a" || $0.count > 1 } }
    expect("{places contains where …}") { $0.places.contains { $0.city == "a" } }
  }

  @Test("Combined conditions are flattened")
  func joined() {
    expect("(flag = [true] & number > [1] & text = [\"a\"])") {
      $0.flag && $0.number > 1 && $0.text == "a"
    }
    expect("(flag = [true] | number > [1] | (flag = [false] & other = [1]))") {
      $0.flag || $0.number > 1 || !$0.flag && $0.other == 1
    }
    expect("!(flag = [true] | number = [1])") { !($0.flag || $0.number == 1) }
    let words = ["a", "b"]
    expect("(text contains a | text contains b)") { row in
      words.map { row.text.contains($0) }.reduce(Filter.never) { $0 || $1 }
    }
    expect("(text contains a & text contains b)") { row in
      words.map { row.text.contains($0) }.reduce(Filter.always) { $0 && $1 }
    }
    expect("()") { _ in Filter.always }
    let query = DslRow.where { $0.flag }.where { $0.number > 1 && $0.other > 1 }
      .filter { $0.number > $0.other }
    #expect(
      text(query.details.filter)
        == "(flag = [true] & number > [1] & other > [1] & {a closure})")
    #expect(text(DslRow.all.details.filter) == "()")
  }

  private func order(_ query: Query<DslRow>) -> String {
    query.details.order.map {
      $0.field.name + ($0.textForm.isFolded ? "~" : "") + ($0.descends ? "-" : "+")
    }.joined(separator: " ") + (query.details.idsDescend ? " id-" : " id+")
  }

  @Test("Orders: the first term first, reversed as a whole, sorted again as an array is")
  func orders() {
    let all = DslRow.all
    #expect(order(all) == " id+")
    #expect(order(all.reversed()) == " id-")
    #expect(order(all.sorted(by: \.number)) == "number+ id+")
    #expect(order(all.sorted(by: \.number, .descending)) == "number- id+")
    #expect(order(all.sorted(by: \.text, options: .caseInsensitive)) == "text~+ id+")
    #expect(
      order(all.sorted(by: \.maybeText, options: .caseInsensitive, .descending))
        == "maybeText~- id+")
    #expect(
      order(all.sorted(by: \.text).then(by: \.number, .descending)) == "text+ number- id+")
    #expect(
      order(all.sorted(by: \.text).then(by: \.maybeText, options: .caseInsensitive))
        == "text+ maybeText~+ id+")
    #expect(
      order(all.sorted(by: \.text, \.number, \.maybeAddress?.zip))
        == "text+ number+ maybeAddress.zip+ id+")
    #expect(
      order(all.sorted(by: \.text).then(by: \.number, .descending).reversed())
        == "text- number+ id-")
    #expect(order(all.sorted(by: \.text).sorted(by: \.number)) == "number+ text+ id+")
    #expect(order(all.reversed().sorted(by: \.number)) == "number+ id-")
    #expect(order(all.sorted(by: \.number).reversed().reversed()) == "number+ id+")
  }

  @Test("Sorting again and reversing behave as for arrays")
  func ordersAreArrayOrders() {
    func compare(_ a: DslRow, _ b: DslRow, _ details: QueryDescription) -> Bool {
      for term in details.order {
        guard let field = term.field as? TypedField<DslRow> else { continue }
        let order = KeyValue.compare(field.value(of: a), field.value(of: b))
        if order != 0 { return term.descends ? order > 0 : order < 0 }
      }
      return details.idsDescend ? a.id > b.id : a.id < b.id
    }
    func check(_ query: Query<DslRow>, _ expected: [DslRow], _ line: Int = #line) {
      let sorted = DslRow.samples.sorted { compare($0, $1, query.details) }
      #expect(sorted.map(\.id) == expected.map(\.id), "line \(line)")
    }
    let rows = DslRow.samples
    func isLess(_ a: Int?, _ b: Int?) -> Bool {
      a.map { a in b.map { a < $0 } ?? false } ?? (b != nil)
    }
    let byNumber = rows.sorted { $0.number < $1.number }
    check(.init().sorted(by: \.number), byNumber)
    check(.init().sorted(by: \.number, .descending), rows.sorted { $0.number > $1.number })
    check(.init().sorted(by: \.number).reversed(), byNumber.reversed())
    check(.init().sorted(by: \.number).sorted(by: \.byte), byNumber.sorted { $0.byte < $1.byte })
    check(
      .init().sorted(by: \.byte).then(by: \.number, .descending),
      rows.sorted { ($0.byte, $1.number) < ($1.byte, $0.number) })
    check(
      .init().reversed().sorted(by: \.byte),
      Array(rows.reversed()).sorted { $0.byte < $1.byte })
    check(.init().sorted(by: \.maybeNumber), rows.sorted { isLess($0.maybeNumber, $1.maybeNumber) })
    check(
      .init().sorted(by: \.maybeNumber, .descending),
      rows.sorted { isLess($1.maybeNumber, $0.maybeNumber) })
  }

  @Test("Limits and offsets: the last one counts, and the original query does not change")
  func limits() {
    let query = DslRow.where { $0.flag }
    let page = query.limit(20).offset(5).limit(10)
    #expect(page.details.limit == 10 && page.details.offset == 5)
    #expect(query.details.limit == nil && query.details.offset == 0)
    #expect(query.limit(-1).details.limit == -1)
    let token = PageToken(order: "id", values: [], id: [1])
    #expect(query.after(token).details.after?.id == [1])
  }

  @Test("A selection reads key values back, and other types from the record")
  func selections() throws {
    let one = DslRow.all.select(\.number)
    #expect(one.references?.map(\.name) == ["number"])
    let several = DslRow.where { $0.flag }.select(\.text, \.maybeAddress?.zip, \.role)
    #expect(several.references?.map(\.name) == ["text", "maybeAddress.zip", "role"])
    let other = DslRow.select(\.number, \.price, \.tags)
    #expect(other.references == nil)
    let row = DslRow.samples[0]
    #expect(SelectedField(\DslRow.price).read(row) == row.price)
    #expect(SelectedField(\DslRow.tags).read(row) == row.tags)
    let key = try #require(SelectedField(\DslRow.number).key)
    #expect(key.coding.read([.signed(7)]) == 7)
    #expect(key.coding.read([.null]) == nil)
    let zip = try #require(SelectedField(\DslRow.maybeAddress?.zip).key)
    #expect(zip.coding.read([.null]) == .some(nil))
    let role = try #require(SelectedField(\DslRow.role).key)
    #expect(role.coding.read([.string("owner")]) == .owner)
  }

  @Test("Only a distinct selection gives equal results once")
  func distinct() {
    #expect(DslRow.all.select(\.text).distinct().isDistinct)
    #expect(!DslRow.all.select(\.text).isDistinct)
  }
}

/// An id that is not a stored property itself.
private struct DslBook: Record {
  enum CodingKeys: CodingKey { case isbn, number }
  var isbn: String
  var number: Int
  var id: String {
    get { isbn }
    set { isbn = newValue }
  }
}

/// Generic code creates key path literals again at each use.
private func dslGenericField<R: Record>(_ type: R.Type) -> FieldReference {
  Fields<R>()[\R.id].node.indexKey().field
}

extension QueryDescriptionTests {
  @Test("Fields that generic code names are the same objects too, from many threads")
  func genericFields() async {
    let first = dslGenericField(DslRow.self)
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<1000).allSatisfy { _ in dslGenericField(DslRow.self) === first }
        }
      }
      for await isSame in group { #expect(isSame) }
    }
    #expect(dslGenericField(DslIndexed.self) !== first)
    for number in 0..<5 {
      let node = Fields<DslRow>()[\.tags[number]].node
      #expect(node.identity == Fields<DslRow>()[\.tags[number]].node.identity)
    }
  }
}
