/// The positions of the boxes and lines in a diagram of collections.
///
/// Boxes are in columns: a collection with references is left of those it refers to. Lines that
/// cross a column have their own place in it, so that they do not cross boxes. Everything depends
/// only on the order of the input, so equal stores give equal pictures.
struct DiagramLayout {
  struct Box: Equatable {
    var name: String
    var x: Double
    var y: Double
    var height: Double
    /// The associations whose first end is the box, one per row.
    var rows: [Int]
  }

  struct Point: Equatable {
    var x: Double
    var y: Double
  }

  /// The line of one association, from a row of its first box to the title of the second.
  struct Path: Equatable {
    var association: Int
    var points: [Point]
  }

  static let boxWidth = 190.0
  static let titleHeight = 44.0
  static let rowHeight = 22.0
  private static let columnGap = 90.0
  private static let rowGap = 26.0
  private static let margin = 16.0
  /// How far a line goes to the right if it ends at the side where it begins.
  static let loopReach = 36.0
  private static let isolatedColumns = 4

  private(set) var boxes: [Box] = []
  private(set) var paths: [Path] = []
  private(set) var width = 0.0
  private(set) var height = 0.0

  /// - Parameters:
  ///   - names: the collections.
  ///   - links: the associations, by the places of their ends among the collections.
  init(_ names: [String], links: [(first: Int, second: Int)]) {
    let linked = Set(links.flatMap { [$0.first, $0.second] })
    boxes = names.indices.map { place in
      let rows = links.indices.filter { links[$0].first == place }
      return Box(
        name: names[place], x: 0, y: 0,
        height: Self.titleHeight + Double(rows.count) * Self.rowHeight + (rows.isEmpty ? 0 : 8),
        rows: rows)
    }
    let columns = Columns(count: names.count, linked: linked, links: links)
    placeLinked(columns)
    placeIsolated(names.indices.filter { !linked.contains($0) })
    paths = links.indices.map { path(of: $0, links[$0], columns) }
    for path in paths where path.points.first?.x == path.points.last?.x {
      width = max(width, (path.points.first?.x ?? 0) + Self.loopReach)
    }
    width += Self.margin
    height += Self.margin
  }

  // MARK: Places

  private var passages: [Int: [Int: Double]] = [:]
  private var columnX: [Double] = []

  private mutating func placeLinked(_ columns: Columns) {
    var heights: [Double] = []
    for column in columns.slots {
      heights.append(
        column.reduce(-Self.rowGap) { $0 + slotHeight($1) + Self.rowGap })
    }
    let tallest = heights.max() ?? 0
    for (number, column) in columns.slots.enumerated() {
      let x = Self.margin + Double(number) * (Self.boxWidth + Self.columnGap)
      columnX.append(x)
      var y = Self.margin + (tallest - heights[number]) / 2
      for slot in column {
        switch slot {
        case .box(let place):
          boxes[place].x = x
          boxes[place].y = y
        case .passage(let link): passages[link, default: [:]][number] = y + slotHeight(slot) / 2
        }
        y += slotHeight(slot) + Self.rowGap
      }
      width = max(width, x + Self.boxWidth)
    }
    height = max(height, columns.slots.isEmpty ? 0 : Self.margin + tallest)
  }

  private func slotHeight(_ slot: Columns.Slot) -> Double {
    if case .box(let place) = slot { boxes[place].height } else { 8 }
  }

  /// Boxes without links are below, in rows.
  private mutating func placeIsolated(_ places: [Int]) {
    if places.isEmpty { return }
    let count = max(Self.isolatedColumns, columnX.count)
    let top = height == 0 ? Self.margin : height + Self.rowGap * 1.5
    for (number, place) in places.enumerated() {
      boxes[place].x = Self.margin + Double(number % count) * (Self.boxWidth + Self.rowGap)
      boxes[place].y = top + Double(number / count) * (Self.titleHeight + Self.rowGap)
      width = max(width, boxes[place].x + Self.boxWidth)
      height = max(height, boxes[place].y + Self.titleHeight)
    }
  }

  // MARK: Lines

  private func path(
    of number: Int, _ link: (first: Int, second: Int), _ columns: Columns
  ) -> Path {
    let from = boxes[link.first]
    let to = boxes[link.second]
    let row = Double(from.rows.firstIndex(of: number) ?? 0)
    let start = from.y + Self.titleHeight + (row + 0.5) * Self.rowHeight
    let end = to.y + Self.titleHeight / 2
    var points: [Point]
    if link.first == link.second {
      // Around the right side, back to the title.
      let x = from.x + Self.boxWidth
      points = [Point(x: x, y: start), Point(x: x, y: end)]
    } else if from.x < to.x {
      points = [Point(x: from.x + Self.boxWidth, y: start)]
      for (column, y) in (passages[number] ?? [:]).sorted(by: { $0.key < $1.key }) {
        points.append(Point(x: columnX[column], y: y))
        points.append(Point(x: columnX[column] + Self.boxWidth, y: y))
      }
      points.append(Point(x: to.x, y: end))
    } else if from.x > to.x {
      points = [Point(x: from.x, y: start)]
      for (column, y) in (passages[number] ?? [:]).sorted(by: { $0.key > $1.key }) {
        points.append(Point(x: columnX[column] + Self.boxWidth, y: y))
        points.append(Point(x: columnX[column], y: y))
      }
      points.append(Point(x: to.x + Self.boxWidth, y: end))
    } else {
      let x = from.x + Self.boxWidth
      points = [Point(x: x, y: start), Point(x: x, y: end)]
    }
    return Path(association: number, points: points)
  }
}

/// The columns of the boxes, and their order.
struct Columns {
  enum Slot: Equatable {
    case box(Int)
    /// The place at which the line of a link crosses a column.
    case passage(Int)
  }

  private(set) var slots: [[Slot]] = []

  /// - Parameter linked: the boxes with links, which are placed in columns.
  init(count: Int, linked: Set<Int>, links: [(first: Int, second: Int)]) {
    let forward = Columns.withoutCycles(count, links)
    var column = [Int](repeating: 0, count: count)
    // As far left as the references to a box allow; no path is longer than the number of boxes.
    for _ in 0..<count {
      for (first, second) in forward where column[second] <= column[first] {
        column[second] = column[first] + 1
      }
    }
    // Boxes that only have references move to the right, next to their targets.
    for place in linked.sorted() where !forward.contains(where: { $0.second == place }) {
      let targets = forward.filter { $0.first == place }.map { column[$0.second] }
      if let nearest = targets.min() { column[place] = nearest - 1 }
    }
    slots = Array(repeating: [], count: (linked.map { column[$0] }.max() ?? -1) + 1)
    for place in linked.sorted() { slots[column[place]].append(.box(place)) }
    for (number, link) in links.enumerated() where link.first != link.second {
      let low = min(column[link.first], column[link.second])
      let high = max(column[link.first], column[link.second])
      for passed in (low + 1)..<max(low + 1, high) { slots[passed].append(.passage(number)) }
    }
    order(links, column)
  }

  /// The links, each in a direction that avoids cycles.
  private static func withoutCycles(
    _ count: Int, _ links: [(first: Int, second: Int)]
  ) -> [(first: Int, second: Int)] {
    var found: [(first: Int, second: Int)] = []
    var reach = [Set<Int>](repeating: [], count: count)
    for link in links where link.first != link.second {
      let isBackward = reach[link.second].contains(link.first)
      let (first, second) =
        isBackward ? (link.second, link.first) : (link.first, link.second)
      found.append((first, second))
      let more = reach[second].union([second])
      for place in reach.indices where place == first || reach[place].contains(first) {
        reach[place].formUnion(more)
      }
    }
    return found
  }

  /// Moves linked boxes to the same height, so that few lines cross.
  private mutating func order(_ links: [(first: Int, second: Int)], _ column: [Int]) {
    for sweep in 0..<8 {
      let numbers = sweep % 2 == 0 ? Array(slots.indices) : slots.indices.reversed()
      for number in numbers {
        let beside = number + (sweep % 2 == 0 ? -1 : 1)
        guard slots.indices.contains(beside) else { continue }
        let ranked = slots[number].enumerated().map { place, slot in
          (
            slot: slot, place: place,
            weight: weight(of: slot, beside: beside, links, column) ?? Double(place)
          )
        }
        slots[number] = ranked.sorted { ($0.weight, $0.place) < ($1.weight, $1.place) }.map(\.slot)
      }
    }
  }

  /// The mean height of the neighbours of a slot in another column.
  private func weight(
    of slot: Slot, beside: Int, _ links: [(first: Int, second: Int)], _ column: [Int]
  ) -> Double? {
    var places: [Int] = []
    for (number, link) in links.enumerated() where link.first != link.second {
      switch slot {
      case .box(let box) where box == link.first || box == link.second: break
      case .passage(number): break
      default: continue
      }
      let ends: [Slot] = [.passage(number), .box(link.first), .box(link.second)]
      places += slots[beside].indices.filter { ends.contains(slots[beside][$0]) }
    }
    return places.isEmpty ? nil : Double(places.reduce(0, +)) / Double(places.count)
  }
}
