import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

/// The password of the role that needs one. It has every character that a URL or a list of keywords gives
/// a meaning.
private let password = "sEcReT:/?#[]@%&='\\ +é"

// One after the other, since one ends the connections of the role.
@Suite("Encryption and passwords", .serialized, needsServer)
struct TrustTests {
  /// The server with the role, which is made once.
  private static let server = Result {
    let server = try PostgresServer.shared.get()
    let literal = password.replacing("'", with: "''")
    try server.run(
      """
      SET standard_conforming_strings = on; CREATE ROLE larch_secret LOGIN PASSWORD '\(literal)'
      """)
    try ServerLog.preparePostgres(server.url, for: "larch_secret")
    return server
  }

  private static let escaped = password.addingPercentEncoding(
    withAllowedCharacters: .alphanumerics)!

  /// No text of these may have the password, or a part of it.
  private func check(_ texts: [String]) {
    for text in texts {
      #expect(!text.contains("sEcReT") && !text.contains(Self.escaped), "\(text)")
    }
  }

  private func texts(_ log: PostgresLog, _ error: LarchError?) -> [String] {
    var dumps = ["", ""]
    dump(log, to: &dumps[0])
    if let error { dump(error, to: &dumps[1]) }
    return dumps + [
      log.name, "\(log)", String(reflecting: log), error.map { "\($0)" } ?? "",
      error.map { String(reflecting: $0) } ?? "", error?.localizedDescription ?? "",
    ]
  }

  /// The address through TLS, by the name in the certificate.
  private func tls(
    _ server: PostgresServer, host: String = "db.larch.test", password: String = escaped,
    _ rest: String
  ) -> String {
    "postgres://larch_secret:\(password)@\(host):\(server.port)/postgres?hostaddr=127.0.0.1&\(rest)"
  }

  @Test("A certificate of an unknown authority is refused, and accepted with its authority")
  func certificates() throws {
    let server = try Self.server.get()
    let root = "sslrootcert=\(server.directory)/root.crt"
    let cases: [(String, String?)] = [
      (tls(server, ""), "certificate"),
      (tls(server, root), nil),
      (tls(server, "sslmode=verify-ca&\(root)"), nil),
      // Anybody can have a certificate of an authority, but not for this name.
      (tls(server, host: "other.larch.test", root), "db.larch.test"),
      (tls(server, "sslrootcert=/nowhere/root.crt"), "root certificate"),
      // The caller said so.
      (tls(server, "sslmode=require"), nil),
      (tls(server, "sslmode=disable"), "no pg_hba.conf entry"),
    ]
    for (url, refusal) in cases {
      let log = try server.log(freshName(), at: url)
      defer { log.close() }
      let error = caught { _ = try log.head() }
      #expect((error == nil) == (refusal == nil), "\(url): \(String(describing: error))")
      if let refusal {
        #expect(error?.code == .serverRefused)
        #expect(error?.context.detail?.contains(refusal) == true, "\(String(describing: error))")
      }
      check(texts(log, error))
    }
  }

  @Test("A password works in every place, and is in no text of any error")
  func passwords() throws {
    let server = try Self.server.get()
    let keyword = password.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    let socket = "host=\(server.directory)/s port=\(server.port) dbname=postgres user=larch_secret"
    let right = [
      tls(server, "sslmode=require"),
      server.url(user: "larch_secret", "&password=\(Self.escaped)"),
      "\(socket) password='\(keyword)'",
    ]
    for url in right {
      let log = try server.log(freshName(), at: url)
      defer { log.close() }
      #expect(try log.beginSome())
      try #require(try log.append(entries(2, after: .start)))
      check(texts(log, nil))
      // Errors after the password was sent: a lost connection, a foreign row, a closed log.
      try server.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'larch_secret'")
      check(texts(log, caught { _ = try log.call { try $0.run("SELECT 1 / 0") } }))
      check(
        texts(
          log,
          caught {
            _ = try log.call { try $0.run("SELECT '\(password.replacing("'", with: "''"))'::int") }
          }))
      log.close()
      check(texts(log, caught { _ = try log.head() }))
    }
    let wrong: [(String, LarchError.Code)] = [
      // The password is of another role, database, host, port, and is wrong itself.
      (right[0].replacing("larch_secret:", with: "nobody:"), .serverRefused),
      (right[0].replacing("/postgres?", with: "/nothing?"), .serverRefused),
      (right[0].replacing("hostaddr=127.0.0.1", with: "hostaddr=127.0.0.1&port=1"), .unavailable),
      (right[2].replacing("sEcReT", with: "sEcReTwrong"), .serverRefused),
      ("\(socket)", .serverRefused),
      ("host=/nowhere password='\(keyword)'", .unavailable),
      ("host=no.larch.test password='\(keyword)'", .unavailable),
      (right[1] + "&sslmode=no", .unavailable),
      ("\(socket) password='\(keyword)' target_session_attrs=standby", .unavailable),
    ]
    for (url, code) in wrong {
      let name = freshName()
      let log: PostgresLog
      do { log = try server.log(name, at: url) } catch {
        check(["\(error)", String(reflecting: error)])
        continue
      }
      defer { log.close() }
      let error = caught { _ = try log.head() }
      #expect(error?.code == code, "\(url.prefix(20)): \(String(describing: error))")
      check(texts(log, error))
    }
  }

  @Test("A password of the environment, a pass file and a service file is used, and kept quiet")
  func environment() async throws {
    let server = try Self.server.get()
    let socket = "host=\(server.directory)/s port=\(server.port) dbname=postgres user=larch_secret"
    let files = NSTemporaryDirectory() + freshName("larch-pass-")
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: files) }
    func write(_ name: String, _ text: String) throws {
      #expect(
        FileManager.default.createFile(
          atPath: files + "/" + name, contents: Data(text.utf8),
          attributes: [.posixPermissions: 0o600]))
    }
    let escaped = password.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
    try write("pass", "*:*:*:larch_secret:\(escaped)\n")
    try write("wrong", "*:*:*:larch_secret:sEcReTwrong\n")
    let lines = socket.split(separator: " ").joined(separator: "\n")
    try write("service", "[larch]\n\(lines)\npassword=\(password)\n")
    for (variable, value, url, isRight) in [
      ("PGPASSWORD", password, socket, true), ("PGPASSWORD", "sEcReTwrong", socket, false),
      ("PGPASSFILE", files + "/pass", socket, true),
      ("PGPASSFILE", files + "/wrong", socket, false),
      ("PGSERVICEFILE", files + "/service", "service=larch", true),
      ("PGSERVICEFILE", files + "/service", "service=larch user=nobody", false),
      ("PGSERVICEFILE", files + "/service", "postgres://?service=other", false),
    ] {
      await #expect(processExitsWith: .success, "\(variable) \(url)") {
        [
          variable = variable as String, value = value as String, url = url as String,
          isRight = isRight as Bool, store = freshName() as String
        ] in
        setenv(variable, value, 1)
        var texts: [String] = []
        let error = caught {
          let log = try PostgresLog(url, store: store, PostgresOptions())
          texts.append(log.name)
          _ = try log.head()
        }
        if (error == nil) != isRight { fatalError("\(String(describing: error))") }
        texts.append(error.map { String(reflecting: $0) } ?? "")
        precondition(!texts.contains { $0.contains("sEcReT") }, "\(texts)")
      }
    }
  }
}
