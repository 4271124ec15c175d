/// Finds the lines that only one of two texts has, without a table of all pairs.
///
/// Lines that both texts have once are matched, as many as have the same order; between these the
/// search starts again. Without such lines, short stretches are compared in full, and long ones are
/// halved.
struct LineDifference {
  private(set) var isRemoved: [Bool]
  private(set) var isInserted: [Bool]
  private let old: [Int]
  private let new: [Int]

  /// The maximum number of pairs of lines that are compared in full.
  private static let tableLimit = 1 << 16

  /// Places in both texts whose lines must still be compared.
  private struct Stretch {
    var old: [Int]
    var new: [Int]
  }

  init(from oldLines: [Substring], to newLines: [Substring]) {
    var numbers: [[UInt8]: Int] = [:]
    func number(_ line: Substring) -> Int {
      let bytes = Array(line.utf8)
      if let known = numbers[bytes] { return known }
      numbers[bytes] = numbers.count
      return numbers.count - 1
    }
    old = oldLines.map(number)
    new = newLines.map(number)
    isRemoved = [Bool](repeating: false, count: old.count)
    isInserted = [Bool](repeating: false, count: new.count)
    var open = [Stretch(old: Array(old.indices), new: Array(new.indices))]
    while let stretch = open.popLast() { compare(stretch, &open) }
  }

  private mutating func compare(_ stretch: Stretch, _ open: inout [Stretch]) {
    let rest = shared(withoutEnds(stretch))
    if rest.old.isEmpty || rest.new.isEmpty { return replace(rest) }
    let pairs = anchors(rest)
    if !pairs.isEmpty {
      var (left, right) = (0, 0)
      for pair in pairs + [(rest.old.count, rest.new.count)] {
        open.append(
          Stretch(old: Array(rest.old[left..<pair.0]), new: Array(rest.new[right..<pair.1])))
        (left, right) = (pair.0 + 1, pair.1 + 1)
      }
    } else if rest.old.count * rest.new.count <= Self.tableLimit {
      compareInFull(rest)
    } else {
      let (left, right) = (rest.old.count / 2, rest.new.count / 2)
      open.append(Stretch(old: Array(rest.old[..<left]), new: Array(rest.new[..<right])))
      open.append(Stretch(old: Array(rest.old[left...]), new: Array(rest.new[right...])))
    }
  }

  private mutating func replace(_ stretch: Stretch) {
    for place in stretch.old { isRemoved[place] = true }
    for place in stretch.new { isInserted[place] = true }
  }

  /// The lines between the equal first lines and the equal last lines.
  private func withoutEnds(_ stretch: Stretch) -> Stretch {
    let shorter = min(stretch.old.count, stretch.new.count)
    var start = 0
    while start < shorter, old[stretch.old[start]] == new[stretch.new[start]] { start += 1 }
    var end = 0
    while end < shorter - start,
      old[stretch.old[stretch.old.count - 1 - end]] == new[stretch.new[stretch.new.count - 1 - end]]
    {
      end += 1
    }
    return Stretch(
      old: Array(stretch.old[start..<(stretch.old.count - end)]),
      new: Array(stretch.new[start..<(stretch.new.count - end)]))
  }

  /// The lines that the other text has too; the others are noted.
  private mutating func shared(_ stretch: Stretch) -> Stretch {
    let oldLines = Set(stretch.old.map { old[$0] })
    let newLines = Set(stretch.new.map { new[$0] })
    var rest = Stretch(old: [], new: [])
    for place in stretch.old {
      if newLines.contains(old[place]) {
        rest.old.append(place)
      } else {
        isRemoved[place] = true
      }
    }
    for place in stretch.new {
      if oldLines.contains(new[place]) {
        rest.new.append(place)
      } else {
        isInserted[place] = true
      }
    }
    return rest
  }

  /// The longest sequence of lines that both have once, as places that rise in both.
  private func anchors(_ stretch: Stretch) -> [(Int, Int)] {
    func places(_ lines: [Int]) -> [Int: Int] {
      var found: [Int: Int] = [:]
      for (place, line) in lines.enumerated() { found[line] = found[line] == nil ? place : -1 }
      return found.filter { $0.value >= 0 }
    }
    let newPlaces = places(stretch.new.map { new[$0] })
    let oldPlaces = places(stretch.old.map { old[$0] })
    let pairs = oldPlaces.compactMap { line, place in newPlaces[line].map { (place, $0) } }
      .sorted { $0.0 < $1.0 }
    // The last pair of the best sequence of each length, and the predecessor of each pair.
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: pairs.count)
    for (number, pair) in pairs.enumerated() {
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if pairs[ends[middle]].1 < pair.1 { low = middle + 1 } else { high = middle }
      }
      if low > 0 { before[number] = ends[low - 1] }
      if low == ends.count { ends.append(number) } else { ends[low] = number }
    }
    var row: [(Int, Int)] = []
    var next = ends.last ?? -1
    while next >= 0 {
      row.append(pairs[next])
      next = before[next]
    }
    return row.reversed()
  }

  /// The longest common sequence of lines, with a table of the lengths for each pair of ends.
  private mutating func compareInFull(_ stretch: Stretch) {
    let width = stretch.new.count + 1
    var lengths = [Int32](repeating: 0, count: (stretch.old.count + 1) * width)
    func isSame(_ left: Int, _ right: Int) -> Bool {
      old[stretch.old[left]] == new[stretch.new[right]]
    }
    for left in stretch.old.indices.reversed() {
      for right in stretch.new.indices.reversed() {
        lengths[left * width + right] =
          isSame(left, right)
          ? lengths[(left + 1) * width + right + 1] + 1
          : max(lengths[(left + 1) * width + right], lengths[left * width + right + 1])
      }
    }
    var (left, right) = (0, 0)
    while left < stretch.old.count, right < stretch.new.count {
      if isSame(left, right) {
        left += 1
        right += 1
      } else if lengths[(left + 1) * width + right] >= lengths[left * width + right + 1] {
        isRemoved[stretch.old[left]] = true
        left += 1
      } else {
        isInserted[stretch.new[right]] = true
        right += 1
      }
    }
    replace(Stretch(old: Array(stretch.old[left...]), new: Array(stretch.new[right...])))
  }
}
