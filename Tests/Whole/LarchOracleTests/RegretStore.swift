import Foundation
import LarchTestSupport

@testable import Larch

/// A record with a field of each kind that indexes hold. Its indexes are declared when a store is
/// opened.
struct RegretItem: Record {
  enum Grade: String, Codable, CaseIterable, IndexKey { case bronze, silver, gold }

  var id = RecordID<Self>()
  var group = 0
  var number = 0
  var rank = 0
  var word = ""
  var team: Int?
  var note: String?
  var isOpen = false
  var tags: [String] = []
  var day = Date(timeIntervalSinceReferenceDate: 0)
  var grade = Grade.bronze
  /// Different in each record.
  var code = 0

  static let collectionName = "items"
  @TaskLocal static var indexes: [RegretIndex] = []
  static var schema: Schema<Self> {
    let declared = indexes
    return Schema { for index in declared { RegretEntry(declaration: index.declaration) } }
  }
}

/// An index of a schema that is made at run time.
private struct RegretEntry: SchemaLine {
  typealias R = RegretItem

  let declaration: IndexDeclaration<RegretItem>

  var element: SchemaElement<RegretItem> { .index(declaration) }
}

/// A field that can be indexed.
enum RegretField: CaseIterable, Sendable {
  case group, number, rank, word, team, note, isOpen, tags, day, grade, code

  fileprivate var declaration: FieldDeclaration<RegretItem> {
    switch self {
    case .group: FieldDeclaration(\.group)
    case .number: FieldDeclaration(\.number)
    case .rank: FieldDeclaration(\.rank)
    case .word: FieldDeclaration(\.word)
    case .team: FieldDeclaration(\.team)
    case .note: FieldDeclaration(\.note)
    case .isOpen: FieldDeclaration(\.isOpen)
    case .tags: FieldDeclaration(\.tags)
    case .day: FieldDeclaration(\.day)
    case .grade: FieldDeclaration(\.grade)
    case .code: FieldDeclaration(\.code)
    }
  }
}

struct RegretIndex: Sendable, Equatable {
  var fields: [RegretField]

  /// Only a field that no two records share can be unique.
  var isUnique: Bool { fields.contains(.code) && !fields.contains(.tags) }

  fileprivate var declaration: IndexDeclaration<RegretItem> {
    IndexDeclaration(
      name: nil, isUnique: isUnique, fields: fields.map(\.declaration), condition: nil)
  }
}

/// How the values of one field lie in the file.
struct RegretSpread {
  enum Kind: CaseIterable {
    /// Each value as often, anywhere.
    case even
    /// The first values are the most frequent by far.
    case skewed
    /// Ascending with the place in the file, or descending.
    case byPlace, byPlaceFromEnd
    /// The same for some neighbours.
    case clustered
    /// One value, but for the last records.
    case late
    /// Mostly determined by what other fields depend on too.
    case themed
  }

  var kind: Kind
  var count: Int
  var salt: UInt64

  init(_ counts: [Int], _ random: inout SeededGenerator) {
    kind = random.pick(Kind.allCases)
    count = max(1, random.pick(counts))
    salt = random.next()
  }

  /// The number of the value of a record.
  func level(at place: Int, of size: Int, theme: Int, _ random: inout SeededGenerator) -> Int {
    switch kind {
    case .even: return random.below(count)
    case .skewed:
      let part = Double(random.below(1 << 20)) / Double(1 << 20)
      return Int(Double(count) * part * part * part * part)
    case .byPlace: return place * count / size
    case .byPlaceFromEnd: return (size - 1 - place) * count / size
    case .clustered:
      var own = SeededGenerator(seed: salt &+ UInt64(place / max(1, size / (3 * count) + 1)))
      return own.below(count)
    case .late: return place * 10 > size * 9 ? random.below(count) : 0
    case .themed:
      return random.chance(1, in: 12) ? random.below(count) : theme * 7919 % count
    }
  }
}

/// A store with random indexes over records whose values lie in random ways.
struct RegretStore {
  let seed: UInt64
  let indexes: [RegretIndex]
  let items: [RegretItem]
  let store: Store
  /// How values lie, for the text of a case.
  let text: String

  /// The first store of a long run; some of those from here on are large.
  static let firstLarge = 1000

  private static let sizes = [10, 60, 150, 300, 600, 1000, 2000, 4000]
  private static let largeSizes = (0..<6).flatMap { _ in sizes } + [60_000]

  init(seed: UInt64) throws {
    self.seed = seed
    var random = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ 17)
    let indexes = random.indexes()
    // Half to one and a half of a size, so that no bound of the planner is missed.
    let middle = random.pick(
      seed < RegretStore.firstLarge ? RegretStore.sizes : RegretStore.largeSizes)
    let size = max(1, middle / 2 + random.below(middle))
    var spreads: [RegretField: RegretSpread] = [:]
    for field in RegretField.allCases {
      spreads[field] = RegretSpread(field.counts(size), &random)
    }
    let themes = RegretSpread([3, 10, 60], &random)
    var items: [RegretItem] = []
    items.reserveCapacity(size)
    let step = random.pick([1, 7919])
    for place in 0..<size {
      let theme = themes.level(at: place, of: size, theme: 0, &random)
      var levels: [RegretField: Int] = [:]
      for field in RegretField.allCases {
        levels[field] = spreads[field]?.level(at: place, of: size, theme: theme, &random)
      }
      items.append(RegretItem(levels, code: (place * step) % 1_000_003, &random))
    }
    store = try RegretItem.$indexes.withValue(indexes) {
      try Store.temporary(for: RegretItem.self)
    }
    try store.write { tx in
      for place in items.indices { try tx.insert(&items[place]) }
    }
    self.indexes = indexes
    self.items = items
    text =
      "\(size) records; "
      + RegretField.allCases.compactMap { field in
        spreads[field].map { "\(field) \($0.kind) \($0.count)" }
      }.joined(separator: ", ")
  }
}

extension RegretField {
  /// How many values a field may have.
  fileprivate func counts(_ size: Int) -> [Int] {
    switch self {
    case .group: [2, 4, 12]
    case .number: [size / 2, size, 4 * size, 1_000_000]
    case .rank: [10, 100, size]
    case .word: [3, 20, 200, size]
    case .team: [3, 30, size / 4]
    case .note: [2, 50, size]
    case .isOpen: [2]
    case .tags: [4, 40, 400]
    case .day: [30, 400, size]
    case .grade: [3]
    case .code: [1]
    }
  }
}

extension RegretItem {
  fileprivate init(
    _ levels: [RegretField: Int], code: Int, _ random: inout SeededGenerator
  ) {
    func level(_ field: RegretField) -> Int { levels[field] ?? 0 }
    group = level(.group)
    number = level(.number) - 100
    rank = level(.rank)
    word = RegretItem.text(level(.word))
    team = level(.team) == 0 ? nil : level(.team)
    note = level(.note) == 0 ? nil : RegretItem.text(level(.note))
    isOpen = level(.isOpen) == 1
    tags = (0..<random.below(4)).map { RegretItem.text(level(.tags) / ($0 * $0 + 1)) }
    day = Date(timeIntervalSinceReferenceDate: Double(level(.day)) * 3600)
    grade = Grade.allCases[level(.grade) % 3]
    self.code = code
  }

  static func text(_ level: Int) -> String {
    "\(["oak", "elm", "ash", "fir", "yew"][level % 5])\(level)"
  }
}

extension SeededGenerator {
  fileprivate mutating func indexes() -> [RegretIndex] {
    var indexes: [RegretIndex] = []
    for _ in 0..<(1 + below(5)) {
      var fields: [RegretField] = []
      for _ in 0..<pick([1, 1, 2, 2, 3]) {
        let field = pick(RegretField.allCases)
        if !fields.contains(field) { fields.append(field) }
      }
      let index = RegretIndex(fields: fields)
      if !indexes.contains(index) { indexes.append(index) }
    }
    return indexes
  }
}
