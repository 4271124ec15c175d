internal import Foundation

/// The copy of a shared store that is open in this process, for all `Store`s of its file.
///
/// It has a client of the log for commits, which the thread with the write lock uses, and a thread with
/// another one that applies what others commit.
///
/// Unchecked, since `users` belongs to `SharedCopies`, and the rest has locks of its own.
final class SharedCopy: @unchecked Sendable {
  let environment: LMDBEnvironment
  let server: ServerLog
  let order: CommitOrder
  /// Applies what others commit.
  let follower: Follower
  /// Guarded by `SharedCopies`.
  var users = 1

  /// Seconds that an opening waits for each answer of the server, if the copy is there: it can be read
  /// without.
  static let patience = 5.0

  private init(
    _ environment: LMDBEnvironment, _ server: ServerLog, _ order: CommitOrder,
    _ follower: Follower
  ) {
    self.environment = environment
    self.server = server
    self.order = order
    self.follower = follower
  }

  /// The copy at a path, which is made if there is none.
  static func open(
    _ path: String, _ server: ServerLog, _ schema: StoreSchema, _ options: Store.Options
  ) throws -> SharedCopy {
    let path = try StoreLocation(path).path
    return try SharedCopies.shared.exclusively(path) { known in
      if let known {
        guard known.server.name == server.name else { throw otherLog(path) }
        known.users += 1
        return known
      }
      return try begin(path, server, schema, options)
    }
  }

  private static func begin(
    _ path: String, _ server: ServerLog, _ schema: StoreSchema, _ options: Store.Options
  ) throws -> SharedCopy {
    let log = try server.open()
    do {
      let maker = CopyMaker(path: path, log: log, schema: schema, options: options)
      let (environment, isReachable) = try maker.open()
      do {
        let work = try FollowingWork(environment, server, options, role: .shared)
        let order = try environment.joinOrder {
          CommitOrder(
            log: log, patience: options.commitTimeout.inSeconds,
            claimIDs: { try maker.claimIDs($2, of: $1, in: $0, environment) },
            firstUnclaimedID: { try maker.firstUnclaimedID($1, in: $0, environment) },
            reached: { work.arrived($0) })
        }
        // A copy that is there can be read without the server, and written when it is there again.
        if isReachable {
          _ = try work.settleBeforeStart(within: options.commitTimeout.inSeconds)
        }
        work.start()
        return SharedCopy(environment, server, order, Follower(work))
      } catch {
        try? environment.leaveOrder()
        environment.close()
        throw error
      }
    } catch {
      log.close()
      throw error
    }
  }

  /// Ends the use by one store. The last one ends the thread, and closes the connections.
  func leave() {
    SharedCopies.shared.leave(self) {
      #if LARCH_SHARE_EVERYTHING
        SharedEverything.willClose(environment)
      #endif
      follower.work.close()
      try? environment.leaveOrder()
      order.log.close()
      environment.close()
    }
  }

  /// - Throws: `.busy` if several stores have the copy open.
  func expectOnlyUser() throws {
    guard SharedCopies.shared.users(of: self) > 1 else { return }
    throw LarchError(
      .busy, "Another `Store` of this process has the copy open; close it first."
    ) { $0.path = environment.path }
  }

  private static func otherLog(_ path: String) -> LarchError {
    LarchError(
      .conflictingOptions,
      "The copy is open in this process with another log; use the same one, or another path."
    ) { $0.path = path }
  }
}

/// The copies of shared stores that are open in this process, by path.
private final class SharedCopies: @unchecked Sendable {
  static let shared = SharedCopies()

  private let mutex = SystemMutex()
  private let changed = SystemCondition()
  private var open: [String: SharedCopy] = [:]
  /// Paths whose copy is being opened or closed: that may take long, and others must not wait for it.
  private var busy: Set<String> = []

  /// Runs a body while nobody else opens or closes the copy at a path.
  func exclusively(
    _ path: String, _ body: (SharedCopy?) throws -> SharedCopy
  ) throws -> SharedCopy {
    let known = begin(path)
    do {
      let copy = try body(known)
      end(path) { open[path] = copy }
      return copy
    } catch {
      end(path) {}
      throw error
    }
  }

  func leave(_ copy: SharedCopy, _ close: () -> Void) {
    let path = copy.environment.path
    _ = begin(path)
    copy.users -= 1
    let isLast = copy.users == 0
    if isLast { close() }
    end(path) { if isLast { open[path] = nil } }
  }

  func users(of copy: SharedCopy) -> Int {
    let path = copy.environment.path
    _ = begin(path)
    defer { end(path) {} }
    return copy.users
  }

  private func begin(_ path: String) -> SharedCopy? {
    mutex.lock()
    defer { mutex.unlock() }
    while !busy.insert(path).inserted { changed.wait(mutex) }
    return open[path]
  }

  private func end(_ path: String, _ change: () -> Void) {
    mutex.lock()
    change()
    busy.remove(path)
    changed.broadcast()
    mutex.unlock()
  }
}
