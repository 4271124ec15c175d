/// How sections and their records differ from earlier ones: what a list with sections on a screen
/// needs to animate the change.
///
/// Positions have the meaning that table views expect: deletions and the origins of moves count in
/// the old sections, insertions and the targets of moves in the new ones. The records of a deleted
/// or inserted section are not listed one by one. A record that goes from a section that stays to an
/// inserted one is only a deletion, and one that comes from a deleted section is only an insertion.
public struct SectionChanges: Sendable, Hashable {
  /// The place of a record.
  public struct Place: Sendable, Hashable, Comparable {
    /// The position of its section.
    public let section: Int
    /// Its position in the section.
    public let row: Int

    /// Whether the place comes before another one.
    public static func < (first: Place, second: Place) -> Bool {
      (first.section, first.row) < (second.section, second.row)
    }
  }

  /// A record that both have, in sections that both have.
  public struct Kept: Sendable, Hashable {
    /// Its place in the old sections.
    public let old: Place
    /// Its place in the new sections.
    public let new: Place
  }

  /// The positions of the old sections that are gone, ascending.
  public let deletedSections: [Int]
  /// The positions of the new sections that came, ascending.
  public let insertedSections: [Int]
  /// The old places of the records that are gone from sections that stay, ascending.
  public let deletions: [Place]
  /// The new places of the records that came to sections that stay, ascending.
  public let insertions: [Place]
  /// The records that changed their section, or their place among the records that stay in their
  /// section: as few as possible, in the order of their new places.
  public let moves: [Kept]
  /// The records that are not equal to the old ones with the same id, in the order of their new
  /// places. A record that was also moved is in both lists.
  public let updates: [Kept]

  /// The old and the new positions of sections that changed their place, in the order of the new ones.
  /// They are listed only in `turned`.
  let movedSections: [RowChanges.Kept]
  /// The same changes with sections that move, if some have another order than before: one element or
  /// none.
  let turned: [SectionChanges]

  /// Whether nothing differs.
  public var isEmpty: Bool {
    deletedSections.isEmpty && insertedSections.isEmpty && deletions.isEmpty && insertions.isEmpty
      && moves.isEmpty && updates.isEmpty
  }

  init<R: Record & Equatable, Value>(
    from old: [RecordSection<R, Value>], to new: [RecordSection<R, Value>]
  ) {
    let descends = (old: Self.descends(old), new: Self.descends(new))
    var turned: [SectionChanges] = []
    if let before = descends.old, let after = descends.new, before != after {
      let sections = Self.matched(old, new.reversed(), before).reversed()
      turned = [SectionChanges(from: old, to: new, Array(sections), turned: [])]
    }
    let descending = descends.old ?? descends.new ?? false
    self.init(from: old, to: new, Self.matched(old, new, descending), turned: turned)
  }

  /// - Parameter sections: the old position of each new section; nil for those that came.
  private init<R: Record & Equatable, Value>(
    from old: [RecordSection<R, Value>], to new: [RecordSection<R, Value>], _ sections: [Int?],
    turned: [SectionChanges]
  ) {
    self.turned = turned
    var newOfOld = [Int?](repeating: nil, count: old.count)
    for (place, before) in sections.enumerated() { if let before { newOfOld[before] = place } }
    deletedSections = old.indices.filter { newOfOld[$0] == nil }
    insertedSections = new.indices.filter { sections[$0] == nil }
    movedSections = RowChanges.moves(
      among: sections.enumerated().compactMap { place, before in
        before.map { RowChanges.Kept(old: $0, new: place) }
      })

    var places: [R.ID: Place] = [:]
    for (section, records) in old.enumerated() where newOfOld[section] != nil {
      for (row, record) in records.enumerated() {
        places[record.id] = Place(section: section, row: row)
      }
    }
    var (insertions, kept, moves): ([Place], [Kept], [Kept]) = ([], [], [])
    for (section, records) in new.enumerated() {
      guard let before = sections[section] else { continue }
      var staying: [RowChanges.Kept] = []
      for (row, record) in records.enumerated() {
        let place = Place(section: section, row: row)
        guard let origin = places.removeValue(forKey: record.id) else {
          insertions.append(place)
          continue
        }
        kept.append(Kept(old: origin, new: place))
        if origin.section == before {
          staying.append(RowChanges.Kept(old: origin.row, new: row))
        } else {
          moves.append(kept[kept.count - 1])
        }
      }
      moves += RowChanges.moves(among: staying).map {
        Kept(
          old: Place(section: before, row: $0.old), new: Place(section: section, row: $0.new))
      }
    }
    // What is left in the table of places is gone.
    deletions = places.values.sorted()
    self.insertions = insertions
    self.moves = moves.sorted { $0.new < $1.new }
    updates = kept.filter {
      old[$0.old.section][$0.old.row] != new[$0.new.section][$0.new.row]
    }
  }

  /// Whether the values of sections descend; nil if there are too few to tell.
  private static func descends<R: Record, Value>(_ sections: [RecordSection<R, Value>]) -> Bool? {
    sections.count > 1 ? sections[0].order(to: sections[1]) > 0 : nil
  }

  /// The old position of each new section; nil for those that came. Sections that are in another
  /// order than before count as deleted and inserted.
  private static func matched<R: Record, Value>(
    _ old: [RecordSection<R, Value>], _ new: [RecordSection<R, Value>], _ descends: Bool
  ) -> [Int?] {
    var positions = [Int?](repeating: nil, count: new.count)
    var (before, place) = (0, 0)
    while before < old.count, place < new.count {
      let order = old[before].order(to: new[place])
      if order == 0 {
        positions[place] = before
        (before, place) = (before + 1, place + 1)
      } else if (order < 0) != descends {
        before += 1
      } else {
        place += 1
      }
    }
    return positions
  }
}

extension Observed {
  /// How the sections and their records differ from those of an earlier value.
  ///
  /// ```swift
  /// var shown: [RecordSection<Person, String>] = []
  /// for try await cities in store.observe(Person.all.sectioned(by: \.city)) {
  ///   table.apply(cities.changes(from: shown))
  ///   shown = cities.rows
  /// }
  /// ```
  ///
  /// - Parameter old: the sections of the earlier value, each id once.
  /// - Complexity: O(n log n) for n records.
  public func changes<R: Record & Equatable, Section>(
    from old: [RecordSection<R, Section>]
  ) -> SectionChanges where Value == [RecordSection<R, Section>] {
    SectionChanges(from: old, to: value)
  }
}
