@testable import Larch

/// A rule of a table view that a change breaks. The view would end the program.
struct TableRefusal: Error, CustomStringConvertible {
  var description: String

  static func require(_ isKept: Bool, _ rule: String) throws {
    if !isKept { throw TableRefusal(description: rule) }
  }
}

/// The rules of `UITableView`, `UICollectionView` and `NSCollectionView` for a batch: what is removed
/// has old positions, what comes has new ones, and the numbers of rows must fit.
struct BatchTable<Cell> {
  struct Place: Hashable {
    var section: Int
    var row: Int
  }

  struct Batch {
    var deletedSections: [Int] = []
    var insertedSections: [Int] = []
    var deletions: [Place] = []
    var insertions: [Place] = []
    var moves: [(old: Place, new: Place)] = []
    /// Old places of rows that are shown again.
    var reloads: [Place] = []
  }

  var cells: [[Cell]]

  /// - Parameters:
  ///   - counts: how many rows each section has from now on.
  ///   - cell: what the data source gives for a new place.
  mutating func perform(_ batch: Batch, counts: [Int], cell: (Place) -> Cell) throws {
    try check(batch, counts)
    let stay = cells.indices.filter { !batch.deletedSections.contains($0) }
    var left = cells.map { $0.map(Optional.some) }
    let moved = batch.moves.map { (place: $0.new, cell: cells[$0.old.section][$0.old.row]) }
    for place in batch.deletions + batch.moves.map(\.old) { left[place.section][place.row] = nil }
    let reloaded = Set(batch.reloads)
    var next: [[Cell]] = []
    var staying = stay[...]
    for (section, count) in counts.enumerated() {
      let places = (0..<count).map { Place(section: section, row: $0) }
      guard !batch.insertedSections.contains(section), let old = staying.popFirst() else {
        next.append(places.map(cell))
        continue
      }
      var kept = left[old].indices.filter { left[old][$0] != nil }[...]
      next.append(
        places.map { place in
          if batch.insertions.contains(place) { return cell(place) }
          if let arrived = moved.first(where: { $0.place == place }) { return arrived.cell }
          let row = kept.removeFirst()
          return reloaded.contains(Place(section: old, row: row))
            ? cell(place) : cells[old][row]
        })
    }
    cells = next
  }

  private func check(_ batch: Batch, _ counts: [Int]) throws {
    func areOnce(_ places: some Collection<Place>) -> Bool { Set(places).count == places.count }
    let (old, new) = (batch.moves.map(\.old), batch.moves.map(\.new))
    let (gone, came) = (batch.deletions + old, batch.insertions + new)
    try TableRefusal.require(areOnce(gone), "a row is deleted or moved away twice")
    try TableRefusal.require(areOnce(came), "a row is inserted or moved to twice")
    try TableRefusal.require(
      Set(batch.deletedSections).count == batch.deletedSections.count
        && Set(batch.insertedSections).count == batch.insertedSections.count,
      "a section is changed twice")
    try TableRefusal.require(
      batch.deletedSections.allSatisfy(cells.indices.contains)
        && batch.insertedSections.allSatisfy(counts.indices.contains),
      "a section that does not exist is changed")
    try TableRefusal.require(
      (gone + batch.reloads).allSatisfy {
        cells.indices.contains($0.section) && cells[$0.section].indices.contains($0.row)
      }, "an old place does not exist")
    try TableRefusal.require(
      came.allSatisfy {
        counts.indices.contains($0.section) && (0..<counts[$0.section]).contains($0.row)
      }, "a new place does not exist")
    try TableRefusal.require(
      gone.allSatisfy { !batch.deletedSections.contains($0.section) },
      "a row of a deleted section is deleted or moved")
    try TableRefusal.require(
      came.allSatisfy { !batch.insertedSections.contains($0.section) },
      "a row is inserted into or moved to an inserted section")
    try TableRefusal.require(
      Set(batch.reloads).isDisjoint(with: gone) && areOnce(batch.reloads),
      "a row is reloaded and also deleted or moved")
    let stay = cells.indices.filter { !batch.deletedSections.contains($0) }
    let kept = counts.indices.filter { !batch.insertedSections.contains($0) }
    try TableRefusal.require(stay.count == kept.count, "the number of sections is wrong")
    for (before, now) in zip(stay, kept) {
      let left = cells[before].count - gone.count { $0.section == before }
      try TableRefusal.require(
        left + came.count { $0.section == now } == counts[now], "the number of rows is wrong")
    }
  }
}

/// The rules of `NSTableView` between `beginUpdates` and `endUpdates`: each position is that of the
/// moment.
struct StepTable<Cell> {
  var cells: [Cell]

  mutating func insert(_ cell: Cell, at row: Int) throws {
    try TableRefusal.require((0...cells.count).contains(row), "a row is inserted behind the end")
    cells.insert(cell, at: row)
  }

  mutating func remove(at row: Int) throws {
    try TableRefusal.require(cells.indices.contains(row), "a row that does not exist is removed")
    cells.remove(at: row)
  }

  mutating func move(from row: Int, to target: Int) throws {
    try TableRefusal.require(
      cells.indices.contains(row) && cells.indices.contains(target) && row != target,
      "a row that does not exist is moved, or one stays where it is")
    cells.insert(cells.remove(at: row), at: target)
  }

  mutating func reload(_ cell: Cell, at row: Int) throws {
    try TableRefusal.require(cells.indices.contains(row), "a row that does not exist is reloaded")
    cells[row] = cell
  }
}

/// The rules of a tree whose sections and rows are changed one by one, as those of `NSOutlineView`: each
/// place is that of the moment, and nothing is there twice.
struct StepTree<Cell: Identifiable> {
  typealias Place = SectionChanges.Place

  var sections: [[Cell]]

  /// - Parameters:
  ///   - section: the rows of a new section.
  ///   - cell: what the data source gives for a new place.
  mutating func perform(
    _ step: SectionChanges.Step, section: (Int) -> [Cell], cell: (Place) -> Cell
  ) throws {
    switch step {
    case .removeSection(let place):
      try require(sections.indices.contains(place), "no section to remove")
      sections.remove(at: place)
    case .insertSection(let place):
      try require((0...sections.count).contains(place), "no place for a section")
      sections.insert(section(place), at: place)
    case .moveSection(let from, let to):
      let areThere = sections.indices.contains(from) && sections.indices.contains(to)
      try require(areThere && from != to, "no section to move, or it stays where it is")
      sections.insert(sections.remove(at: from), at: to)
    case .remove(let place): _ = try take(place)
    case .insert(let place): try put(cell(place), at: place)
    case .move(let from, let to):
      try require(from != to, "a row is moved and stays where it is")
      try put(try take(from), at: to)
    case .update(let place):
      try require(hasRow(place), "no row to update")
      try require(
        sections[place.section][place.row].id == cell(place).id, "another row is updated")
      sections[place.section][place.row] = cell(place)
    }
    let ids = sections.joined().map(\.id)
    try require(Set(ids).count == ids.count, "a row is there twice")
  }

  private func require(_ isKept: Bool, _ rule: String) throws {
    try TableRefusal.require(isKept, rule)
  }

  private func hasRow(_ place: Place) -> Bool {
    sections.indices.contains(place.section)
      && sections[place.section].indices.contains(place.row)
  }

  private mutating func take(_ place: Place) throws -> Cell {
    try require(hasRow(place), "no row to take")
    return sections[place.section].remove(at: place.row)
  }

  private mutating func put(_ cell: Cell, at place: Place) throws {
    try require(
      sections.indices.contains(place.section)
        && (0...sections[place.section].count).contains(place.row), "no place for a row")
    sections[place.section].insert(cell, at: place.row)
  }
}

extension RowChanges {
  /// What tables show that make the changes in each of the three ways, which must be the new rows.
  func check<R: Record & Equatable>(from old: [R], to new: [R]) throws {
    var table = StepTable(cells: old)
    for step in steps {
      switch step {
      case .remove(let place): try table.remove(at: place)
      case .move(let from, let to): try table.move(from: from, to: to)
      case .insert(let place): try table.insert(new[place], at: place)
      case .update(let place): try table.reload(new[place], at: place)
      }
    }
    try TableRefusal.require(table.cells == new, "steps give other rows")
    try TableRefusal.require(
      old.applying(difference(from: old, to: new)) == new, "the difference gives other rows")
    typealias Table = BatchTable<R>
    let place = { Table.Place(section: 0, row: $0) }
    var batch = Table(cells: [old])
    try batch.perform(
      Table.Batch(
        deletions: deletions.map(place), insertions: insertions.map(place),
        moves: moves.map { (place($0.old), place($0.new)) }), counts: [new.count]
    ) { new[$0.row] }
    for update in updates { batch.cells[0][update.new] = new[update.new] }
    try TableRefusal.require(batch.cells == [new], "a batch gives other rows")
  }
}

extension SectionChanges {
  /// The same for a tree of sections, step by step and as a difference.
  func check<R: Record & Equatable, Value>(
    from old: [RecordSection<R, Value>], to new: [RecordSection<R, Value>]
  ) throws {
    var tree = StepTree(sections: old.map(\.records))
    for step in steps {
      try tree.perform(step, section: { new[$0].records }, cell: { new[$0.section][$0.row] })
    }
    try TableRefusal.require(tree.sections == new.map(\.records), "steps give other sections")
    let known = old.map(\.records).applying(
      difference(from: old.map(\.records), to: new.map(\.records)))
    try TableRefusal.require(known == new.map(\.records), "the difference gives other sections")
  }
}
