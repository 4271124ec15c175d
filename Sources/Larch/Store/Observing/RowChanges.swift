/// How the records of a request differ from earlier ones, by their ids: what a list on a screen needs
/// to animate the change.
///
/// Positions have the meaning that table views expect: deletions and the origins of moves count in
/// the old records, insertions and the targets of moves in the new ones. To change an array step by
/// step, remove deleted and moved records from the back, and then insert from the front.
public struct RowChanges: Sendable, Hashable {
  /// A record that both have.
  public struct Kept: Sendable, Hashable {
    /// Its position in the old records.
    public let old: Int
    /// Its position in the new records.
    public let new: Int
  }

  /// The positions in the old records of those that are gone, ascending.
  public let deletions: [Int]
  /// The positions in the new records of those that came, ascending.
  public let insertions: [Int]
  /// The records that changed their place among those that both have: as few as possible, in the
  /// order of their new positions.
  public let moves: [Kept]
  /// The records that are not equal to the old ones with the same id, or differ in a field that was
  /// asked for, in the order of their new positions. A record that was also moved is in both lists.
  public let updates: [Kept]

  /// Whether nothing differs.
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty
  }

  init(deletions: [Int], insertions: [Int], moves: [Kept], updates: [Kept]) {
    (self.deletions, self.insertions) = (deletions, insertions)
    (self.moves, self.updates) = (moves, updates)
  }

  init<R: Record & Equatable>(from old: [R], to new: [R]) { self.init(from: old, to: new, by: ==) }

  init<R: Record>(from old: [R], to new: [R], by areSame: (R, R) -> Bool) {
    var places: [R.ID: Int] = [:]
    for (place, record) in old.enumerated() { places[record.id] = place }
    var (kept, insertions): ([Kept], [Int]) = ([], [])
    for (place, record) in new.enumerated() {
      if let before = places.removeValue(forKey: record.id) {
        kept.append(Kept(old: before, new: place))
      } else {
        insertions.append(place)
      }
    }
    deletions = places.values.sorted()
    self.insertions = insertions
    moves = RowChanges.moves(among: kept)
    updates = kept.filter { !areSame(old[$0.old], new[$0.new]) }
  }

  /// Those that do not keep their order: as few as possible.
  ///
  /// - Parameter kept: in the order of their new positions.
  static func moves(among kept: [Kept]) -> [Kept] {
    let inPlace = longestAscent(kept)
    return kept.indices.filter { !inPlace.contains($0) }.map { kept[$0] }
  }

  /// The positions in the list of a longest part whose old positions ascend: these records keep
  /// their order, so only the others have moved.
  private static func longestAscent(_ kept: [Kept]) -> Set<Int> {
    // The last position of the best ascent of each length, and the position before it.
    var ends: [Int] = []
    var before = [Int?](repeating: nil, count: kept.count)
    for (place, item) in kept.enumerated() {
      let length = ends.placeAfter { kept[$0].old < item.old }
      before[place] = length == 0 ? nil : ends[length - 1]
      if length == ends.count { ends.append(place) } else { ends[length] = place }
    }
    var (found, next): (Set<Int>, Int?) = ([], ends.last)
    while let place = next {
      found.insert(place)
      next = before[place]
    }
    return found
  }
}

extension Observed {
  /// How the records differ from those of an earlier value.
  ///
  /// ```swift
  /// var shown: [Person] = []
  /// for try await people in store.observe(query) {
  ///   table.apply(people.changes(from: shown))
  ///   shown = people.rows
  /// }
  /// ```
  ///
  /// - Parameter old: the records of the earlier value, each id once.
  /// - Complexity: O(n log n) for n records.
  public func changes<R: Record & Equatable>(from old: [R]) -> RowChanges where Value == [R] {
    RowChanges(from: old, to: value)
  }

  /// How the records differ from those of an earlier value, if only these fields are shown: a record
  /// is updated if one of them has changed.
  ///
  /// ```swift
  /// table.apply(people.changes(from: shown, of: \.name, \.city))
  /// ```
  ///
  /// The records need not be `Equatable`. With ``Query/changes(of:_:)``, a change of other fields
  /// gives no value.
  ///
  /// - Parameters:
  ///   - old: the records of the earlier value, each id once.
  ///   - first: a field, which is compared by `==`.
  ///   - rest: further fields.
  /// - Complexity: O(n log n) for n records.
  public func changes<R: Record, First: Equatable & Sendable, each Rest: Equatable & Sendable>(
    from old: [R], of first: any KeyPath<R, First> & Sendable,
    _ rest: repeat any KeyPath<R, each Rest> & Sendable
  ) -> RowChanges where Value == [R] {
    let fields = ComparedFields(first, repeat each rest)
    return RowChanges(from: old, to: value, by: fields.areSame)
  }

  /// Not available: changes of rows that have no ids, or of records that cannot be compared.
  @available(
    *, unavailable,
    message:
      "only records have changes, and `==` compares them: declare the record Equatable, or name the fields that you show, as in `changes(from: shown, of: \\.name)`"
  )
  @_disfavoredOverload
  public func changes<Row>(from old: [Row]) -> RowChanges where Value == [Row] {
    // The compiler refuses each call.
    fatalError("it is not available")
  }
}
