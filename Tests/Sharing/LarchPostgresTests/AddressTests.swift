import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

/// Whether libpq is there; where PostgreSQL's server is, it is.
let needsLibrary = ConditionTrait.enabled(
  if: (try? LibPQ.shared()) != nil,
  "libpq is not installed, so tests of addresses are left out; see Scripts/setup.sh --postgres")

@Suite("The address of a server", needsLibrary)
struct AddressTests {
  private func address(_ text: String) throws -> PostgresAddress {
    try PostgresAddress(text, try LibPQ.shared())
  }

  @Test(
    "The connection to another machine is checked, unless the address says otherwise",
    arguments: [
      ("postgres://db.example/app", "verify-full"),
      ("postgresql://u@10.0.0.7:6432/app", "verify-full"),
      ("postgres://[2001:db8::1]/app", "verify-full"),
      ("host=db.example dbname=app", "verify-full"),
      ("hostaddr=192.0.2.1 dbname=app", "verify-full"),
      ("postgres://db.example/app?hostaddr=127.0.0.1", "verify-full"),
      ("postgres://127.0.0.1.example/app", "verify-full"),
      ("postgres://localhost/app?hostaddr=192.0.2.1", "verify-full"),
      ("host=/tmp hostaddr=192.0.2.1", "verify-full"),
      // One of several is enough.
      ("postgres://localhost,db.example/app", "verify-full"),
      ("postgres://db.example/app?sslmode=require", "require"),
      ("postgres://db.example/app?sslmode=prefer", "prefer"),
      ("host=db.example sslmode=disable", "disable"),
      ("postgres://localhost/app", "prefer"),
      ("postgres://127.0.0.1:5433/app", "prefer"),
      ("postgres://[::1]/app", "prefer"),
      ("postgres:///app", "prefer"),
      ("postgres:///app?host=/run/postgresql", "prefer"),
      ("host=/run/postgresql dbname=app", "prefer"),
      ("dbname=app", "prefer"),
    ])
  func encryption(text: String, mode: String) throws {
    let address = try address(text)
    #expect(address.options["sslmode"] == mode)
    // What the program wrote to another machine is not kept quiet.
    let isWeak = text.contains("sslmode") && mode != "verify-full"
    #expect(address.name.contains("(sslmode \(mode))") == isWeak)
  }

  @Test(
    "A failover may lose commits of a server that is not reached through a socket alone",
    arguments: [
      ("postgres:///app", false), ("postgres:///app?host=/run/postgresql", false),
      ("postgres:///app?host=/a,/b&port=1,2", false), ("host=@larch dbname=app", false),
      ("postgres:///app?host=/a,db.example", true), ("postgres://db.example/app", true),
      // It may be the address of a proxy.
      ("postgres://localhost/app", true), ("host=/tmp hostaddr=192.0.2.1", true),
    ])
  func failoverRisk(text: String, isRemote: Bool) throws {
    let address = try address(text)
    func has(_ commit: String, _ standbys: String) -> Bool {
      address.failoverRisk(commit: commit, standbys: standbys) != nil
    }
    #expect(has("on", "") == isRemote && has("remote_apply", " ") == isRemote)
    #expect(has("local", "ANY 1 (a, b)") == isRemote)
    #expect(!has("on", "ANY 1 (a, b)") && !has("remote_write", "*"))
  }

  @Test(
    "The name says where the log is",
    arguments: [
      ("postgres://u:secret@db.example/app", "postgres://db.example:5432/app"),
      ("postgres://a:1,b:2/app", "postgres://a:1,b:2/app"),
      ("host=a,b port=7 dbname=app password=secret", "postgres://a:7,b:7/app"),
      ("postgres:///app?host=/tmp/s&port=9", "postgres:///tmp/s:9/app"),
    ])
  func names(text: String, name: String) throws {
    #expect(try address(text).name == name)
    #expect(
      ServerLog.postgres(text, store: "people").name == name + ", store people")
  }

  @Test("Several servers are tried in their order, and one that takes writes is wanted")
  func places() throws {
    let several = try address("postgres://a:1,b:2,c/app?target_session_attrs=any")
    #expect(several.places.map(\.host) == ["a", "b", "c"])
    #expect(several.places.map(\.port) == ["1", "2", nil])
    #expect(several.options["target_session_attrs"] == "read-write")
    #expect(
      try address("postgres://a/app?target_session_attrs=primary").options["target_session_attrs"]
        == "primary")
    #expect(try address("postgres://a/app?keepalives_idle=99").options["keepalives_idle"] == "99")
    #expect(try address("postgres://a/app").options["keepalives_idle"] == "10")
  }

  @Test(
    "What cannot be read is refused, and nothing of it is quoted",
    arguments: [
      "", " ", "secret", "postgres", "postgres:/secret", "mysql://u:secret@h/d",
      "postgres://u:se%cret@h/d",
      "postgres://u:secret", "postgres://u:sec/ret@h/d", "postgres://u:sec@ret@h/d",
      "postgres://u@h/d?passwrod=secret", "passwrod=secret", "host=h password='secret",
      "host=h password=sec ret", "host=secret@h dbname=d", "postgres://h:secret/d",
      "postgres://h,i:1,2,3:secret/d", "host=a,b,c port=1,2 password=secret",
      "postgres://h/d?service=secret", "postgres://u:secret@h/d\0",
      "host=h port=99999 password=secret", "hostaddr=1.2.3.4,5.6.7.8 host=secret",
    ])
  func unreadable(text: String) throws {
    let log = ServerLog.postgres(text, store: "main")
    let error = try #require(caught { _ = try log.open() })
    #expect(error.code == .invalidAddress, "\(error)")
    var texts = [error.description, log.name, String(reflecting: error), "\(log)"]
    dump(error, to: &texts[0])
    dump(log, to: &texts[1])
    for text in texts { #expect(!text.contains("secret") && !text.contains("ret@h")) }
  }

  @Test("Without libpq an error says what to install, or that LARCH_LIBPQ is wrong")
  func library() throws {
    for path in ["/nowhere/libpq.so.5", "/etc/passwd"] {
      let error = caught { _ = try LibPQ(named: path) }
      #expect(error?.code == .missingLibrary)
      #expect(error?.context.path == path)
      #expect(error?.message.contains("LARCH_LIBPQ") == true)
    }
    // Another library than libpq: it has none of the functions.
    #if os(Linux)
      let other = "libm.so.6"
    #else
      let other = "/usr/lib/libSystem.B.dylib"
    #endif
    let error = caught { _ = try LibPQ(named: other) }
    #expect(error?.code == .missingLibrary)
    #expect(error?.context.detail == "PQlibVersion")
  }

  @Test("A wrong LARCH_LIBPQ is told when the log is first used, not when it is named")
  func wrongLibrary() async {
    await #expect(processExitsWith: .success) {
      setenv("LARCH_LIBPQ", "/nowhere/libpq.so", 1)
      let log = ServerLog.postgres("postgres://u:secret@h/d", store: "main")
      precondition(log.name == "PostgreSQL, store main")
      let error = caught { _ = try log.open() }
      precondition(error?.code == .missingLibrary && error?.context.path == "/nowhere/libpq.so")
    }
  }
}
