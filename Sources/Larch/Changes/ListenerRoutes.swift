/// Bytes from `lower`, which is included, to `upper`, which is not; nil for no upper bound.
package struct ByteRange: Sendable, Hashable {
  let lower: [UInt8]
  let upper: [UInt8]?

  package init(lower: [UInt8], upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  /// Whether only `lower` itself is in it.
  var isPoint: Bool {
    guard let upper else { return false }
    return upper.count == lower.count + 1 && upper.last == 0 && upper.starts(with: lower)
  }
}

/// Keys, one after the other in one array.
package struct KeyBatch: Sendable {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []

  package init() {}

  package mutating func append(_ key: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: key)
    ends.append(bytes.count)
  }

  func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for end in ends {
        body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        start = end
      }
    }
  }
}

/// Makes the keys that records have in one index. All listeners of the index share it.
///
/// The hub knows bytes only: whoever files listeners by an index gives it one of these. The thread
/// that publishes a commit makes keys, and holds no mutex of the hub then.
package protocol RouteKeys: AnyObject, Sendable {
  /// What describes the index, such as a catalog. Two of the same owner and tree are the same.
  var owner: AnyObject { get }
  /// The tree of the index.
  var tree: UInt32 { get }

  /// Tells of each commit while it is in use, before `keys` is called for it: what describes the
  /// index may have changed.
  ///
  /// - Parameter commit: nil if anything may have changed.
  func note(_ commit: CommittedChanges?)

  /// The keys of records before and after a commit; nil if they are not known.
  ///
  /// - Parameter changes: those of the records of one tree, by a commit that is readable already.
  func keys(of changes: [StoredChange]) -> KeyBatch?
}

/// Which `RouteKeys` are the same. The owner lives as long as they do.
struct RouteKeysID: Hashable {
  let owner: ObjectIdentifier
  let tree: UInt32
}

extension RouteKeys {
  var id: RouteKeysID { RouteKeysID(owner: ObjectIdentifier(owner), tree: tree) }
}

/// One way in which records can concern a listener: before or after a change, they have an id or a
/// key in these ranges.
package struct ListenerRoute: Sendable {
  /// Makes the keys; nil if the ranges are of ids.
  let keys: (any RouteKeys)?
  let ranges: [ByteRange]

  package init(keys: (any RouteKeys)?, ranges: [ByteRange]) {
    self.keys = keys
    self.ranges = ranges
  }

  fileprivate func isSame(as other: ListenerRoute) -> Bool {
    keys?.id == other.keys?.id && ranges == other.ranges
  }
}

/// By which changes of its trees a listener is woken.
package final class ListenerRoutes: Sendable {
  /// By the tree of the records: a change concerns the listener only if one of them leads to it.
  let byTree: [UInt32: [ListenerRoute]]
  /// The trees of the same collection whose changes count, by the same trees.
  let trees: [UInt32: TreeSet]
  /// The trees of which each change counts.
  let unrouted: TreeSet

  package init(
    byTree: [UInt32: [ListenerRoute]], trees: [UInt32: TreeSet], unrouted: TreeSet
  ) {
    self.byTree = byTree
    self.trees = trees
    self.unrouted = unrouted
  }

  package func isSame(as other: ListenerRoutes) -> Bool {
    if self === other { return true }
    guard unrouted == other.unrouted, trees == other.trees, byTree.count == other.byTree.count
    else { return false }
    return byTree.allSatisfy { tree, routes in
      guard let others = other.byTree[tree], others.count == routes.count else { return false }
      return zip(routes, others).allSatisfy { $0.isSame(as: $1) }
    }
  }
}
