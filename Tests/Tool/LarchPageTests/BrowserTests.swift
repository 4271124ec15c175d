import Foundation
import Testing

@testable import LarchToolKit

/// The page in a real browser without a window: run `make report-check`, or set `LARCH_BROWSER` to
/// the path of Chromium.
@Suite("The page of larch report in a browser", .serialized)
struct BrowserTests {
  private static let browser = ProcessInfo.processInfo.environment["LARCH_BROWSER"]

  /// The page as the browser shows it, and its errors.
  private func look(at file: String, in folder: String) throws -> (page: String, console: [String])
  {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(Self.browser))
    process.arguments = [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--disable-background-networking", "--no-first-run", "--user-data-dir=\(folder)/profile",
      "--enable-logging=stderr", "--dump-dom", "file://" + file,
    ]
    let (output, errors) = (folder + "/output", folder + "/errors")
    for path in [output, errors] {
      #expect(FileManager.default.createFile(atPath: path, contents: nil))
    }
    process.standardOutput = FileHandle(forWritingAtPath: output)
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let console = try String(contentsOfFile: errors, encoding: .utf8).split(separator: "\n")
      .filter { $0.contains("CONSOLE") }.map(String.init)
    return (try String(contentsOfFile: output, encoding: .utf8), console)
  }

  @Test(
    "No errors and no requests; the search works, and hostile texts stay text",
    .enabled(
      if: ProcessInfo.processInfo.environment["LARCH_BROWSER"] != nil,
      "No browser is named: set LARCH_BROWSER to the path of a Chromium, or run make report-check.")
  )
  func page() throws {
    try withFolder { folder throws in
      let store = folder + "/books.larch"
      let file = folder + "/report.html"
      try makeHostileStore(at: store)
      #expect(ToolRun("report", store, "-o", file).code == .well)
      // A script after that of the page uses it like a reader, and writes down the result.
      let probe = """
        <script>
        var seen = { scripts: document.scripts.length, hacked: String(window.hacked),
          images: document.images.length, all: document.getElementById("found").textContent };
        function search(text) {
          var input = document.getElementById("search");
          input.value = text;
          input.dispatchEvent(new Event("input"));
          var rows = Array.from(document.querySelectorAll(".records tbody tr"));
          return { status: document.getElementById("found").textContent,
            shown: rows.filter(function (row) { return row.offsetParent !== null; }).length };
        }
        seen.some = search("Author 7");
        seen.hostile = search("<\\/script>");
        seen.none = search("nothing of this kind");
        seen.back = search("");
        seen.cells = Array.from(document.querySelectorAll(".records td")).map(function (cell) {
          return cell.textContent; });
        seen.requests = performance.getEntriesByType("resource").length;
        seen.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
        document.title = "seen";
        document.body.setAttribute("data-seen", btoa(unescape(encodeURIComponent(JSON.stringify(seen)))));
        </script>
        """
      let page = try String(contentsOfFile: file, encoding: .utf8)
      try page.replacing("</body>", with: probe + "</body>")
        .write(toFile: file, atomically: true, encoding: .utf8)
      let opened = try look(at: file, in: folder)
      #expect(opened.console == [])
      let match = try #require(opened.page.firstMatch(of: #/data-seen="([^"]*)"/#))
      let data = try #require(Data(base64Encoded: String(match.1)))
      let seen = try JSONDecoder().decode(Seen.self, from: data)
      #expect(seen.scripts == 2 && seen.images == 0 && seen.hacked == "undefined")
      #expect(seen.requests == 0)
      #expect(!seen.wide)
      let all = 11 + 11 + 100
      #expect(seen.all == "\(all) records")
      #expect(seen.some == Seen.Search(status: "1 of \(all) records", shown: 1))
      #expect(seen.hostile.shown == 3)
      #expect(seen.none == Seen.Search(status: "0 of \(all) records", shown: 0))
      #expect(seen.back == Seen.Search(status: "\(all) records", shown: all))
      for text in Hostile.texts where !text.unicodeScalars.contains(where: { $0.value > 0x2000 }) {
        #expect(seen.cells.contains(text), "\(text)")
      }
    }
  }

  private struct Seen: Decodable {
    struct Search: Decodable, Equatable {
      var status: String
      var shown: Int
    }
    var scripts: Int
    var images: Int
    var hacked: String
    var all: String
    var some: Search
    var hostile: Search
    var none: Search
    var back: Search
    var cells: [String]
    var requests: Int
    var wide: Bool
  }
}
