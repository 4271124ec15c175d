import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchToolKit

@Suite("The page of larch report")
struct ReportTests {
  private func page(_ path: String, _ options: String...) throws -> String {
    try withFolder { folder throws in
      let file = folder + "/report.html"
      let run =
        options.isEmpty
        ? ToolRun("report", path, "-o", file)
        : ToolRun("report", path, "-o", file, options[0], options[1])
      #expect(run.code == .well, "\(run.errors)")
      return try String(contentsOfFile: file, encoding: .utf8)
    }
  }

  @Test("Hostile texts are always escaped, and the page loads nothing")
  func escaping() throws {
    try withFolder { folder throws in
      let path = folder + "/books.larch"
      try makeHostileStore(at: path)
      let page = try page(path)
      for text in Hostile.texts where HTML.escaped(text) != text {
        #expect(!page.contains(text), "\(text)")
        #expect(page.contains(HTML.escaped(text)), "\(text)")
      }
      #expect(page.matches(of: #/<script/#).count == 1)
      #expect(page.matches(of: #/</script>/#).count == 1)
      #expect(page.matches(of: #/(src|href|url)\s*=\s*"(?!#|data:,")/#).isEmpty)
      #expect(!page.contains("http://") && !page.contains("https://"))
      #expect(page.contains("the first 100 of 161 records"))
      #expect(page.contains("default-src 'none'"))
    }
  }

  @Test("It differs only in its date, and --sample sets how much it shows")
  func deterministic() throws {
    try withFolder { folder throws in
      let path = folder + "/books.larch"
      try makeHostileStore(at: path)
      let withoutDate = { (page: String) in page.replacing(#/<time>.*</time>/#, with: "") }
      #expect(withoutDate(try page(path)) == withoutDate(try page(path)))
      let none = try page(path, "--sample", "0")
      #expect(!none.contains("author 3"))
      #expect(none.contains("the first 0 of 161 records"))
      #expect(try page(path, "--sample", "3").matches(of: #/<tr><th scope="row">10\d/#).isEmpty)
    }
  }

  @Test("An empty store and a file that is not a store are distinguished")
  func edges() throws {
    try withFolder { folder throws in
      let path = folder + "/empty.larch"
      try Store(at: path).close()
      #expect(try page(path).contains("The store is empty."))
      for wrong in [folder, folder + "/nowhere.larch", #filePath] {
        let run = ToolRun("report", wrong, "-o", folder + "/x.html")
        #expect(run.code == .failed)
        #expect(run.errors.split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: folder + "/x.html"))
      }
      let run = ToolRun("report", path, "-o", folder + "/nowhere/x.html")
      #expect(run.code == .failed)
      #expect(ToolRun("report", path, "--sample", "-1").code == .failed)
    }
  }

  @Test(
    "Boxes never overlap and stay inside the diagram, for any links",
    arguments: 1...30)
  func layout(count: Int) {
    var generator = SeededGenerator(seed: UInt64(count))
    for round in 0..<20 {
      let links = (0..<Int.random(in: 0...(count * round / 8), using: &generator)).map { _ in
        (
          first: Int.random(in: 0..<count, using: &generator),
          second: Int.random(in: 0..<count, using: &generator)
        )
      }
      let layout = DiagramLayout((0..<count).map { "c\($0)" }, links: links)
      #expect(layout.boxes.count == count)
      #expect(layout.paths.count == links.count)
      for (place, box) in layout.boxes.enumerated() {
        #expect(box.x >= 0 && box.y >= 0)
        #expect(box.x + DiagramLayout.boxWidth <= layout.width)
        #expect(box.y + box.height <= layout.height)
        for other in layout.boxes.dropFirst(place + 1) {
          let isBeside =
            box.x + DiagramLayout.boxWidth <= other.x || other.x + DiagramLayout.boxWidth <= box.x
          #expect(isBeside || box.y + box.height <= other.y || other.y + other.height <= box.y)
        }
      }
      for (path, link) in zip(layout.paths, links) {
        let from = layout.boxes[link.first]
        let to = layout.boxes[link.second]
        #expect([from.x, from.x + DiagramLayout.boxWidth].contains(path.points[0].x))
        #expect(path.points[0].y > from.y && path.points[0].y < from.y + from.height)
        #expect([to.x, to.x + DiagramLayout.boxWidth].contains(path.points.last?.x))
      }
    }
  }
}
