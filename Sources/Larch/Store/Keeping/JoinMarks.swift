/// Where a row of a join is among the others, and of which records it is.
struct JoinMark {
  let place: RowPlace
  let hash: Int
  let left: StoredID
  let right: StoredID?
}

/// The marks of the rows of a join, in their order.
///
/// Without the types of the rows, since each change looks at all of them: code for any type would ask
/// for the layout of each.
struct JoinMarks {
  var all: [JoinMark] = []

  var count: Int { all.count }

  /// The places of the rows with one of these left records.
  func places(ofLeft ids: Set<StoredID>) -> [Int] {
    if let only = ids.first, ids.count == 1 { return places { $0.left == only } }
    return places { ids.contains($0.left) }
  }

  /// The left records that are joined with one of these right ones.
  func lefts(ofRight ids: Set<StoredID>) -> [StoredID] {
    if ids.isEmpty { return [] }
    if let only = ids.first, ids.count == 1 {
      return places { $0.right == only }.map { all[$0].left }
    }
    return places { $0.right.map(ids.contains) ?? false }.map { all[$0].left }
  }

  @inline(__always)
  private func places(_ isWanted: (borrowing JoinMark) -> Bool) -> [Int] {
    var found: [Int] = []
    all.withUnsafeBufferPointer { marks in
      for place in marks.indices where isWanted(marks[place]) { found.append(place) }
    }
    return found
  }

  /// The number of rows before a place.
  func firstPlace(notBefore place: RowPlace) -> Int {
    all.placeAfter { $0.place < place }
  }
}

extension [Int] {
  /// Ascending numbers as ranges without gaps.
  var runs: [Range<Int>] {
    var runs: [Range<Int>] = []
    for number in self {
      if let last = runs.last, last.upperBound == number {
        runs[runs.count - 1] = last.lowerBound..<number + 1
      } else {
        runs.append(number..<number + 1)
      }
    }
    return runs
  }
}
