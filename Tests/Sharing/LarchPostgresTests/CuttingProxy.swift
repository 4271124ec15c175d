import Foundation

/// Passes connections on to a server's socket, and cuts them after a number of bytes.
///
/// Unchecked, since the lock guards what changes.
final class CuttingProxy: @unchecked Sendable {
  enum Direction: CaseIterable { case toServer, toClient }

  #if os(Linux)
    private static let stream = Int32(SOCK_STREAM.rawValue)
    private static let noSignal = Int32(MSG_NOSIGNAL)
  #else
    private static let stream = SOCK_STREAM
    private static let noSignal: Int32 = 0
  #endif

  let directory: String
  private let listener: Int32
  private let target: String
  private let lock = NSLock()
  /// The bytes that still pass; nil for all.
  private var left: (direction: Direction, bytes: Int)?
  private var passed: [Direction: Int] = [:]
  private var isCut = false
  private var pairs: [(client: Int32, server: Int32)] = []

  /// - Parameter server: the directory of its socket, and `port` is in the socket's name.
  init(server: String, port: String) throws {
    directory = "/tmp/larch-proxy-" + freshName("")
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    // For systems that cannot leave it out of a call.
    signal(SIGPIPE, SIG_IGN)
    target = "\(server)/.s.PGSQL.\(port)"
    listener = socket(AF_UNIX, Self.stream, 0)
    let bound = Self.withAddress("\(directory)/.s.PGSQL.\(port)") { bind(listener, $0, $1) }
    guard bound == 0, listen(listener, 16) == 0 else {
      throw PostgresServer.Failure(text: "the proxy cannot listen: \(errno)")
    }
    Thread { [self] in takeConnections() }.start()
  }

  /// Ends everything.
  func close() {
    Self.cut(lock.withLock { takePairs() })
    shutdown(listener, Int32(SHUT_RDWR))
    Foundation.close(listener)
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// From now on, this many bytes pass in a direction; then all connections are cut, and new ones too.
  func cut(after bytes: Int, _ direction: Direction) {
    lock.withLock {
      left = (direction, bytes)
      passed = [:]
      isCut = false
    }
  }

  /// Everything passes again, over new connections. Returns how many bytes passed since `cut(after:_:)`.
  @discardableResult
  func heal() -> [Direction: Int] {
    lock.withLock {
      left = nil
      isCut = false
      return passed
    }
  }

  private static func cut(_ pairs: [(client: Int32, server: Int32)]) {
    for pair in pairs {
      shutdown(pair.client, Int32(SHUT_RDWR))
      shutdown(pair.server, Int32(SHUT_RDWR))
    }
  }

  /// Lets no connection in any more; called with the lock.
  private func takePairs() -> [(client: Int32, server: Int32)] {
    isCut = true
    defer { pairs = [] }
    return pairs
  }

  private func takeConnections() {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      let server = socket(AF_UNIX, Self.stream, 0)
      let isOpen = lock.withLock { !isCut }
      guard isOpen, Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
        Foundation.close(client)
        Foundation.close(server)
        continue
      }
      lock.withLock { pairs.append((client, server)) }
      let ends = Ends(client: client, server: server)
      Thread { [self] in pass(client, server, .toServer, ends) }.start()
      Thread { [self] in pass(server, client, .toClient, ends) }.start()
    }
  }

  /// Closes both sockets when both directions have ended, so that no number is used again too early.
  private final class Ends: Sendable {
    let client: Int32
    let server: Int32
    init(client: Int32, server: Int32) { (self.client, self.server) = (client, server) }
    deinit {
      Foundation.close(client)
      Foundation.close(server)
    }
  }

  private func pass(_ from: Int32, _ to: Int32, _ direction: Direction, _ ends: Ends) {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = recv(from, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      // Whoever gets the last bytes may heal the proxy at once, so it is cut before they are sent.
      let (allowed, doomed) = lock.withLock { () -> (Int, [(client: Int32, server: Int32)]?) in
        passed[direction, default: 0] += count
        guard let left, left.direction == direction else { return (count, nil) }
        let allowed = min(count, left.bytes)
        self.left = (direction, left.bytes - allowed)
        return (allowed, left.bytes == allowed ? takePairs() : nil)
      }
      var sent = 0
      while sent < allowed {
        let more = buffer.withUnsafeBytes {
          send(to, $0.baseAddress! + sent, allowed - sent, Self.noSignal)
        }
        guard more > 0 else { break }
        sent += more
      }
      if let doomed {
        Self.cut(doomed)
        break
      }
    }
    shutdown(from, Int32(SHUT_RDWR))
    shutdown(to, Int32(SHUT_RDWR))
    withExtendedLifetime(ends) {}
  }

  private static func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) {
      $0.copyBytes(from: Array(path.utf8.prefix(103)))
    }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
