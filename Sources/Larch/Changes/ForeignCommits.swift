/// Puts the commits of this process and those of others in one order, for a `ChangeHub`.
///
/// The hub knows nothing of files: whoever has the file open gives it one of these.
protocol ForeignCommits: AnyObject, Sendable {
  /// A listener wants to hear of the commits of others. When this returns, every commit that a later
  /// snapshot does not have will be noticed.
  ///
  /// - Returns: for the first listener, a state that all further events begin with or are after; nil if
  ///   that is not known.
  func begin() -> UInt64?

  /// A listener ends that has begun.
  func end()

  /// The file is to be closed: what was kept for the next listener ends, unless there is one.
  func endThread()

  /// A write of this process that has a log is about to commit. Until `didEndCommit`, a new number
  /// may be its own.
  func willCommit()

  func didEndCommit()

  /// Publishes a commit of this process, and before it those of others that came between.
  ///
  /// - Parameter event: nil if the commit has changed nothing.
  /// - Returns: whether every listener has it now, with all before.
  func publish(_ event: ChangeEvent?, transaction: UInt64) -> Bool

  /// Whether others have committed not long ago. What changed since a commit of theirs is found by
  /// comparing states, for which all records must be known that this process has changed.
  var hasCompany: Bool { get }

  /// The file was opened again, or is another one.
  func reset()
}
