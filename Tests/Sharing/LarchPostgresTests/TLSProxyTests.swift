import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

/// What runs the proxy.
private let python: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "")
  .split(separator: ":").map { $0 + "/python3" }
  .first { FileManager.default.isExecutableFile(atPath: $0) }

/// Ends the encryption of clients, as managed servers do it, and sends in records of the largest size that there
/// is: PostgreSQL's own have half of it.
private let proxy = """
  import select, socket, ssl, sys, threading
  directory, port = sys.argv[1], sys.argv[2]
  context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
  context.load_cert_chain(directory + "/server.crt", directory + "/server.key")
  def forward(client):
      client.recv(8)
      client.sendall(b"S")
      client = context.wrap_socket(client, server_side=True)
      server = socket.socket(socket.AF_UNIX)
      server.connect(directory + "/s/.s.PGSQL." + port)
      waiting = b""
      # One thread for both directions: an encrypted connection is not to be used by two.
      try:
          while True:
              pause = 0 if client.pending() else 0.02 if waiting else None
              ready = select.select([client, server], [], [], pause)[0]
              if client in ready or client.pending():
                  # What has come may be a part of a record.
                  client.setblocking(False)
                  try: data = client.recv(65536)
                  except ssl.SSLWantReadError: data = None
                  client.setblocking(True)
                  if data == b"": break
                  if data: server.sendall(data)
              if server in ready:
                  data = server.recv(65536)
                  waiting += data
                  if not data: break
              while len(waiting) >= 16384 or (waiting and not ready):
                  client.sendall(waiting[:16384])
                  waiting = waiting[16384:]
          client.sendall(waiting)
      except OSError: pass
      client.close()
      server.close()
  listener = socket.create_server(("127.0.0.1", 0))
  print(listener.getsockname()[1], flush=True)
  while True:
      threading.Thread(target=forward, args=(listener.accept()[0],), daemon=True).start()
  """

@Suite(
  "Behind a proxy that ends TLS", needsServer,
  .enabled(if: python != nil, "python3 is not installed, so its tests are left out"))
struct TLSProxyTests {
  @Test("What is left of a record is read, though the socket has no more")
  func records() throws {
    let server = try PostgresServer.shared.get()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(python))
    process.arguments = ["-c", proxy, server.directory, server.port]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let port = try #require(Int(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    let url =
      "postgres://larch@db.larch.test:\(port)/postgres?hostaddr=127.0.0.1&sslmode=verify-full"
      + "&sslrootcert=\(server.directory)/root.crt"
    let log = try server.log("none", at: url) { $0.answerTimeout = 20 }
    defer { log.close() }
    // Rows that leave different amounts of the last record behind.
    for size in stride(from: 700, to: 4000, by: 97) {
      let found = try log.call { connection in
        try connection.run(
          "SELECT repeat('x', \(size)) FROM generate_series(1, \(size / 7))"
        ).count
      }
      #expect(found == size / 7)
      let copied = try log.call { connection in
        try connection.beginCopy(
          "COPY (SELECT repeat('x', \(size)) FROM generate_series(1, \(size / 7))) TO STDOUT",
          LibPQ.ResultStatus.copyOut)
        var rows = 0
        while try connection.receiveCopy({ _ in rows += 1 }) {}
        return rows
      }
      #expect(copied == size / 7)
    }
  }
}
