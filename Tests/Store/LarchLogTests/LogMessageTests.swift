import Foundation
import Testing

@testable import Larch

@Suite("Messages of the log")
struct LogMessageTests {
  @Test("Levels are ordered by importance")
  func levels() {
    #expect(LogMessage.Level.allCases == LogMessage.Level.allCases.sorted())
    #expect(LogMessage.Level.allCases == [.trace, .debug, .notice, .warning, .error])
  }

  @Test("A line has the time, the level, the event, the sentence and the known details")
  func line() {
    var details = LogMessage.Details()
    details.place = CodePlace(file: "App/Import.swift", line: 42)
    details.holder = CodePlace(file: "App/Sync.swift", line: 7)
    details.waited = .microseconds(1234)
    details.ran = .seconds(2)
    details.committed = .nanoseconds(1)
    details.changes = 3
    details.plan = "all records\n  filter age == …"
    let message = LogMessage(.warning, .slowWrite, "A write was slow.", details: details) {
      $0.path = "/data/people.larch"
    }
    #expect(
      message.line(at: Date(timeIntervalSince1970: 1.5)) == """
        1970-01-01T00:00:01.500Z larch warning slow_write: A write was slow. \
        (path: /data/people.larch, at: App/Import.swift:42, held by: App/Sync.swift:7, \
        waited: 1.2 ms, ran: 2000.0 ms, committed in: 0.0 ms, changes: 3) | \
        all records |   filter age == …
        """)
  }

  @Test(
    "The name of a file cannot forge a line, nor move the cursor of a terminal",
    arguments: ["a\nb", "a\rb", "a\u{1B}[2Kb", "a\u{2028}b", "a\u{85}b", "a\u{202E}b", "a\0b"])
  func forgedLines(path: String) {
    let line = LogMessage(.notice, .opened, "The store was opened.") { $0.path = path }.line()
    for scalar in line.unicodeScalars {
      #expect(![.control, .lineSeparator, .format].contains(scalar.properties.generalCategory))
    }
    #expect(line.hasSuffix("b)"))
  }

  @Test("A sink writes one whole line for each message of its level or above")
  func standardError() throws {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "line-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let sink = LogMessage.lines(to: descriptor, .warning)
    for level in LogMessage.Level.allCases {
      sink(LogMessage(level, .opened, "The store was opened.") { $0.detail = "\(level)" })
    }
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 3 && lines[2].isEmpty)
    #expect(lines[0].hasSuffix("larch warning opened: The store was opened. (detail: warning)"))
    #expect(lines[1].hasSuffix("larch error opened: The store was opened. (detail: error)"))
  }

  @Test("A sink with a closed descriptor is harmless")
  func closedDescriptor() {
    LogMessage.lines(to: -1, .debug)(LogMessage(.error, .opened, "The store was opened."))
  }

  @Test("A duration is printed in milliseconds")
  func durations() {
    #expect(Duration.zero.logText == "0.0 ms")
    #expect(Duration.microseconds(99).logText == "0.0 ms")
    #expect(Duration.microseconds(100).logText == "0.1 ms")
    #expect(Duration.seconds(3_600).logText == "3600000.0 ms")
    #expect(Duration.seconds(Int64.max).logText.hasSuffix(" ms"))
  }
}
