public import Observation

/// Records that are edited together and saved together: one id is one ``Draft``, edits stay in
/// memory until they are committed, and steps can be undone.
///
/// ```swift
/// let work = store.work()
/// let people = try work.drafts(Person.where { $0.city == "Oslo" })
/// people[0].age += 1
/// let firm = try work.insert(Company(name: "Acme"))
/// people[0].companyID = firm.id          // its id is known before the commit
/// work.undo()
/// try work.commit()                      // saves what differs, in one transaction
/// ```
///
/// A unit and its drafts belong to whoever made them: the main actor for a screen, a task in a
/// server. They are not `Sendable`, and both are `Observable`.
///
/// The unit keeps the drafts that have changes, and those of its history. Any other draft is yours:
/// if nobody keeps it, it goes, and is read again when it is asked for. A unit that goes away saves
/// nothing; its drafts can still be read.
///
/// ## Topics
/// - ``Store/work()``
/// - ``Draft``
/// - ``DraftConflict``
public final class UnitOfWork: Observable {
  /// The store that it reads and writes.
  public let store: Store
  let registrar = ObservationRegistrar()
  private var drafts: [DraftKey: WeakDraft] = [:]
  /// With so many entries, those of drafts that are gone are removed.
  private var draftLimit = 64
  /// The drafts with changes, which nobody else may keep.
  private var changed: [DraftKey: AnyDraft] = [:]
  /// The number of drafts that ever got changes, for their order.
  private var order = 0
  var history = EditHistory()
  /// The step whose closure runs.
  var openStep: EditStep?
  var commitRuns = false

  private struct WeakDraft {
    weak var draft: AnyDraft?
  }

  init(_ store: Store) { self.store = store }

  // MARK: Loading

  /// The draft of the record with this id; nil if none is stored, and if the unit deletes it.
  ///
  /// A draft without changes is brought up to date; one with changes keeps them, and the stored
  /// record that they began with. A record that the unit inserted is found too.
  ///
  /// - Throws: the errors of ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  public func draft<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> Draft<R>? {
    if id._isUnassigned { return nil }
    let key = try DraftKey(type, id)
    if let draft = known(key, as: type), draft.isChangedNow {
      return draft.state.isDeleted ? nil : draft
    }
    guard let stored = try store.find(type, id) else {
      known(key, as: type)?.takeAbsence()
      return nil
    }
    return draft(of: stored, key)
  }

  /// The drafts of the records of a request, in its order: a query, or the related records of
  /// another one.
  ///
  /// The request is answered from what is stored. It does not see the changes of the unit: a record
  /// that the unit inserted is not among the drafts (``drafts(of:_:)`` has those), and a draft
  /// whose edits no longer fit the filter or the order still has its old place. A record that the
  /// unit deletes is left out; of a request with a limit, fewer drafts are returned then. Drafts
  /// with changes keep them; others are brought up to date.
  ///
  /// - Throws: the errors of ``RecordReading/fetch(_:)``.
  /// - Complexity: that of ``RecordReading/fetch(_:)``.
  public func drafts<Q: Request>(_ request: Q) throws -> [Draft<Q.Row>] where Q.Row: Record {
    try store.fetch(request).compactMap { record in
      let draft = draft(of: record, try DraftKey(Q.Row.self, record.id))
      return draft.state.isDeleted ? nil : draft
    }
  }

  /// The drafts of a type that have changes of a kind, in the order in which they got their first
  /// one.
  ///
  /// ```swift
  /// let added = work.drafts(of: Person.self, .inserted)
  /// ```
  ///
  /// - Complexity: O(n log n) in the drafts with changes.
  public func drafts<R: Record>(of type: R.Type, _ change: RecordChange) -> [Draft<R>] {
    changedDrafts.compactMap { $0 as? Draft<R> }.filter { $0.change == change }
  }

  /// All drafts with changes, in the order in which they got their first one.
  ///
  /// - Complexity: O(n log n) in their number.
  public var changedDrafts: [AnyDraft] {
    registrar.access(self, keyPath: \.changedDrafts)
    return changed.values.sorted { $0.order < $1.order }
  }

  /// Whether a commit would write anything.
  ///
  /// - Complexity: O(1).
  public var hasChanges: Bool {
    registrar.access(self, keyPath: \.hasChanges)
    return !changed.isEmpty
  }

  /// Whether a commit is waiting for the disk.
  public var isCommitting: Bool {
    registrar.access(self, keyPath: \.isCommitting)
    return commitRuns
  }

  // MARK: The map of drafts

  /// The draft of a record that was just read.
  private func draft<R: Record>(of stored: R, _ key: DraftKey) -> Draft<R> {
    if let draft = known(key, as: R.self) {
      draft.takeStored(stored)
      return draft
    }
    let draft = Draft(DraftState(stored: stored), key, unit: self)
    keep(draft)
    return draft
  }

  func known<R: Record>(_ key: DraftKey, as type: R.Type) -> Draft<R>? {
    // The key has the type.
    drafts[key]?.draft as? Draft<R>
  }

  func keep(_ draft: AnyDraft) {
    if drafts.count >= draftLimit {
      drafts = drafts.filter { $0.value.draft != nil }
      draftLimit = max(64, drafts.count * 2)
    }
    drafts[draft.key] = WeakDraft(draft: draft)
  }

  /// The number of remembered drafts, those that are gone included.
  var draftCount: Int { drafts.count }

  /// The drafts that somebody keeps: first those with changes.
  var heldDrafts: [AnyDraft] {
    changed.values.sorted { $0.order < $1.order }
      + drafts.values.compactMap(\.draft).filter { changed[$0.key] == nil }
  }

  /// Called before a draft gets its first change, or loses its last one.
  func noteChange(of draft: AnyDraft, from old: RecordChange?, to new: RecordChange?) {
    if old == new { return }
    registrar.withMutation(of: self, keyPath: \.changedDrafts) {
      if (old == nil) == (new == nil) { return }
      let isChange = changed.isEmpty || changed.count == 1 && new == nil
      mutate(\.hasChanges, if: isChange) {
        if new == nil {
          changed[draft.key] = nil
        } else {
          order += 1
          draft.order = order
          changed[draft.key] = draft
        }
      }
    }
  }

  func mutate<Value>(
    _ keyPath: KeyPath<UnitOfWork, Value>, if differs: Bool = true, _ body: () -> Void
  ) {
    if differs {
      registrar.withMutation(of: self, keyPath: keyPath, body)
    } else {
      body()
    }
  }
}

@available(*, unavailable)
extension UnitOfWork: Sendable {}

extension Store {
  /// A unit of work: records that are edited in memory and committed together. See ``UnitOfWork``.
  ///
  /// ```swift
  /// let work = store.work()
  /// ```
  ///
  /// - Complexity: O(1). It holds no read open.
  public func work() -> UnitOfWork { UnitOfWork(self) }
}
