internal import CLarch

/// Whether a save inserts, updates, or does what the record needs.
@usableFromInline
enum SaveMode { case save, insert, update }

/// The save of a record whose type asks for more than bytes: hooks, timestamps, a version, validation.
///
/// Code of the type runs here, with the transaction in hand. It may write, so nothing that was read
/// or encoded before it is used after it.
extension WriteTransaction {
  /// How deep saves and deletions may lie in hooks of others: each has a savepoint.
  private static var hookDepthLimit: Int { 64 }
  /// From here on, what is left of the thread's stack is looked at.
  private static var shallowHookDepth: Int { 8 }
  /// What one level more, and the storage below it, needs of the stack.
  private static var neededStack: Int { 96 << 10 }

  /// What a save has to do.
  private enum SaveStep<R: Record> {
    case insert
    /// Without the record that is replaced where its type cannot decode it any more; with its
    /// version.
    case update(from: R?, version: Int128?)
    case nothing
  }

  /// What is there under the id of a record.
  private enum StoredState<R: Record> {
    case nothing
    case record(R)
    /// What the type cannot decode any more, and its version as far as its bytes tell it.
    case unreadable(version: Int128?)
  }

  func storeGuarded<R: Record>(
    _ record: inout R, _ mode: SaveMode, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    if declarations.hooks == nil, declarations.timestamped == nil, declarations.version == nil {
      return try storeValidated(&record, mode, in: collection, declarations)
    }
    let original = record
    do {
      guard declarations.hooks != nil else {
        return try storeChecked(&record, mode, in: collection, declarations)
      }
      try asHooked(in: collection) {
        try storeHooked(&record, mode, in: collection, declarations)
      }
    } catch {
      record = original
      throw error
    }
  }

  /// Runs what runs hooks: what it throws undoes all that they did.
  func asHooked<T>(in collection: CollectionHandle, _ body: () throws -> T) throws -> T {
    guard hookDepth < WriteTransaction.hookDepthLimit,
      hookDepth < WriteTransaction.shallowHookDepth
        || larch_stack_left() > WriteTransaction.neededStack
    else {
      throw LarchError(
        .hooksTooDeep,
        "Hooks that save or delete records call each other too deeply (64 levels, or the end of the thread's stack); let a hook save only what it changes."
      ) { $0.collection = collection.stored.name }
    }
    hookDepth += 1
    defer { hookDepth -= 1 }
    return try undoablePart(body)
  }

  /// A save with rules and nothing else.
  private func storeValidated<R: Record>(
    _ record: inout R, _ mode: SaveMode, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    let unassigned = record.id
    let isNew = try assignID(to: &record, mode, in: collection)
    do {
      try putValidated(record, in: collection, isNew: isNew, mode, declarations, try live())
    } catch {
      if isNew { record.id = unassigned }
      throw error
    }
  }

  /// A save without hooks.
  private func storeChecked<R: Record>(
    _ record: inout R, _ mode: SaveMode, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    let isAssigned = try assignID(to: &record, mode, in: collection)
    let stored = isAssigned ? .nothing : try stored(record, mode, in: collection)
    let step = try step(of: &record, stored, in: collection, declarations)
    if case .nothing = step { return }
    try write(&record, step, isLast: isAssigned, in: collection, declarations)
  }

  private func storeHooked<R: Record>(
    _ record: inout R, _ mode: SaveMode, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    guard let hooks = declarations.hooks else {
      return try storeChecked(&record, mode, in: collection, declarations)
    }
    let isAssigned = try assignID(to: &record, mode, in: collection)
    if !isAssigned, mode != .save { try check(record.id, mode, in: collection) }
    let step = try runHooksBefore(&record, mode, hooks, in: collection, declarations)
    // A hook may have inserted others, so an id that was just assigned need not be the last.
    switch step {
    case .nothing: return
    case .insert:
      try write(&record, step, isLast: false, in: collection, declarations)
      if hooks.hasCommits { afterCommit { [record] in hooks.didCommit(record, .inserted) } }
      try hooks.run(.didInsert, &record, nil, self)
    case .update(let stored, _):
      try write(&record, step, isLast: false, in: collection, declarations)
      if hooks.hasCommits { afterCommit { [record] in hooks.didCommit(record, .updated) } }
      if let stored { try hooks.run(.didUpdate, &record, stored, self) }
    }
    try hooks.run(.didSave, &record, nil, self)
  }

  /// Runs the hooks before the write, and tells what is to be written.
  ///
  /// A hook may itself save or delete the record, so what there is to do is found out again after
  /// each that changed anything. Each hook runs once.
  private func runHooksBefore<R: Record>(
    _ record: inout R, _ mode: SaveMode, _ hooks: HookProgram<R>,
    in collection: CollectionHandle, _ declarations: TypedDeclarations<R>
  ) throws -> SaveStep<R> {
    let id = record.id
    func run(_ step: HookStep, _ stored: R?) throws {
      try hooks.run(step, &record, stored, self)
      if record.id == id { return }
      throw LarchError(
        .idChanged,
        "A hook changed the id of the record that is being saved; keep the id, or set it before the save."
      ) { $0.collection = collection.stored.name }
    }
    try run(.willSave, nil)
    var stored = try stored(record, mode, in: collection)
    var hasInserted = false
    var hasUpdated = false
    while true {
      let step = try step(of: &record, stored, in: collection, declarations)
      let changes = changeCount
      switch step {
      case .insert where !hasInserted:
        hasInserted = true
        try run(.willInsert, nil)
      case .update(let stored, _) where !hasUpdated:
        hasUpdated = true
        if let stored { try run(.willUpdate, stored) }
      default: return step
      }
      if changeCount != changes { stored = try self.stored(record, mode, in: collection) }
    }
  }

  /// What there is to do, by what is stored; gives the record the times and the version of that.
  private func step<R: Record>(
    of record: inout R, _ found: StoredState<R>, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws -> SaveStep<R> {
    let stored: R
    switch found {
    case .nothing: return .insert
    case .record(let record): stored = record
    case .unreadable(let number):
      if let version = declarations.version, let number {
        try checkVersion(of: &record, number, in: collection, version)
      }
      return .update(from: nil, version: number)
    }
    let number = declarations.version.map { $0.number(stored) }
    if let version = declarations.version, let number {
      try checkVersion(of: &record, number, in: collection, version)
    }
    declarations.timestamped?.keepTimes(of: stored, in: &record)
    return try isSame(record, as: stored, in: collection)
      ? .nothing : .update(from: stored, version: number)
  }

  /// Stamps, counts, checks and writes the record.
  private func write<R: Record>(
    _ record: inout R, _ step: SaveStep<R>, isLast: Bool, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    var number: Int128?
    var isInsert = true
    if case .update(_, let version) = step {
      number = version
      isInsert = false
    }
    declarations.timestamped?.stamp(&record, now, isNew: isInsert)
    if let version = declarations.version {
      try raiseVersion(of: &record, number, in: collection, version)
    }
    let changes = changeCount
    if !declarations.validations.isEmpty {
      try validate(record, isNew: isInsert, in: collection, declarations)
    }
    // A rule of the type may have written, as its hooks may.
    let isNew = isLast && changeCount == changes
    try put(record, in: collection, isNew: isNew, .save, try live())
    if let version = declarations.version {
      try noteVersion(of: record, number, in: collection, version)
    }
  }

  // MARK: What is stored

  /// The record that is stored under the id of this one; an error where the mode forbids what is
  /// found.
  private func stored<R: Record>(
    _ record: R, _ mode: SaveMode, in collection: CollectionHandle
  ) throws -> StoredState<R> {
    let key = try context.key(of: record.id)
    guard let bytes = try collection.records.get(key, in: try live()) else {
      if mode == .update { throw idError(.recordNotFound, key, collection) }
      return .nothing
    }
    if mode == .insert { throw idError(.idExists, key, collection) }
    if let record = try readable(R.self, bytes, id: key, in: collection) { return .record(record) }
    let version = try declarations(of: R.self, in: collection).version.flatMap {
      try storedVersion(
        $0, in: try RecordEnvelope.open(bytes, id: key, in: collection), of: collection)
    }
    return .unreadable(version: version)
  }

  /// Throws where the mode forbids what is stored, before a hook runs in vain.
  private func check<ID: RecordIdentifier>(
    _ id: ID, _ mode: SaveMode, in collection: CollectionHandle
  ) throws {
    let key = try context.key(of: id)
    let isThere = try collection.records.get(key, in: try live()) != nil
    if isThere, mode == .insert { throw idError(.idExists, key, collection) }
    if !isThere, mode == .update { throw idError(.recordNotFound, key, collection) }
  }

  /// Whether a record has the bytes of the stored one.
  private func isSame<R: Record>(
    _ record: R, as stored: R, in collection: CollectionHandle
  ) throws -> Bool {
    let shapeCount = context.shapes.count
    let bytes = try encode(record, collection)
    let key = try context.key(of: record.id)
    if let before = try collection.records.get(key, in: try live()) {
      if isSame(before, bytes) { return true }
      // Other bytes of the same form and length are another value.
      if before.count == bytes.count + RecordEnvelope.checksumSize,
        before.loadUnaligned(as: UInt16.self) == bytes.loadUnaligned(as: UInt16.self)
      {
        return false
      }
    }
    return try isSameValue(record, stored, in: collection, knowing: shapeCount)
  }
}
