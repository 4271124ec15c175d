internal import CLarch

/// The additional steps of a save for a type with hooks, times or a version. They come before the
/// comparison of bytes and after the write.
///
/// Hooks get the transaction and may write. So bytes that were read or encoded before a hook are
/// not used after it.
extension WriteTransaction {
  /// The limit of nested saves and deletions with hooks. Each has a savepoint.
  private static var hookDepthLimit: Int { 64 }
  /// From this depth on, the free space of the thread's stack is checked.
  private static var shallowHookDepth: Int { 8 }
  /// The stack that one more level needs, with the storage code below it.
  private static var neededStack: Int { 96 << 10 }

  func storeGuarded<R: Record>(
    _ record: inout R, _ mode: SaveMode, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    let original = record
    do {
      if declarations.hooks == nil {
        try saveGuarded(&record, mode, in: collection, declarations)
      } else {
        try asHooked(in: collection) {
          try saveGuarded(&record, mode, in: collection, declarations)
        }
      }
    } catch {
      record = original
      throw error
    }
  }

  /// Runs a step that calls hooks. If it throws, all changes of the hooks are undone.
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

  private func saveGuarded<R: Record>(
    _ record: inout R, _ mode: SaveMode, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    let isNew = try identify(&record, mode, in: collection, declarations)
    let step = try settle(&record, mode, isNew: isNew, in: collection, declarations)
    if case .nothing = step { return }
    declarations.timestamped?.stamp(&record, now, isNew: step.isInsert)
    if let version = declarations.version {
      try raiseVersion(of: &record, step.version, in: collection, version)
    }
    // A hook may have inserted records, so an id that was just assigned need not be the highest.
    try write(
      record, .save, isNew: isNew && declarations.hooks == nil, in: collection, declarations,
      try live())
    try tell(&record, step, in: collection, declarations)
  }

  // MARK: Before the write

  /// What a save has to do.
  private enum SaveStep<R: Record> {
    case nothing
    case insert
    case update(from: StoredRecord<R>)

    var isInsert: Bool {
      if case .insert = self { return true }
      return false
    }

    /// The version of the record that is replaced.
    var version: Int128? {
      if case .update(let stored) = self { return stored.version }
      return nil
    }
  }

  /// The record that is stored under an id.
  private struct StoredRecord<R: Record> {
    /// Nil if the type cannot decode it any more.
    let record: R?
    /// Nil if the type has no version, or the bytes do not contain it.
    let version: Int128?
  }

  /// Runs the hooks before the write, and decides whether to insert, to update, or to do nothing.
  ///
  /// A hook may itself save or delete the record, so the decision is made again after each hook
  /// that changed anything. Each hook runs once.
  private func settle<R: Record>(
    _ record: inout R, _ mode: SaveMode, isNew: Bool, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws -> SaveStep<R> {
    guard let hooks = declarations.hooks else {
      let stored = isNew ? nil : try stored(record, mode, in: collection, declarations)
      return try step(of: &record, stored, in: collection, declarations)
    }
    let id = record.id
    func run(_ step: HookStep, _ stored: R?) throws {
      try hooks.run(step, &record, stored, self)
      if record.id == id { return }
      throw LarchError(
        .idChanged,
        "A hook changed the id of the record that is being saved; keep the id, or set it before the save."
      ) { $0.collection = collection.stored.name }
    }
    // If the mode forbids the save, no hook runs.
    if !isNew, mode != .save {
      _ = try self.stored(under: try context.key(of: id), mode, in: collection, try live())
    }
    try run(.willSave, nil)
    var stored = try stored(record, mode, in: collection, declarations)
    var hasInserted = false
    var hasUpdated = false
    while true {
      let step = try step(of: &record, stored, in: collection, declarations)
      let changes = changeCount
      switch step {
      case .insert where !hasInserted:
        hasInserted = true
        try run(.willInsert, nil)
      case .update(let stored) where !hasUpdated:
        hasUpdated = true
        if let stored = stored.record { try run(.willUpdate, stored) }
      default: return step
      }
      if changeCount != changes {
        stored = try self.stored(record, mode, in: collection, declarations)
      }
    }
  }

  /// The record that is stored under the id of this one. Throws if the mode forbids the save.
  private func stored<R: Record>(
    _ record: R, _ mode: SaveMode, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws -> StoredRecord<R>? {
    let id = try context.key(of: record.id)
    guard let bytes = try stored(under: id, mode, in: collection, try live()) else { return nil }
    if let record = try readable(R.self, bytes, id: id, in: collection) {
      return StoredRecord(record: record, version: declarations.version.map { $0.number(record) })
    }
    let version = try declarations.version.flatMap {
      try storedVersion(
        $0, in: try RecordEnvelope.open(bytes, id: id, in: collection), of: collection)
    }
    return StoredRecord(record: nil, version: version)
  }

  /// Decides the step by comparing with the stored record, whose times and version the record gets.
  private func step<R: Record>(
    of record: inout R, _ stored: StoredRecord<R>?, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws -> SaveStep<R> {
    guard let stored else { return .insert }
    if let version = declarations.version, let number = stored.version {
      try checkVersion(of: &record, number, in: collection, version)
    }
    guard let before = stored.record else { return .update(from: stored) }
    declarations.timestamped?.keepTimes(of: before, in: &record)
    return try isSame(record, as: before, in: collection) ? .nothing : .update(from: stored)
  }

  /// Whether a save would store the same value.
  private func isSame<R: Record>(
    _ record: R, as stored: R, in collection: CollectionHandle
  ) throws -> Bool {
    let shapeCount = context.shapes.count
    let bytes = try encode(record, collection)
    let id = try context.key(of: record.id)
    if let before = try collection.records.get(id, in: try live()) {
      if isSame(before, bytes) { return true }
      // With the same shape and length, different bytes are a different value.
      if before.count == bytes.count + RecordEnvelope.checksumSize, !hasOtherShape(before, bytes) {
        return false
      }
    }
    return try isSameValue(record, stored, in: collection, knowing: shapeCount)
  }

  // MARK: After the write

  /// Remembers the version, and runs the hooks after the write.
  private func tell<R: Record>(
    _ record: inout R, _ step: SaveStep<R>, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    if let version = declarations.version {
      try noteVersion(of: record, step.version, in: collection, version)
    }
    guard let hooks = declarations.hooks else { return }
    if hooks.hasCommits {
      let change: RecordChange = step.isInsert ? .inserted : .updated
      afterCommit { [record] in hooks.didCommit(record, change) }
    }
    switch step {
    case .insert: try hooks.run(.didInsert, &record, nil, self)
    case .update(let stored):
      if let stored = stored.record { try hooks.run(.didUpdate, &record, stored, self) }
    case .nothing: break
    }
    try hooks.run(.didSave, &record, nil, self)
  }
}
