/// What a save of a record did.
public enum SavedChange: Sendable, Hashable, CaseIterable {
  /// The record is new.
  case inserted
  /// The record replaced another one with its id.
  case updated
  /// The stored record was equal, so nothing was written.
  case unchanged
}

extension SavedChange: CustomStringConvertible {
  /// Its name.
  public var description: String {
    switch self {
    case .inserted: "inserted"
    case .updated: "updated"
    case .unchanged: "unchanged"
    }
  }
}

/// The result of ``RecordWriting/save(contentsOf:progress:)``.
public struct SavedBatch<R: Record>: Sendable {
  /// The records as they are stored, in the order of the batch: with their ids, and the changes of
  /// hooks and ``Timestamped``.
  public internal(set) var records: [R] = []
  /// What happened to each of them, in the same order.
  public internal(set) var changes: [SavedChange] = []

  init(count: Int) {
    records.reserveCapacity(count)
    changes.reserveCapacity(count)
  }

  /// The number of new records.
  public var inserted: Int { count(of: .inserted) }
  /// The number of records that replaced other ones.
  public var updated: Int { count(of: .updated) }
  /// The number of records that were stored already.
  public var unchanged: Int { count(of: .unchanged) }

  private func count(of change: SavedChange) -> Int { changes.count { $0 == change } }
}

extension SavedBatch: CustomStringConvertible {
  /// The counts on one line.
  public var description: String {
    "\(inserted) inserted, \(updated) updated, \(unchanged) unchanged"
  }
}

/// The result of ``RecordWriting/update(_:progress:_:)``.
public struct UpdatedBatch: Sendable, Hashable {
  /// The number of records that were written.
  public internal(set) var updated = 0
  /// The number of records in which the closure changed nothing, so that nothing was written.
  public internal(set) var unchanged = 0
}

/// The result of ``RecordWriting/delete(_:ids:progress:)``.
public struct DeletedBatch<R: Record>: Sendable {
  /// The number of records of the batch that were deleted, without those that rules deleted.
  public internal(set) var deleted = 0
  /// The ids of the batch that no record had, each once, in their order.
  public internal(set) var missing: [R.ID] = []
}

extension UpdatedBatch: CustomStringConvertible {
  /// The counts on one line.
  public var description: String { "\(updated) updated, \(unchanged) unchanged" }
}

extension DeletedBatch: CustomStringConvertible {
  /// The counts on one line.
  public var description: String { "\(deleted) deleted, \(missing.count) missing" }
}

/// The progress of a batch.
public struct BatchProgress: Sendable, Hashable {
  /// The number of records that are done.
  public let done: Int
  /// The number of records in the batch.
  public let total: Int

  /// The fraction, from 0 to 1.
  public var fraction: Double { total == 0 ? 1 : Double(done) / Double(total) }
}

extension LarchError.Code {
  /// A hook, or other code of the program, threw an error for one record of a batch, so nothing of it
  /// was done; the cause is that error.
  public static let batchStopped = Self(rawValue: "batch_stopped")
}

/// One batch while it runs: it tells the progress, and which record an error is about.
final class Batch<R: Record> {
  typealias Progress = (BatchProgress) throws -> Void

  private static var reportInterval: Int { 1000 }

  private let total: Int
  private let progress: Progress?
  /// Whether all records are written together at the end, so that there are no steps to tell of.
  var isWrittenAtEnd = false
  private var done = 0
  /// The record that is being written.
  private var current: R.ID?
  /// The ids of the records that are done, for errors that come at the end of the transaction.
  private var ids: [R.ID] = []

  init(total: Int, _ progress: Progress?) {
    self.total = total
    self.progress = progress
  }

  /// The closure of a transaction may run again.
  func begin() {
    done = 0
    ids = []
    current = nil
  }

  /// Does the work for the next record.
  func next<T>(_ id: R.ID, _ body: () throws -> (T, R.ID)) throws -> T {
    current = id
    let (result, id) = try body()
    current = nil
    ids.append(id)
    done += 1
    if done % Self.reportInterval == 0, done < total, !isWrittenAtEnd { try tell() }
    return result
  }

  /// Tells that all are done.
  func finish() throws {
    done = total
    try tell()
  }

  private func tell() throws { try progress?(BatchProgress(done: done, total: total)) }

  /// The error with the place of its record in the batch.
  func located(_ error: any Error) -> any Error {
    let place = current == nil ? nil : done
    guard var error = error as? LarchError else {
      // What `progress` throws, and the end of the task, are about no record.
      guard let place, let current, !(error is CancellationError), !(error is Rollback) else {
        return error
      }
      return LarchError(
        .batchStopped,
        "The code of a record of the batch threw an error, so nothing of the batch was done; the cause is that error.",
        underlying: error
      ) {
        $0.collection = R.collectionName
        $0.id = current._isUnassigned ? nil : Self.text(of: current)
        $0.position = place
      }
    }
    error.context.position = place ?? position(of: error.context)
    return error
  }

  /// The place of a record that an error names by its id.
  private func position(of context: LarchError.Context) -> Int? {
    guard let id = context.id, context.collection == R.collectionName else { return nil }
    // The last one counts, if a batch has an id twice: it is the one that is stored.
    return ids.lastIndex { Self.text(of: $0) == id }
  }

  private static func text(of id: R.ID) -> String? {
    var writer = KeyWriter()
    guard (try? id._writeID(to: &writer)) != nil else { return nil }
    return R.ID.idKind.text(of: writer.bytes)
  }
}
