internal import Foundation

/// Moves a store aside whose schema does not fit the declared types. See
/// ``Store/Options/onMismatch``.
///
/// 1. *Judge*: the file is opened. Only an error about its schema counts.
/// 2. *Prepare*: a new store is made under a temporary name, with its schema and migrations. What
///    can fail, such as a full disk, fails here, and the old file is where it was.
/// 3. *Move*: with nobody able to open either, the old file gets another name, and the new one its
///    place. If somebody has changed the old one since it was judged, it is judged again.
struct MovingAside {
  /// How many times a file may change while it is judged.
  private static let attempts = 8

  let location: StoreLocation
  let schema: StoreSchema
  let options: Store.Options

  init(_ path: String, _ schema: StoreSchema, _ options: Store.Options) throws {
    location = try StoreLocation(path)
    self.schema = schema
    self.options = options
  }

  /// Whether an error of an opening says that the stored schema or the stored records contradict
  /// the declarations. Every other error stays an error: a damaged file, one of a newer Larch, one
  /// in use, a wrong declaration, or a migration that failed is not helped by a new file.
  static func isMismatch(_ error: any Error) -> Bool {
    guard let error = error as? LarchError else { return false }
    // A unique conflict comes from a new `Unique` that stored records break.
    return error.code == .schemaMismatch || error.code == .uniqueConflict
  }

  /// Whether an opening with these options may make a new file at all.
  static func isPossible(_ options: Store.Options) -> Bool {
    // A check reports each difference as a mismatch, also one that an opening would settle.
    !options.isReadOnly && options.createsFile && options.evolution != .check
  }

  /// Moves the file aside, and puts a new store in its place.
  ///
  /// - Returns: the new path of the file; nil if it fits now, because somebody changed or replaced
  ///   it meanwhile.
  /// - Throws: `mismatch` if the file changes too fast, `.busy` if a process has it open, the errors
  ///   of creating a store. The file is where it was then.
  func run(_ mismatch: LarchError) throws -> String? {
    var mismatch = mismatch
    for _ in 0..<Self.attempts {
      let state = StoredState(at: location.path, FileCheck.lastTransaction)
      guard let found = try judge() else { return nil }
      mismatch = found
      guard let state else { continue }
      if let aside = try move(state, found) {
        tell(aside, found)
        return aside
      }
    }
    throw mismatch
  }

  /// The mismatch of the file as it is now; nil if there is none.
  private func judge() throws -> LarchError? {
    do {
      try Store(opening: location.path, schema, options.forTrial(options.durability)).close()
      return nil
    } catch let error as LarchError where Self.isMismatch(error) {
      return error
    }
  }

  private func move(_ state: StoredState, _ mismatch: LarchError) throws -> String? {
    TemporaryFile.removeLeftovers(in: location.directory)
    let new = try TemporaryFile(in: location.directory, for: location.path)
    defer { new.discard() }
    do {
      try prepare(new)
      return try location.moveAside(
        ifStill: state, for: new, at: options.clock(), FileCheck.lastTransaction, options.aside)
    } catch let error as LarchError where error.code == .busy {
      throw LarchError(
        .busy,
        "The file does not fit the declared types, and cannot be moved aside while a process has it open; close it there, then open the store again.",
        underlying: mismatch
      ) { $0 = error.context }
    } catch var error as LarchError {
      // The temporary name means nothing to the caller.
      if error.context.path == new.path { error.context.path = location.path }
      throw error
    }
  }

  /// Makes the new store complete, so that nothing but its place is missing.
  private func prepare(_ new: TemporaryFile) throws {
    // Unlike a store whose commits are logged, it is whole without a second file.
    let trial = options.forTrial(options.durability == .none ? .none : .durable)
    try LMDBEnvironment.fill(
      new.path, options: trial.forEnvironment(schema), for: location.path,
      CatalogLoader.initialize)
    try Store(opening: new.path, schema, trial).close()
    unlink(new.path + "-lock")
  }

  private func tell(_ aside: String, _ mismatch: LarchError) {
    options.log?(
      LogMessage(
        .warning, .movedAside,
        "The file did not fit the declared types; it was moved aside, and a new store was opened."
      ) {
        $0 = mismatch.context
        $0.path = location.path
        $0.detail = "kept as \(aside); \(mismatch.code): \(mismatch.context.detail ?? "no details")"
      })
  }
}

extension Store.Options {
  /// The same for an opening whose only result is whether it succeeds.
  fileprivate func forTrial(_ durability: Durability) -> Self {
    var trial = self
    trial.onMismatch = .refuse
    trial.durability = durability
    trial.log = nil
    return trial
  }
}

extension LarchError {
  /// The same error, for a file that stays although its moving aside was asked for.
  var notMovedAside: LarchError {
    var error = self
    let reason =
      "not moved aside, since this is a release build; say `.moveAside(alsoInRelease: true)` if that is meant"
    error.context.detail = context.detail.map { $0 + "; " + reason } ?? reason
    return error
  }
}
