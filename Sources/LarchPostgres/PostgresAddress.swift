internal import Foundation
internal import Larch

/// What a program wrote of its server, with what the environment and the service file add to it.
///
/// A password may be in any of them. It is in `options` and `secrets` only, and neither is ever printed.
struct PostgresAddress: Sendable, CustomReflectable {
  /// A server that may be the one: several are tried in their order.
  struct Place: Hashable, Sendable {
    var host: String?
    var address: String?
    var port: String?

    /// Whether it is a socket in the file system, so that the server is a process of this machine.
    var isSocket: Bool {
      address == nil && (host.map { $0.isEmpty || $0.hasPrefix("/") || $0.hasPrefix("@") } ?? true)
    }

    /// Whether nobody between the program and the server can listen: the name and the number say so.
    var isLocal: Bool {
      [host, address].compactMap { $0 }.allSatisfy { place in
        place.isEmpty || place.hasPrefix("/") || place.hasPrefix("@") || place == "localhost"
          || place == "::1"
          || place.hasPrefix("127.") && place.allSatisfy { $0.isNumber || $0 == "." }
      }
    }
  }

  let places: [Place]
  /// All options of libpq but those of the places.
  let options: [String: String]
  /// What no text may contain.
  let secrets: [String]
  /// Where the server is, without a password.
  let name: String

  /// What all connections to the server have in common.
  struct Identity: Hashable, CustomReflectable {
    fileprivate let places: [Place]
    fileprivate let options: [String: String]

    var customMirror: Mirror { Mirror(self, children: []) }
  }

  var identity: Identity { Identity(places: places, options: options) }

  /// `dump` shows no more.
  var customMirror: Mirror { Mirror(self, children: ["name": name]) }

  /// - Throws: `LarchError` with the codes `.missingLibrary` and `.invalidAddress`.
  init(_ text: String, _ pq: LibPQ) throws(LarchError) {
    try Self.refuseUnclear(text)
    guard let written = pq.options(text.withCString { pq.conninfoParse($0, nil) }) else {
      throw Self.unreadable
    }
    var options = try Self.effective(text, pq)
    options["gssencmode"] = written["gssencmode"] ?? "disable"
    options["service"] = nil
    options["servicefile"] = nil

    let hosts = Self.list(options["host"])
    let addresses = Self.list(options["hostaddr"])
    let ports = Self.list(options["port"])
    let count = max(hosts.count, addresses.count, 1)
    guard [0, 1, count].contains(ports.count), [0, count].contains(hosts.count),
      [0, count].contains(addresses.count),
      ports.allSatisfy({ $0.map { (1...65535).contains(Int($0) ?? 0) } ?? true }),
      hosts.allSatisfy({
        $0.map { !$0.contains("@") || $0.hasPrefix("@") || $0.hasPrefix("/") } ?? true
      })
    else { throw Self.unreadable }
    let places = (0..<count).map { place in
      Place(
        host: hosts.isEmpty ? nil : hosts[place],
        address: addresses.isEmpty ? nil : addresses[place],
        port: ports.isEmpty ? nil : ports[ports.count == 1 ? 0 : place])
    }
    for key in ["host", "hostaddr", "port"] { options[key] = nil }

    let isLocal = places.allSatisfy(\.isLocal)
    let environment = ProcessInfo.processInfo.environment
    // libpq's own default is `prefer`, with which anybody on the way can listen. Who means it says it.
    let isChosen =
      written["sslmode"] != nil || environment["PGSSLMODE"] != nil || options["sslmode"] != "prefer"
    if !isChosen, !isLocal { options["sslmode"] = "verify-full" }
    if options["sslmode"] == "verify-full", options["sslrootcert"] == nil {
      options["sslrootcert"] = Self.authorities(pq)
    }

    let defaults = [
      // A machine that is gone is noticed, instead of waited for for hours.
      "keepalives": "1", "keepalives_idle": "10", "keepalives_interval": "5",
      "keepalives_count": "3", "tcp_user_timeout": "15000",
      "application_name": "larch",
    ]
    options.merge(defaults) { written, _ in written }
    // A standby, or a server that was replaced, takes no entries.
    if options["target_session_attrs"] == "any" { options["target_session_attrs"] = "read-write" }
    options["client_encoding"] = "UTF8"

    self.places = places
    self.options = options
    secrets = ["password", "sslpassword"].compactMap { options[$0] }.flatMap { secret in
      [secret, secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? secret]
    }.filter { !$0.isEmpty }
    name = Self.name(places, options, isLocal: isLocal)
  }

  /// Why a failover may lose acknowledged commits; nil if it may not. Nobody fails over a server of this machine;
  /// a loopback address may be that of a proxy.
  ///
  /// - Parameters:
  ///   - commit: the server's `synchronous_commit`.
  ///   - standbys: its `synchronous_standby_names`.
  func failoverRisk(commit: String, standbys: String) -> String? {
    if places.allSatisfy(\.isSocket) { return nil }
    if standbys.allSatisfy(\.isWhitespace) { return "synchronous_standby_names is empty" }
    if commit == "local" { return "synchronous_commit is local for this user or database" }
    return nil
  }

  /// The parts of a list, of which each may be missing.
  private static func list(_ value: String?) -> [String?] {
    guard let value, !value.isEmpty else { return [] }
    return value.split(separator: ",", omittingEmptySubsequences: false).map { part -> String? in
      part.isEmpty ? nil : String(part)
    }
  }

  /// `postgres://one:5432,two:5432/database`, and the mode of encryption where it is a weaker one.
  private static func name(
    _ places: [Place], _ options: [String: String], isLocal: Bool
  ) -> String {
    let servers = places.map { place in
      (place.host ?? place.address ?? "") + (place.port.map { ":" + $0 } ?? "")
    }
    let database = options["dbname"] ?? options["user"] ?? ""
    let mode = options["sslmode"] ?? ""
    return "postgres://\(servers.joined(separator: ","))/\(database)"
      + (isLocal || mode == "verify-full" ? "" : " (sslmode \(mode))")
  }

  /// What libpq itself would use: the text, the service file and the environment together.
  private static func effective(_ text: String, _ pq: LibPQ) throws(LarchError) -> [String: String]
  {
    // It reads all of them before it sees that this mode does not exist, and then connects nowhere.
    let probe = withParameters([("dbname", text), ("gssencmode", "none of them")]) {
      pq.connectStartParams($0, $1, 1)
    }
    guard let probe else { throw Self.unreadable }
    defer { pq.finish(probe) }
    // The port has a default, so it is missing only where nothing was read.
    guard let options = pq.options(pq.conninfo(probe)), options["port"] != nil else {
      throw Self.unreadable
    }
    return options
  }

  /// Refuses a URL in which it is not clear where a password ends: libpq would take the rest of it for the
  /// name of a host or a database, and tell the network, and the log of the server, of it.
  private static func refuseUnclear(_ text: String) throws(LarchError) {
    // libpq would take nothing for the server of this machine.
    guard text.contains(where: { !$0.isWhitespace }), !text.contains("\0") else { throw unreadable }
    guard let scheme = text.range(of: "://") else { return }
    let rest = text[scheme.upperBound...]
    let path = rest.prefix { $0 != "?" }
    guard path.filter({ $0 == "@" }).count <= 1, !path.drop(while: { $0 != "/" }).contains("@")
    else { throw unreadable }
  }

  /// It quotes nothing, since any part may be a password.
  private static var unreadable: LarchError {
    LarchError(
      .invalidAddress,
      """
      The address of the PostgreSQL server cannot be read. Write postgres://user@host:5432/database or \
      host=… dbname=… user=…, as for psql. In a URL, write each of : / ? # [ ] @ % of a password as % and \
      two digits, such as %40 for @; better, leave the password to a pass file or to PGPASSWORD.
      """)
  }

  /// The certificates of authorities that libpq compares a server's with. Those that a user installed for
  /// libpq come first, then those that the system trusts.
  private static func authorities(_ pq: LibPQ) -> String? {
    let own = NSHomeDirectory() + "/.postgresql/root.crt"
    if FileManager.default.fileExists(atPath: own) { return nil }
    if pq.libVersion() >= 160_000 { return "system" }
    return [
      "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
    ].first { FileManager.default.fileExists(atPath: $0) }
  }
}

/// Calls with the keys and the values of parameters as C takes them.
func withParameters<T>(
  _ parameters: [(String, String)],
  _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> T
) -> T {
  func copies(_ texts: [String]) -> [UnsafePointer<CChar>?] {
    texts.map { UnsafePointer(strdup($0)) } + [nil]
  }
  let keys = copies(parameters.map(\.0))
  let values = copies(parameters.map(\.1))
  defer {
    for text in keys + values { free(UnsafeMutablePointer(mutating: text)) }
  }
  return body(keys, values)
}
