import Foundation
import LarchTestSupport

@testable import Larch

/// The rows of a plan before the sort, and the filter with the same meaning.
struct SourceSample {
  var source: Plan.Source
  var meaning: FilterNode
  /// The index, and how many of its first components have one value in all rows.
  var ordered: (index: Int, fixed: Int)?
}

extension SeededGenerator {
  // MARK: Filters

  mutating func value(of field: FieldReference) -> [KeyValue] {
    let record = sample()
    return unsafeDowncast(field, to: TypedField<Sample>.self).value(of: record)
  }

  mutating func test(of field: FieldReference) -> FieldTest {
    let form = field.form.unwrapped
    if form == .primitive(.string), chance(2) {
      let kind = pick([TextTest.Kind.equal, .hasPrefix, .hasSuffix, .contains, .like])
      var text = word()
      if kind == .like { text = pick(["%", "_", "a%", "%b", "_%_", "\\%", "%\\"]) + text }
      if chance(3) { text = String(note().prefix(130)) }
      return .text(TextTest(kind: kind, text: text, chance(2) ? .caseInsensitive : .exact))
    }
    switch below(4) {
    case 0: return .equal(value(of: field))
    case 1: return .oneOf(anyOrder: (0..<below(4)).map { _ in value(of: field) })
    default:
      func isPresent(_ values: [KeyValue]) -> Bool { !KeyValue.isNil(values) }
      let lower = value(of: field)
      let upper = value(of: field)
      return .within(
        lower: chance(4) || !isPresent(lower)
          ? nil : ValueBound(values: lower, isIncluded: chance(2)),
        upper: chance(4) || !isPresent(upper)
          ? nil : ValueBound(values: upper, isIncluded: chance(2)))
    }
  }

  mutating func elementTest() -> FieldTest {
    switch below(3) {
    case 0: return .equal([.string(word())])
    case 1: return .oneOf(anyOrder: [[.string(word())], [.string(word())]])
    default:
      return .text(TextTest(kind: .hasPrefix, text: word(), chance(2) ? .caseInsensitive : .exact))
    }
  }

  mutating func filter(depth: Int) -> FilterNode {
    switch depth == 0 ? 9 : below(10) {
    case 0: return .all((0..<below(3)).map { _ in filter(depth: depth - 1) })
    case 1: return .any((0..<below(3)).map { _ in filter(depth: depth - 1) })
    case 2: return .not(filter(depth: depth - 1))
    case 3:
      let pairs = [
        (SampleField.name, SampleField.note), (SampleField.city, SampleField.name),
        (SampleField.city, SampleField.street), (SampleField.mood, SampleField.name),
        (SampleField.age, SampleField.age), (SampleField.score, SampleField.score),
        (SampleField.height, SampleField.height),
      ]
      let (left, right) = pick(pairs)
      return .pair(PairFilter(left, pick([.equal, .less, .lessOrEqual]), right))
    case 4:
      let limit = below(10)
      return .record(RecordTest<Sample>(text: "closure") { $0.age &+ $0.tags.count > limit })
    case 5: return .field(FieldFilter(SampleField.tags, elementTest()))
    default:
      let field = pick(SampleField.single)
      return .field(FieldFilter(field, test(of: field)))
    }
  }

  // MARK: Sources

  /// The bytes of values as the first components of keys of an index.
  private func prefix(_ parts: [(KeyForm, [KeyValue])], of count: Int) -> KeyPrefix {
    var writer = KeyWriter()
    for (place, part) in parts.enumerated() {
      _ = writer.append(part.1, as: part.0, isLast: place == count - 1)
    }
    return KeyPrefix(writer)
  }

  mutating func source(depth: Int) -> SourceSample {
    switch below(depth == 0 ? 8 : 10) {
    case 0: return SourceSample(source: .records([.everything]), meaning: .always)
    case 1: return idRanges()
    case 2: return SourceSample(source: .nothing, meaning: .never)
    case 3: return points()
    case 4: return wholeIndex()
    case 5: return elements()
    case 6, 7: return range()
    case 8:
      let parts = (0..<(1 + below(3))).map { _ in source(depth: depth - 1) }
      return SourceSample(
        source: .union(parts.map(\.source)), meaning: .any(parts.map(\.meaning)))
    default:
      let parts = (0..<(1 + below(3))).map { _ in source(depth: depth - 1) }
      return SourceSample(
        source: .intersection(parts.map(\.source)), meaning: .all(parts.map(\.meaning)))
    }
  }

  private mutating func idRanges() -> SourceSample {
    var ends = (0..<4).map { _ in Int64(below(150)) }
    ends.sort()
    func bytes(_ id: Int64) -> [UInt8] {
      var writer = KeyWriter()
      writer.append(int64: id)
      return [UInt8](writer.bytes)
    }
    func meaning(_ from: Int64, _ to: Int64) -> FilterNode {
      .field(
        FieldFilter(
          SampleField.id,
          .within(
            lower: ValueBound(values: [.signed(from)], isIncluded: true),
            upper: ValueBound(values: [.signed(to)], isIncluded: false))))
    }
    let ranges = [
      KeyRange(lower: bytes(ends[0]), upper: bytes(ends[1]), needsCheck: false),
      KeyRange(lower: bytes(ends[2]), upper: bytes(ends[3]), needsCheck: false),
    ]
    return SourceSample(
      source: .records(ranges),
      meaning: .any([meaning(ends[0], ends[1]), meaning(ends[2], ends[3])])
    )
  }

  private static let singles: [(index: Int, fields: [TypedField<Sample>])] = [
    (Sample.Place.age, [SampleField.age]), (Sample.Place.note, [SampleField.note]),
    (Sample.Place.height, [SampleField.height]), (Sample.Place.day, [SampleField.day]),
    (Sample.Place.token, [SampleField.token]), (Sample.Place.shout, [SampleField.shout]),
    (Sample.Place.score, [SampleField.score]),
    (Sample.Place.cityAge, [SampleField.city, SampleField.age]),
    (Sample.Place.cityAgeScore, [SampleField.city, SampleField.age, SampleField.score]),
    (Sample.Place.noteAge, [SampleField.note, SampleField.age]),
    (Sample.Place.ageNote, [SampleField.age, SampleField.note]),
    (Sample.Place.blobSmall, [SampleField.blob, SampleField.small]),
  ]

  /// All keys, or some of them by a filter on the keys.
  private mutating func wholeIndex() -> SourceSample {
    let (index, fields) =
      chance(6) ? (Sample.Place.name, [SampleField.name]) : pick(Self.singles)
    var filters: [FilterNode] = []
    for _ in 0..<below(3) {
      let field = pick(fields)
      let filter = FilterNode.field(FieldFilter(field, test(of: field)))
      filters.append(chance(4) ? .not(filter) : filter)
    }
    let scan = Plan.IndexScan(
      index: index, ranges: [.everything], bounds: [], keyFilter: filters, mayRepeat: false,
      isPoints: false)
    return SourceSample(source: .index(scan), meaning: .all(filters), ordered: (index, 0))
  }

  /// Whole keys.
  private mutating func points() -> SourceSample {
    let (index, fields) = pick(Self.singles)
    var ranges: [KeyRange] = []
    var meanings: [FilterNode] = []
    for _ in 0..<(1 + below(3)) {
      let record = sample()
      let parts = fields.map { ($0.form, $0.value(of: record)) }
      if parts.contains(where: { $0.1.contains(where: \.isNaN) }) { continue }
      let range = KeyRange.exactly(prefix(parts, of: parts.count))
      if ranges.contains(range) { continue }
      ranges.append(range)
      meanings.append(
        .all(zip(fields, parts).map { .field(FieldFilter($0, .equal($1.1))) }))
    }
    ranges.sort { $0.lower.lexicographicallyPrecedes($1.lower) }
    let scan = Plan.IndexScan(
      index: index, ranges: ranges, bounds: [], keyFilter: [.any(meanings)], mayRepeat: false,
      isPoints: true)
    return SourceSample(
      source: .index(scan), meaning: .any(meanings),
      ordered: (index, ranges.count == 1 ? fields.count : 0))
  }

  /// Equal first components, and bounds on the next one.
  private mutating func range() -> SourceSample {
    let (index, fields) = pick(Self.singles)
    let fixed = below(fields.count)
    let record = sample()
    let parts = fields.prefix(fixed).map { ($0.form, $0.value(of: record)) }
    if parts.contains(where: { $0.1.contains(where: \.isNaN) }) { return range() }
    let field = fields[fixed]
    let front = prefix(parts, of: fields.count)
    let lower = value(of: field)
    let upper = value(of: field)
    let from: ValueBound? =
      KeyValue.isNil(lower) ? nil : ValueBound(values: lower, isIncluded: chance(2))
    let to: ValueBound? =
      KeyValue.isNil(upper) ? nil : ValueBound(values: upper, isIncluded: chance(2))
    func bound(_ bound: ValueBound?) -> KeyRange.Bound {
      guard let bound else { return .unbounded }
      let key = prefix(parts + [(field.form, bound.values)], of: fields.count)
      return bound.isIncluded ? .including(key) : .excluding(key)
    }
    let keyRange = KeyRange.between(
      bound(from), bound(to), after: front, form: field.form,
      isLast: fixed == fields.count - 1)
    var meaning = zip(fields, parts).map { FilterNode.field(FieldFilter($0, .equal($1.1))) }
    meaning.append(.field(FieldFilter(field, .within(lower: from, upper: to))))
    let scan = Plan.IndexScan(
      index: index, ranges: keyRange.isEmpty ? [] : [keyRange], bounds: [],
      keyFilter: keyRange.needsCheck ? meaning : [], mayRepeat: false, isPoints: false)
    return SourceSample(
      source: .index(scan), meaning: .all(meaning), ordered: (index, fixed))
  }

  /// Elements with a prefix, or one of several.
  private mutating func elements() -> SourceSample {
    let index = pick([Sample.Place.tags, Sample.Place.tagsAge])
    let words = Set((0..<3).map { _ in word() })
    let count = index == Sample.Place.tags ? 1 : 2
    let ranges = words.map { word in
      let key = prefix([(.primitive(.string), [.string(word)])], of: count)
      return KeyRange.equal(to: key, isComplete: count == 1)
    }
    .sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
    let scan = Plan.IndexScan(
      index: index, ranges: ranges, bounds: [], keyFilter: [], mayRepeat: true,
      isPoints: count == 1)
    let meaning = FieldFilter(
      SampleField.tags, .oneOf(anyOrder: words.map { [.string($0)] }))
    return SourceSample(source: .index(scan), meaning: .field(meaning))
  }

  // MARK: Orders

  mutating func terms() -> [OrderTerm] {
    (0..<below(4)).map { _ in
      let field = pick(SampleField.single)
      return OrderTerm(
        field: field, descends: chance(2),
        textForm: field.form.unwrapped == .primitive(.string) && chance(3)
          ? .caseInsensitive : .exact)
    }
  }

  /// An order that the source can have, with the terms of the same meaning.
  mutating func order(of source: SourceSample) -> (Plan.RowOrder, [OrderTerm], Bool) {
    let descends = chance(2)
    if let (index, _) = source.ordered, index == Sample.Place.name, chance(2) {
      let idsDescend = chance(2)
      return (
        .byIndex(components: 1, descends: descends, idsDescend: idsDescend),
        [OrderTerm(field: SampleField.name, descends: descends, textForm: .caseInsensitive)],
        idsDescend
      )
    }
    if let (index, fixed) = source.ordered, chance(2),
      let fields = Self.singles.first(where: { $0.index == index })?.fields
    {
      let idsDescend = chance(2)
      let first = fixed == fields.count ? 0 : fixed
      let count = first + 1 + below(fields.count - first)
      let terms = fields[first..<count].map {
        OrderTerm(field: $0, descends: descends)
      }
      return (
        .byIndex(components: count, descends: descends, idsDescend: idsDescend), terms, idsDescend
      )
    }
    if chance(2) { return (.byID(descends: descends), [], descends) }
    let terms = terms()
    return (.sorted(terms, idsDescend: descends), terms, descends)
  }
}
