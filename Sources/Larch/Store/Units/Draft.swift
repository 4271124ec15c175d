internal import Observation

/// A record that is being edited in a ``UnitOfWork``: one object for one id, however often it is
/// loaded.
///
/// You read and set its properties like those of the record itself. Nothing is written before the
/// unit is committed.
///
/// ```swift
/// let work = store.work()
/// if let ada = try work.draft(Person.self, id) {
///   ada.age += 1
///   print(try ada.changes())   // [age: 36 -> 37]
/// }
/// try work.commit()
/// ```
///
/// It is `Observable`: a view that reads any property of the record hears of each change of the
/// record, and a reader of ``AnyDraft/hasChanges``, ``AnyDraft/change`` or ``AnyDraft/isDeleted``
/// when that value changes. With `@Bindable var person: Draft<Person>`, `$person.name` is a
/// binding.
///
/// A property of the record that has the name of a member of the draft, such as `changes`, is
/// reached by ``record``: `draft.record.changes`.
@dynamicMemberLookup
public final class Draft<R: Record>: AnyDraft {
  private(set) var state: DraftState<R>
  /// What a commit would do, kept because many ask.
  private var known: RecordChange?
  /// The state that a running commit writes.
  private var sent: (state: DraftState<R>, edits: Int)?

  init(_ state: DraftState<R>, _ key: DraftKey, unit: UnitOfWork) {
    self.state = state
    super.init(key, collection: R.collectionName, unit: unit)
  }

  // MARK: The record

  /// The record with its edits. Setting it is one edit; it must keep the id.
  ///
  /// A record of a class is a copy: changing that changes no draft.
  ///
  /// - Complexity: O(1); for a record of a class, and to set it, the encoding of the record.
  public var record: R {
    get {
      registrar.access(self, keyPath: \.record)
      return RecordComparer.snapshot(of: state.record)
    }
    set { edit { $0 = newValue } }
  }

  /// The stored record that the edits began with; nil for one that is not stored.
  public var stored: R? {
    registrar.access(self, keyPath: \.record)
    return state.isStored ? RecordComparer.snapshot(of: state.origin) : nil
  }

  /// A property of the record.
  public subscript<Value>(dynamicMember keyPath: KeyPath<R, Value>) -> Value {
    registrar.access(self, keyPath: \.record)
    return state.record[keyPath: keyPath]
  }

  /// A property of the record, which can be set. Setting it is one edit; a value that differs in
  /// nothing is none.
  ///
  /// - Complexity: to set it, the encoding of the record.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<R, Value>) -> Value {
    get {
      registrar.access(self, keyPath: \.record)
      return state.record[keyPath: keyPath]
    }
    _modify {
      // A copy, so that code that runs meanwhile may read the draft.
      var value = state.record[keyPath: keyPath]
      defer { edit { $0[keyPath: keyPath] = value } }
      yield &value
    }
  }

  /// Changes several properties as one edit.
  ///
  /// ```swift
  /// draft.edit { $0.name = "Ada"; $0.age = 36 }
  /// ```
  ///
  /// A draft that is deleted can be edited too; that shows when the deletion is undone.
  ///
  /// - Throws: the errors of `body`; nothing is changed then.
  /// - Complexity: the encoding of the record.
  public func edit(_ body: (inout R) throws -> Void) rethrows {
    var next = state
    next.record = RecordComparer.snapshot(of: state.record)
    try body(&next.record)
    if state.isSame(next.record, state.record) { return }
    change(to: next)
  }

  public override var change: RecordChange? {
    registrar.access(self, keyPath: \.change)
    return known
  }

  public override var isDeleted: Bool {
    registrar.access(self, keyPath: \.isDeleted)
    return state.isDeleted
  }

  public override var idText: String { "\(state.record.id)" }

  public override func changes() throws -> [FieldChange] {
    registrar.access(self, keyPath: \.record)
    return try state.changes()
  }

  public override func revert() {
    var next = state.reverted
    if !state.isStored { next.isDeleted = state.isDeleted }
    let isSame = next.isDeleted == state.isDeleted && state.isSame(next.record, state.record)
    if known != nil, !isSame { change(to: next) }
  }

  // MARK: Changing

  /// Makes an edit, which can be undone.
  func change(to next: DraftState<R>) {
    let before = state
    take(next)
    unit?.note(StateEdit(draft: self, before: before, after: next))
  }

  /// Replaces the state, and tells the readers of what differs.
  func take(_ next: DraftState<R>) {
    edits &+= 1
    let new = next.change
    unit?.noteChange(of: self, from: known, to: new)
    registrar.withMutation(of: self, keyPath: \.record) {
      mutate(\.isDeleted, if: next.isDeleted != state.isDeleted) {
        mutate(\.change, if: new != known) {
          state = next
          known = new
        }
      }
    }
  }

  private func mutate<Value>(
    _ keyPath: KeyPath<Draft, Value>, if differs: Bool, _ body: () -> Void
  ) {
    if differs {
      registrar.withMutation(of: self, keyPath: keyPath, body)
    } else {
      body()
    }
  }

  /// Whether it has no edits, neither now nor in a running commit, so that it can be brought up to
  /// date.
  private var isIdle: Bool { known == nil && sent == nil }

  /// Takes the newer stored record into a draft without edits.
  func takeStored(_ record: R) {
    guard isIdle else { return }
    let next = DraftState(stored: record)
    if state.isStored, next.isSame(next.record, state.record) { return }
    take(next)
  }

  override var isChangedNow: Bool { known != nil }

  override func markDeleted() {
    if state.isDeleted { return }
    var next = state
    next.isDeleted = true
    change(to: next)
  }

  /// Notes that no record is stored any more, if there are no edits.
  func takeAbsence() {
    if isIdle, state.isStored { take(DraftState(absent: state.record)) }
  }

  override func discard() {
    if let sent {
      if sent.edits != edits { take(sent.state) }
    } else if known != nil {
      take(state.reverted)
    }
  }

  override func refresh(in tx: ReadTransaction) throws -> () -> Void {
    let stored = try tx.find(R.self, state.record.id)
    return { if let stored { self.takeStored(stored) } else { self.takeAbsence() } }
  }

  // MARK: Conflicts

  override func conflict(in tx: ReadTransaction) throws -> DraftConflict? {
    try findConflict(in: tx)
  }

  override func resolve(_ conflict: DraftConflict, by resolution: ConflictResolution) throws {
    try settle(conflict, by: resolution)
  }

  // MARK: A commit

  override func makePart() throws -> any DraftPart {
    guard try DraftKey(R.self, state.record.id) == key else {
      throw LarchError(
        .idChanged,
        "The id of a draft was changed; insert a new draft to store the record under another id."
      ) {
        $0.collection = collection
        $0.id = "\(state.origin.id)"
        $0.detail = "new id \(state.record.id)"
      }
    }
    return RecordPart(state: state, change: known)
  }

  override func beginCommit() { sent = (state, edits) }

  override func endCommit() { sent = nil }

  /// Takes what the commit stored. Edits that were made while it ran are made to that.
  func finish(_ stored: R?) {
    guard let sent else { return }
    if sent.edits == edits {
      if let stored {
        if known == nil, state.isStored, state.isSame(stored, state.record) { return }
        take(DraftState(stored: stored))
      } else if state.isStored || !state.isDeleted {
        take(DraftState(absent: state.record))
      }
      return
    }
    // Without changes it was not compared with what others had stored; the next commit does that.
    if sent.state.change == nil { return }
    var later = state
    later.origin = sent.state.record
    later.isStored = stored != nil || !later.isDeleted && sent.state.change != .deleted
    // A record that a rule deleted while it was edited stays as it is, which is a conflict of the
    // next commit. So does one that cannot be encoded.
    if let stored, let rebased = try? later.rebased(on: stored) { later = rebased }
    take(later)
  }
}

extension Draft: Identifiable {
  /// The id of the record. It never changes: `UnitOfWork.insert(_:)` takes one for a new
  /// record.
  public var id: R.ID { state.origin.id }
}
