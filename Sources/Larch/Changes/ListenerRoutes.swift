/// Bytes from `lower`, which is included, to `upper`, which is not; nil for no upper bound.
package struct ByteRange: Sendable, Hashable {
  /// Most ranges are points, whose end needs no memory, and most of these are ids of eight bytes, which
  /// need none at all.
  private enum Form: Hashable {
    case from([UInt8])
    case between([UInt8], [UInt8])
    case point([UInt8])
    case number(UInt64)
  }

  private let form: Form

  var lower: [UInt8] {
    switch form {
    case .from(let lower), .between(let lower, _), .point(let lower): lower
    case .number(let number): withUnsafeBytes(of: number) { [UInt8]($0) }
    }
  }

  var upper: [UInt8]? {
    switch form {
    case .from: nil
    case .between(_, let upper): upper
    case .point, .number: lower + [0]
    }
  }

  package init(lower: [UInt8], upper: [UInt8]?) {
    guard let upper else {
      form = .from(lower)
      return
    }
    guard upper.count == lower.count + 1, upper.last == 0, upper.starts(with: lower) else {
      form = .between(lower, upper)
      return
    }
    form =
      lower.count == 8
      ? .number(lower.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }) : .point(lower)
  }

  /// Whether only `lower` itself is in it.
  var isPoint: Bool {
    switch form {
    case .from, .between: false
    case .point, .number: true
    }
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
  /// - Parameters:
  ///   - changes: those of the records of one tree, by a commit that is readable already.
  ///   - written: whether the keys that the commit has written in the index are known, so that only those
  ///     that a record had before and has still are wanted.
  func keys(of changes: RecordChanges, besidesWritten written: Bool) -> KeyBatch?
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
/// key in this range.
package struct ListenerRoute: Sendable {
  /// The trees of the same collection whose changes count.
  let trees: TreeSet
  /// Makes the keys; nil if the range is of ids.
  let keys: (any RouteKeys)?
  let range: ByteRange
  /// The tree of the records. Behind the others, it takes no room of its own in a list.
  let records: UInt32

  package init(records: UInt32, trees: TreeSet, keys: (any RouteKeys)?, range: ByteRange) {
    self.records = records
    self.trees = trees
    self.keys = keys
    self.range = range
  }

  fileprivate func isSame(as other: ListenerRoute) -> Bool {
    records == other.records && trees == other.trees && keys?.id == other.keys?.id
      && range == other.range
  }
}

/// By which changes of its trees a listener is woken.
package final class ListenerRoutes: Sendable {
  /// The trees of which each change counts.
  let unrouted: TreeSet
  /// A change of a collection that is not in `unrouted` concerns the listener only if one of these leads
  /// to it. Those of one collection follow each other.
  let routes: Few<ListenerRoute>

  package init(_ routes: [ListenerRoute], unrouted: TreeSet) {
    self.routes = Few(routes)
    self.unrouted = unrouted
  }

  package func isSame(as other: ListenerRoutes) -> Bool {
    self === other
      || unrouted == other.unrouted && routes.count == other.routes.count
        && zip(routes, other.routes).allSatisfy { $0.isSame(as: $1) }
  }
}
