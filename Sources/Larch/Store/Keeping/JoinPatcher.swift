/// The rows of a join, in its order.
///
/// Each row has its place in the order as bytes, and the ids of its records. A changed record of either
/// side concerns the left records that were joined with it, and those that are joined with it now: the
/// ones of the kept rows are found by their ids, and those that come are looked up in the snapshot after
/// the changes. All rows of the left records concerned are then read there, by looking up their
/// partners, and take the place of those that were kept. The other rows stay.
final class JoinPatcher<Left: Record, Right: Record, Row>: ValuePatcher<[Row]>,
  @unchecked Sendable
{
  private typealias Found = (rows: [Row], marks: [JoinMark])

  private let join: Join<Left, Right, Row>
  private let leftDependencies: [RelatedDependency]
  private let rightDependencies: [RelatedDependency]
  /// Empty if they cannot be brought up to date.
  private var kept: [Row] = []
  /// One for each row.
  private var marks = JoinMarks()
  private var trees: (left: UInt32, right: UInt32, all: RelatedTrees)?
  private var isPatchable = false
  /// The state of the rows, if it is certain.
  private var state: StoreState?

  /// How many rows are changed, and how many records are looked at for them.
  private var mostSteps: Int { PatchLimits.fewRelated + marks.count / 16 }

  /// Nil for a join whose rows cannot be brought up to date.
  init?(_ join: Join<Left, Right, Row>) {
    if join.details.reasonNotPatched != nil { return nil }
    self.join = join
    leftDependencies = join.details.left.dependencies
    rightDependencies = join.details.right.dependencies
  }

  override var related: RelatedTrees? { isPatchable ? trees?.all : nil }

  override var current: [Row]? { isPatchable ? kept : nil }

  override func read(
    _ tx: ReadTransaction, at state: StoreState?
  ) throws -> (value: [Row], isSame: Bool) {
    let wasRead = trees != nil
    kept = []
    let sides = try sides(tx)
    let found = try tx.run(join.details, of: join) { try rows(of: $0, sides, tx) }
    let isSame = wasRead && found.marks.elementsEqual(marks.all) { $0.hash == $1.hash }
    marks.all = found.marks
    trees = (
      sides.left.records.handle, sides.right.records.handle, try dependentTrees(sides, tx.context)
    )
    isPatchable =
      JoinPlan.access(to: join.details.rightField, of: sides.right) != nil
      && zip(found.marks, found.marks.dropFirst()).allSatisfy { $0.place < $1.place }
    if isPatchable { kept = found.rows }
    self.state = state
    return (found.rows, isSame)
  }

  private func sides(_ tx: ReadTransaction) throws -> JoinSides {
    let left = try tx.context.collection(of: Left.self)
    let right = try tx.context.collection(of: Right.self)
    return JoinSides(
      left: left, right: right, leftTyped: RecordAccess<Left>(tx.context, left),
      rightTyped: RecordAccess<Right>(tx.context, right))
  }

  private func dependentTrees(
    _ sides: JoinSides, _ context: TransactionContext
  ) throws -> RelatedTrees {
    var all = RelatedTrees(sides.left)
    all.formUnion(RelatedTrees(sides.right))
    for (dependencies, side) in [
      (leftDependencies, sides.left), (rightDependencies, sides.right),
    ] {
      if let trees = try RelatedTrees(dependencies, of: side, context) { all.formUnion(trees) }
    }
    return all
  }

  /// The rows of a run. Throws if they are more than `most`.
  private func rows(
    of rows: JoinRows<Row>, _ sides: JoinSides, _ tx: ReadTransaction, most: Int = .max
  ) throws -> Found {
    let places = JoinPlaces(join.details, sides, tx.context)
    let buffer = RecordBuffer<Row>()
    var marks: [JoinMark] = []
    while let row = try rows.run.next() {
      if marks.count == most { throw RelatedCandidates.Unknown.tooMany }
      let left = row.left.map { RecordHash.of(row.leftID, $0) } ?? 0
      let right = row.right.map { RecordHash.of(row.rightID, $0) } ?? 0
      marks.append(
        JoinMark(
          place: RowPlace(try places.place(of: row)), hash: RecordHash.of(left, right),
          left: StoredID(row.leftID), right: row.right.map { _ in StoredID(row.rightID) }))
      try rows.make(row, at: buffer.next())
      buffer.filled()
    }
    return (buffer.takeArray(), marks)
  }

  // MARK: Changes

  override func patch(
    to state: StoreState, at tx: ReadTransaction, _ changes: (StoreState) -> ChangesByTree?
  ) -> Outcome {
    let start = self.state ?? StoreState(generation: .min, transaction: 0)
    // A read shows the errors of records and filters.
    guard isPatchable, let changes = changes(start), let isChanged = try? apply(changes, tx) else {
      return .unknown
    }
    self.state = state
    return isChanged ? .changed(kept) : .same
  }

  private func apply(_ changes: ChangesByTree, _ tx: ReadTransaction) throws -> Bool {
    let sides = try sides(tx)
    guard let trees, sides.left.records.handle == trees.left,
      sides.right.records.handle == trees.right
    else { throw RelatedCandidates.Unknown.otherRows }
    let most = mostSteps
    let candidates = RelatedCandidates(changes, room: 4 * most, tx.context)
    var lefts = try concerned(
      changes[trees.left] ?? [], join.details.left, sides.leftTyped, tx
    ).all
    lefts.formUnion(try candidates.ids(leftDependencies).map { StoredID($0) })
    let rights = try concerned(
      changes[trees.right] ?? [], join.details.right, sides.rightTyped, tx,
      keepsKey: join.details.rightField.identity == .id && rightDependencies.isEmpty)
    let related = try candidates.ids(rightDependencies).map { StoredID($0) }
    let allRights = rights.all.union(related)
    guard lefts.count + allRights.count <= most else { throw RelatedCandidates.Unknown.tooMany }
    lefts.formUnion(marks.lefts(ofRight: allRights))
    lefts.formUnion(try joined(with: rights.coming.union(related), tx, most: most))
    if lefts.isEmpty { return false }
    guard lefts.count <= most else { throw RelatedCandidates.Unknown.tooMany }
    let old = marks.places(ofLeft: lefts)
    guard old.count <= most else { throw RelatedCandidates.Unknown.tooMany }
    return replace(old, by: try rows(of: lefts, sides, tx, most: most))
  }

  /// The changed records of a side that may be in rows, before or after, and those that may have come
  /// into rows.
  ///
  /// - Parameter keepsKey: whether a record that passes the filter before and after keeps its partners.
  private func concerned(
    _ changes: [StoredChange], _ query: QueryDescription, _ typed: TypedAccess,
    _ tx: ReadTransaction, keepsKey: Bool = false
  ) throws -> (all: Set<StoredID>, coming: Set<StoredID>) {
    var (all, coming): (Set<StoredID>, Set<StoredID>) = ([], [])
    if changes.isEmpty { return (all, coming) }
    let filter = query.filter.withoutRelated()
    let program = try FilterProgram.of([filter], context: tx.context, typed: typed)
    for change in changes {
      let isIn = try change.passes(program)
      guard isIn.before || isIn.after else { continue }
      let id = StoredID(change.id)
      all.insert(id)
      if isIn.after, !isIn.before || !keepsKey { coming.insert(id) }
    }
    return (all, coming)
  }

  /// The left records that are joined with some right ones now.
  private func joined(
    with rights: Set<StoredID>, _ tx: ReadTransaction, most: Int
  ) throws -> Set<StoredID> {
    if rights.isEmpty { return [] }
    var part = join.details
    part.keepsLeft = false
    part.right = try part.right.only(
      rights.map(\.stored), in: tx.context.collection(of: Right.self))
    let found = try tx.runLookingUp(part, of: join, fromLeft: false) { rows in
      var lefts: Set<StoredID> = []
      while let row = try rows.run.next() {
        lefts.insert(StoredID(row.leftID))
        if lefts.count > most { throw RelatedCandidates.Unknown.tooMany }
      }
      return lefts
    }
    guard let found else { throw RelatedCandidates.Unknown.noIndex }
    return found
  }

  /// The rows of some left records now.
  private func rows(
    of lefts: Set<StoredID>, _ sides: JoinSides, _ tx: ReadTransaction, most: Int
  ) throws -> Found {
    var part = join.details
    part.left = try part.left.only(lefts.map(\.stored), in: sides.left)
    let found = try tx.runLookingUp(part, of: join, fromLeft: true) {
      try rows(of: $0, sides, tx, most: most)
    }
    guard let found else { throw RelatedCandidates.Unknown.noIndex }
    return found
  }

  /// Puts rows in the place of others. Returns whether any differs.
  private func replace(_ old: [Int], by new: Found) -> Bool {
    var left = Dictionary(
      new.marks.enumerated().map { ($1.place, $0) }, uniquingKeysWith: { first, _ in first })
    var gone: [Int] = []
    var isChanged = false
    for place in old {
      guard let number = left.removeValue(forKey: marks.all[place].place) else {
        gone.append(place)
        continue
      }
      if marks.all[place].hash == new.marks[number].hash { continue }
      (kept[place], marks.all[place]) = (new.rows[number], new.marks[number])
      isChanged = true
    }
    // Rows of one record are mostly neighbours.
    for run in gone.runs.reversed() {
      kept.removeSubrange(run)
      marks.all.removeSubrange(run)
    }
    let coming = left.values.sorted { new.marks[$0].place < new.marks[$1].place }
    var first = coming.startIndex
    while first < coming.endIndex {
      let target = marks.firstPlace(notBefore: new.marks[coming[first]].place)
      let next = target < marks.count ? marks.all[target].place : nil
      let run = coming[first...].prefix { number in
        next.map { new.marks[number].place < $0 } ?? true
      }
      kept.insert(contentsOf: run.map { new.rows[$0] }, at: target)
      marks.all.insert(contentsOf: run.map { new.marks[$0] }, at: target)
      first = run.endIndex
    }
    return isChanged || !gone.isEmpty || !coming.isEmpty
  }

  override func check(_ tx: ReadTransaction) throws {
    let sides = try sides(tx)
    let read = try tx.run(join.details, of: join) { try rows(of: $0, sides, tx) }.marks
    if read.elementsEqual(marks.all, by: { $0.place == $1.place && $0.hash == $1.hash }) { return }
    throw LarchError(
      .wrongAnswer,
      "The rows of an observer differ from a new read of its join; please report this bug in Larch."
    ) {
      $0.collection = sides.left.stored.name
      $0.detail = "\(marks.count) rows instead of \(read.count)"
    }
  }
}

extension JoinDescription {
  /// Why the rows are read again after each change; nil if they are brought up to date from the
  /// changed records of both sides.
  var reasonNotPatched: String? {
    if keepsRight { return "they include right records without a partner" }
    if limit != nil || offset != 0 { return "the join has a limit or an offset" }
    if left.isPart || right.isPart {
      return "a side has a limit, an offset or a page token"
    }
    if left.hasRelatedOrder || right.hasRelatedOrder {
      return "the order of a side is that of related records"
    }
    return nil
  }
}

extension Join: PatchedRequest {
  func rowPatcher(in shared: SharedObjects) -> ValuePatcher<[Row]>? { JoinPatcher(self) }
}
