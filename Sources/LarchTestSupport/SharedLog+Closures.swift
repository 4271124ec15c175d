package import Larch

extension SharedLog {
  /// Appends entries, or finds that an earlier attempt has appended them.
  package func append(_ entries: [LogEntry]) throws -> Bool {
    try append(entries, mayBeThere: true)
  }

  /// Begins the log of a mirrored store.
  package func begin(
    at place: LogPlace, expecting expected: LogPlace?,
    _ fill: (any LogStateWriter) throws -> Void
  ) throws -> Bool {
    try begin(at: place, expecting: expected, for: .mirrored, fill)
  }

  /// Brings the state up to a position, however new its entries are.
  package func fold(through position: UInt64) throws -> LogPlace {
    try fold(through: position, olderThan: 0)
  }

  /// Calls with all pairs of the state. Trees without pairs are left out.
  package func state(
    _ body: @escaping (LogTree, UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) throws -> LogPlace {
    try state(into: PairCaller(add: body))
  }
}

/// Calls with what it takes.
package final class PairCaller: LogStateWriter {
  private let beginTree: (LogTree) throws -> Void
  private let addPair: (LogTree, UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  private var tree: LogTree?

  package init(
    begin: @escaping (LogTree) throws -> Void = { _ in },
    add: @escaping (LogTree, UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) {
    beginTree = begin
    addPair = add
  }

  package func begin(_ tree: LogTree) throws {
    self.tree = tree
    try beginTree(tree)
  }

  package func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    if let tree { try addPair(tree, key, value) }
  }
}
