internal import Larch

/// The ids of a store and their ties: the ids in a record, and links.
struct DumpGraph {
  private var numbers: [MarkedID: Int] = [:]
  /// The known contents of each without its ids, to be compared part by part.
  private var contents: [[String]] = []
  private var ties: [[CanonicalOrder.Tie]] = []

  init(
    _ collections: [String], _ records: [String: [DumpNames.Record]],
    _ links: [String: [DumpNames.Link]]
  ) {
    var holders: [(number: Int, record: DumpNames.Record)] = []
    for collection in collections {
      for (place, record) in (records[collection] ?? []).enumerated() {
        let holder = number(of: record.identity.id)
        // UUIDs have no order. Assigned ids have the order in which the records were inserted, and
        // so do their names.
        let isOrdered = record.identity.id.collection != nil
        contents[holder] += [collection, isOrdered ? padded(place) : record.json.text]
        holders.append((holder, record))
      }
    }
    for (holder, record) in holders {
      for (place, id) in record.json.ids.enumerated() where id != record.identity.id {
        tie(holder, number(of: id), kind: place)
      }
    }
    // After the places of ids in a record, which are fewer.
    var kind = 1 << 29
    for key in links.keys.sorted() {
      for link in links[key] ?? [] {
        tie(number(of: link.first.id), number(of: link.second.id), kind: kind)
      }
      kind += 1
    }
  }

  private mutating func add(_ content: [String]) -> Int {
    contents.append(content)
    ties.append([])
    return contents.count - 1
  }

  private mutating func number(of id: MarkedID) -> Int {
    if let known = numbers[id] { return known }
    // Anything but a UUID is known by its text, even without a record.
    let number = add(id.collection.map { [$0, Int(id.text).map(padded) ?? id.text] } ?? [])
    numbers[id] = number
    return number
  }

  private mutating func tie(_ one: Int, _ other: Int, kind: Int) {
    ties[one].append(.init(kind: kind * 2, other: other))
    ties[other].append(.init(kind: kind * 2 + 1, other: one))
  }

  /// Padded, so that texts have the order of the numbers.
  private func padded(_ number: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, 20 - text.count)) + text
  }

  /// The place of each id in the order.
  var places: [MarkedID: Int] {
    let sorted = contents.indices.sorted { isBefore(contents[$0], contents[$1]) }
    var classes = [Int](repeating: 0, count: contents.count)
    for (place, number) in sorted.enumerated() where place > 0 {
      let last = sorted[place - 1]
      classes[number] = classes[last] + (isBefore(contents[last], contents[number]) ? 1 : 0)
    }
    let places = CanonicalOrder.places(classes: classes, ties: ties)
    return numbers.mapValues { places[$0] }
  }

  private func isBefore(_ one: [String], _ other: [String]) -> Bool {
    one.lexicographicallyPrecedes(other) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
