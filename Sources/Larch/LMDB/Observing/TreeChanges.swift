internal import CLMDB

/// Finds the changed records of trees between an earlier state and that of a read, by the pages of
/// both (`TreeComparison`).
///
/// No page of the earlier state may be used again before the end: see `CommitWatch`.
struct TreeChanges {
  /// How many pages are read for all trees together. Each changed record may be in a page of its own,
  /// before and after.
  static let pageLimit = 32_768

  private let old: TreeRoots
  private let transaction: LMDBTransaction
  private let limits: ChangeLog.Limits
  private var pagesLeft = TreeChanges.pageLimit
  /// How many pages were read.
  var pages: Int { Self.pageLimit - max(0, pagesLeft) }

  init(since old: TreeRoots, in transaction: LMDBTransaction, _ limits: ChangeLog.Limits) {
    self.old = old
    self.transaction = transaction
    self.limits = limits
  }

  /// The changed records of a tree, each id once and in the order of ids; nil if they are more than
  /// the limits of a log, or cannot be found.
  mutating func records(of tree: UInt32, named name: String) -> [StoredChange]? {
    guard let before = old.record(of: tree), let now = mapped(name), pagesLeft > 0,
      var comparison = try? TreeComparison(
        before.map(now.with) ?? now.with(.empty), now, pages: pagesLeft)
    else { return nil }
    var changes: [StoredChange] = []
    // As a log counts them: what was there before, and then all.
    var (size, sizeBefore) = (0, 0)
    let end = try? comparison.forEachChange { id, before, after in
      sizeBefore += id.count + (before?.count ?? 0)
      size += id.count + (before?.count ?? 0) + (after?.count ?? 0)
      guard changes.count < limits.records, sizeBefore <= limits.bytes, size <= 2 * limits.bytes
      else { return false }
      changes.append(
        StoredChange(
          id: [UInt8](id), before: before.map { [UInt8]($0) }, after: after.map { [UInt8]($0) }))
      return true
    }
    pagesLeft = comparison.pagesLeft
    return end == .complete ? changes : nil
  }

  /// The pages of a tree in the state of the read.
  private func mapped(_ name: String) -> MappedTree? {
    let record = try? [UInt8](name.utf8).withUnsafeBytes {
      try LMDBDatabase.unnamed.get($0, in: transaction)
    }
    return record.flatMap { MappedTree($0, in: transaction) }
  }
}
