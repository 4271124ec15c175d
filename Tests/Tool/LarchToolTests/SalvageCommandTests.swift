import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchToolKit

@Suite("The tool saves what is left of a damaged store")
struct SalvageCommandTests {
  private let fixture: Fixture
  private var target: String { fixture.directory.path + "/saved.larch" }

  init() throws { fixture = try Fixture(towers: 200) }

  private func salvage(_ options: String...) throws -> Program.Result {
    try Program.run(["salvage", fixture.path, target] + options)
  }

  private func towers(at path: String) throws -> [(id: Tower.ID, name: String)] {
    let store = try Fixture.open(path)
    defer { store.close() }
    return try store.fetch(Tower.all).map { ($0.id, $0.name) }
  }

  @Test("All records of a sound store are copied, and the exit code is 0")
  func sound() throws {
    let before = try fixture.bytes
    let result = try salvage()
    #expect(result.code == 0 && result.errors.isEmpty, "\(result)")
    #expect(result.output.contains("\(target): "))
    #expect(try fixture.bytes == before)
    #expect(try towers(at: target).elementsEqual(towers(at: fixture.path), by: ==))
  }

  @Test("Of a store with a damaged page the other records are copied, and the exit code is 1")
  func damaged() throws {
    let all = try towers(at: fixture.path)
    var bytes = try fixture.bytes
    // Those of the record, and of the indexes that have its name.
    let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
    let name = Data(all[100].name.utf8)
    for page in 2..<bytes.count / pageSize {
      let place = page * pageSize..<(page + 1) * pageSize
      if bytes[place].range(of: name) == nil { continue }
      bytes.replaceSubrange(place, with: repeatElement(0xFF, count: pageSize))
    }
    try bytes.write(to: URL(fileURLWithPath: fixture.path))
    let result = try salvage("--json")
    #expect(result.code == 1 && result.errors.isEmpty, "\(result)")
    let object = try result.object
    #expect(object["isWhole"] as? Bool == false)
    #expect((object["damage"] as? [String])?.isEmpty == false)
    let saved = try towers(at: target)
    #expect(saved.count < all.count && saved.count > 50)
    #expect(saved.allSatisfy { tower in all.contains { $0 == tower } })
    let collections = try #require(object["collections"] as? [[String: Any]])
    let told = collections.first { $0["name"] as? String == "Tower" }
    #expect(told?["records"] as? Int == saved.count)
    #expect(try Program.run(["verify", target]).code == 0)
  }

  @Test("What is no store, and a target that exists, are refused")
  func refused() throws {
    let text = fixture.directory.path + "/text"
    try Data("a line of text\n".utf8).write(to: URL(fileURLWithPath: text))
    let none = try Program.run(["salvage", text, target])
    #expect(none.code == 2 && none.errors.hasPrefix("larch: not_a_store: "), "\(none)")
    #expect(!FileManager.default.fileExists(atPath: target))
    let existing = try Program.run(["salvage", fixture.path, text])
    #expect(existing.code == 2 && existing.errors.hasPrefix("larch: file_exists: "), "\(existing)")
    #expect(FileManager.default.contents(atPath: text) == Data("a line of text\n".utf8))
  }
}
