/// Sorts things by their content and their ties, independently of their original order.
///
/// Things with equal content are distinguished by their ties, if possible. Of the rest, one after
/// the other is separated, and the others are compared again. Which one comes first makes no
/// difference if they are alike, as two records with the same content nearly always are.
struct CanonicalOrder {
  /// A tie to another thing, from the side of one of them.
  struct Tie {
    /// The kind of the tie, below 2³¹. A thing has one tie of each kind, or their order does not
    /// matter.
    var kind: Int
    var other: Int
  }

  private let ties: [[Tie]]
  /// Things by place. A cell is a run of places whose things are not distinguished yet; its name is
  /// its first place, so names of cells are never reused.
  private var things: [Int]
  private var places: [Int]
  private var cells: [Int]
  /// The end of the cell that begins at a place.
  private var ends: [Int]

  /// The places of things. Each has a class, and lower classes come first.
  ///
  /// - Complexity: O(t log t) for t ties, in most cases.
  static func places(classes: [Int], ties: [[Tie]]) -> [Int] {
    var order = CanonicalOrder(classes, ties)
    order.refine(Array(classes.indices))
    var start = 0
    while start < order.things.count {
      let end = order.ends[start]
      if end - start == 1 || order.ties[order.things[start]].isEmpty {
        // They are alike and have no ties: any order is correct.
        start = end
      } else {
        order.setApart(start, end)
      }
    }
    return order.places
  }

  private init(_ classes: [Int], _ ties: [[Tie]]) {
    self.ties = ties
    things = classes.indices.sorted { (classes[$0], $0) < (classes[$1], $1) }
    places = [Int](repeating: 0, count: classes.count)
    cells = places
    ends = places
    var start = 0
    for (place, thing) in things.enumerated() {
      if classes[thing] != classes[things[start]] { start = place }
      places[thing] = place
      cells[thing] = start
      ends[start] = place + 1
    }
  }

  private mutating func setApart(_ start: Int, _ end: Int) {
    let thing = things[end - 1]
    cells[thing] = end - 1
    ends[start] = end - 1
    ends[end - 1] = end
    refine(ties[thing].map(\.other))
  }

  /// Splits cells until the things of each cell have ties to the same cells.
  private mutating func refine(_ first: [Int]) {
    var open = first
    while !open.isEmpty {
      var seen: Set<Int> = []
      var marked: [Int: [(thing: Int, mark: [Int])]] = [:]
      for thing in open where seen.insert(thing).inserted {
        let cell = cells[thing]
        if ends[cell] - cell > 1 { marked[cell, default: []].append((thing, mark(thing))) }
      }
      open = []
      for (cell, members) in marked { split(cell, members, &open) }
    }
  }

  /// The ties of a thing, as they are known now.
  private func mark(_ thing: Int) -> [Int] {
    ties[thing].map { $0.kind << 32 | cells[$0.other] }.sorted()
  }

  /// Divides a cell by the marks of some of its things; the others stay one cell at the front.
  private mutating func split(
    _ cell: Int, _ members: [(thing: Int, mark: [Int])], _ open: inout [Int]
  ) {
    let end = ends[cell]
    let sorted = members.sorted {
      $0.mark == $1.mark ? $0.thing < $1.thing : $0.mark.lexicographicallyPrecedes($1.mark)
    }
    var place = end - sorted.count
    for (offset, member) in sorted.enumerated() { swap(member.thing, into: place + offset) }
    var start = cell
    for (offset, member) in sorted.enumerated() {
      let isNew = offset == 0 ? place > cell : member.mark != sorted[offset - 1].mark
      if isNew {
        ends[start] = place
        start = place
      }
      if start != cell {
        cells[member.thing] = start
        open += ties[member.thing].map(\.other)
      }
      place += 1
    }
    ends[start] = end
  }

  private mutating func swap(_ thing: Int, into place: Int) {
    let other = things[place]
    let old = places[thing]
    things[old] = other
    places[other] = old
    things[place] = thing
    places[thing] = place
  }
}
