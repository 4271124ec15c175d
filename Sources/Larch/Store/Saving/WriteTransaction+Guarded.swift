internal import CLarch

/// The save of a type with hooks, times or a version: what comes before the comparison of bytes, and
/// after the write.
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
    // A hook may have inserted others, so an id that was just assigned need not be the last.
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

  /// What is stored under the id of a record.
  private struct StoredRecord<R: Record> {
    /// Nil where the type cannot decode it any more.
    let record: R?
    /// As far as the bytes tell it, where the type has one.
    let version: Int128?
  }

  /// Runs the hooks before the write, and finds what is to be written.
  ///
  /// A hook may itself save or delete the record, so what there is to do is found out again after
  /// each that changed anything. Each hook runs once.
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
    // What the mode forbids must not run a hook in vain.
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

  /// The record that is stored under the id of this one; an error where the mode forbids what is
  /// found.
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

  /// What there is to do, by what is stored; gives the record the times and the version of that.
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

  /// Whether a record has the bytes of the stored one.
  private func isSame<R: Record>(
    _ record: R, as stored: R, in collection: CollectionHandle
  ) throws -> Bool {
    let shapeCount = context.shapes.count
    let bytes = try encode(record, collection)
    let id = try context.key(of: record.id)
    if let before = try collection.records.get(id, in: try live()) {
      if isSame(before, bytes) { return true }
      // Other bytes of the same form and length are another value.
      if before.count == bytes.count + RecordEnvelope.checksumSize, !hasOtherShape(before, bytes) {
        return false
      }
    }
    return try isSameValue(record, stored, in: collection, knowing: shapeCount)
  }

  // MARK: After the write

  /// Notes the version, and runs the hooks after the write.
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
