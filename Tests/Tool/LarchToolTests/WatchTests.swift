import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchToolKit

@Suite("The tool shows the commits of other programs")
struct WatchTests {
  @Test("watch prints each commit, and ends after the given number")
  func watch() throws {
    let fixture = try Fixture()
    let store = try Fixture.open(fixture.path)
    defer { store.close() }
    let output = fixture.directory.path + "/output"
    let process = try Program.start(
      ["watch", fixture.path, "--count", "3", "--every", "0.002", "--json"], output: output,
      errors: fixture.directory.path + "/errors")
    func lines() -> [Substring] {
      ((try? String(contentsOfFile: output, encoding: .utf8)) ?? "").split(separator: "\n")
    }
    // After its start it reads; each commit waits until the previous one was reported.
    try waitUntil("watch reads") {
      try store.statistics(exact: false).readerSlots > 1 || !process.isRunning
    }
    var attempt = 0
    let work: [(String, (WriteTransaction) throws -> Void)] = [
      (
        "Tower",
        { tx in
          var tower = Tower.sample(900 + attempt); try tx.save(&tower)
        }
      ),
      ("Owner", { tx in _ = try tx.delete(Owner.self, "bo") }),
      (
        "Tower",
        { tx in
          var tower = try #require(try tx.first(Tower.all))
          tower.floors += 1
          try tx.update(tower)
        }
      ),
    ]
    for (number, step) in work.enumerated() {
      // The first commit may come before the first check: then it is never reported, but another
      // one is.
      repeat {
        attempt += 1
        try store.write { try step.1($0) }
        if number > 0 { break }
        for _ in 0..<500 where lines().isEmpty && process.isRunning { usleep(20_000) }
      } while lines().isEmpty && process.isRunning
      try waitUntil("commit \(number) is told") { lines().count > number || !process.isRunning }
    }
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let told = try lines().map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(told.count == 3)
    let changes = told.map { ($0["changes"] as? [[String: Any]])?.first ?? [:] }
    #expect(changes.map { $0["collection"] as? String } == ["Tower", "Owner", "Tower"])
    #expect((changes[0]["difference"] as? Int ?? 0) > 0)
    #expect(changes[1]["difference"] as? Int == -1)
    #expect(changes[2]["difference"] as? Int == 0)
  }

  @Test("watch shows which records another program has changed")
  func watchedRecords() throws {
    let fixture = try Fixture()
    let store = try Fixture.open(fixture.path)
    defer { store.close() }
    let output = fixture.directory.path + "/output"
    let process = try Program.start(
      ["watch", fixture.path, "--count", "4", "--every", "0.002", "--json", "--records"],
      output: output, errors: fixture.directory.path + "/errors")
    func lines() -> [Substring] {
      ((try? String(contentsOfFile: output, encoding: .utf8)) ?? "").split(separator: "\n")
    }
    try waitUntil("watch reads") {
      try store.statistics(exact: false).readerSlots > 1 || !process.isRunning
    }
    // Until it has reported one, it may not have begun.
    var number = 900
    repeat {
      number += 1
      try store.write { tx in
        var tower = Tower.sample(number)
        try tx.save(&tower)
      }
      for _ in 0..<100 where lines().isEmpty && process.isRunning { usleep(20_000) }
    } while lines().isEmpty && process.isRunning
    var tower = try #require(try store.first(Tower.all.sorted(by: \.id, .descending)))
    let steps: [() throws -> Void] = [
      {
        tower.floors += 1
        try store.write { try $0.update(tower) }
      },
      { try store.write { _ = try $0.delete(Owner.self, "bo") } },
      { try store.write { tx in _ = try tx.delete(tower) } },
    ]
    for (place, step) in steps.enumerated() {
      try step()
      try waitUntil("a commit is told") { lines().count > place + 1 || !process.isRunning }
    }
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let told = try lines().map {
      let line = try #require(
        try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      let changes = try #require(line["changes"] as? [[String: Any]])
      let owner = changes.first { $0["collection"] as? String == "Owner" }
      let change = try #require(owner ?? changes.first)
      return try #require(change["changed"] as? [[String: Any]])
    }
    #expect(told.count == 4)
    #expect(told.dropFirst().map(\.count) == [1, 1, 1])
    func record(_ line: Int, _ side: String) -> [String: Any]? {
      told[line].first?[side] as? [String: Any]
    }
    #expect(record(0, "before") == nil && record(0, "after") != nil)
    #expect(told[1].first?["id"] as? String == "\(tower.id)")
    #expect(record(1, "before")?["floors"] as? Int == Int(tower.floors) - 1)
    #expect(record(1, "after")?["floors"] as? Int == Int(tower.floors))
    #expect(told[2].first?["id"] as? String == "bo")
    #expect(record(2, "before") != nil && record(2, "after") == nil)
    #expect(record(3, "before")?["floors"] as? Int == Int(tower.floors))
  }

  @Test(
    "watch prints everything before Ctrl-C ends it, and fails only if it expected more",
    arguments: [[], ["--count", "100000"]])
  func interrupted(options: [String]) throws {
    let fixture = try Fixture()
    let output = fixture.directory.path + "/output"
    let process = try Program.start(
      ["watch", fixture.path] + options, output: output,
      errors: fixture.directory.path + "/errors")
    let store = try Fixture.open(fixture.path)
    defer { store.close() }
    var number = 1000
    // Until it has reported one, it may not have begun.
    try waitUntil("a commit is told") {
      try store.write { tx throws in
        number += 1
        var tower = Tower.sample(number)
        try tx.save(&tower)
      }
      usleep(20_000)
      return !((try? String(contentsOfFile: output, encoding: .utf8)) ?? "").isEmpty
    }
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == (options.isEmpty ? 0 : 1))
    let text = try String(contentsOfFile: output, encoding: .utf8)
    #expect(text.hasSuffix("\n") && text.contains("  Tower +"))
  }
}
