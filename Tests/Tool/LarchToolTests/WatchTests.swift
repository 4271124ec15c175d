import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchToolKit

@Suite("The tool shows the commits of other programs")
struct WatchTests {
  /// `watch` with JSON on a store, beside a test that commits. It ends after twenty lines.
  private final class Watching {
    let fixture: Fixture
    let store: Store
    let process: Process
    private let output: String
    private var number = 900

    init(_ options: [String] = [], every interval: String = "0.002") throws {
      fixture = try Fixture()
      store = try Fixture.open(fixture.path)
      output = fixture.directory.path + "/output"
      process = try Program.start(
        ["watch", fixture.path, "--count", "20", "--every", interval, "--json"] + options,
        output: output, errors: fixture.directory.path + "/errors")
    }

    deinit { store.close() }

    /// What was printed, without a line that is only half there.
    var lines: [[String: Any]] {
      get throws {
        let text = try String(contentsOfFile: output, encoding: .utf8)
        return try text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map {
          try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
      }
    }

    func addTower() throws {
      number += 1
      try store.write { tx in
        var tower = Tower.sample(number)
        try tx.save(&tower)
      }
    }

    /// Whether the last commit was told.
    private var isUpToDate: Bool {
      get throws {
        let newest = Int(try store.environment.info().lastTransactionID)
        return try lines.last?["transaction"] as? Int == newest
      }
    }

    /// Commits until the first lines are there; returns their number. Before the first look of the
    /// command, a commit is never told, and nobody knows how long it takes until then.
    func begin() throws -> Int {
      var pause: UInt32 = 10_000
      repeat {
        try addTower()
        usleep(pause)
        pause = min(pause * 2, 60_000_000)
      } while try lines.isEmpty && process.isRunning
      try waitUntil("they are told") { try isUpToDate || !process.isRunning }
      return try lines.count
    }

    /// Makes a commit, and returns the line that tells of it.
    func line(of commit: () throws -> Void) throws -> [String: Any] {
      try commit()
      try waitUntil("a commit is told") { try isUpToDate || !process.isRunning }
      return try #require(try lines.last)
    }

    /// Commits until the command ends, and expects that it ends after the given number of lines.
    func expectEnd() throws {
      for _ in try lines.count..<20 { _ = try line { try addTower() } }
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      #expect(try lines.count == 20)
    }
  }

  @Test("watch prints each commit, and ends after the given number")
  func watch() throws {
    let watching = try Watching()
    let store = watching.store
    let count = try watching.begin()
    let removed = try watching.line {
      try store.write { tx in _ = try tx.delete(Owner.self, "bo") }
    }
    let changed = try watching.line {
      try store.write { tx in
        var tower = try #require(try tx.first(Tower.all))
        tower.floors += 1
        try tx.update(tower)
      }
    }
    let told = try watching.lines
    #expect(told.count == count + 2)
    func first(_ line: [String: Any]) -> [String: Any] {
      (line["changes"] as? [[String: Any]])?.first ?? [:]
    }
    for line in told.prefix(count) {
      #expect(first(line)["collection"] as? String == "Tower")
      #expect((first(line)["difference"] as? Int ?? 0) > 0)
    }
    #expect(first(removed)["collection"] as? String == "Owner")
    #expect(first(removed)["difference"] as? Int == -1)
    #expect(first(changed)["collection"] as? String == "Tower")
    #expect(first(changed)["difference"] as? Int == 0)
    try watching.expectEnd()
  }

  /// After a few commits the records may have their old root page again, if nothing keeps it.
  @Test("watch tells what several commits together have changed")
  func burst() throws {
    let watching = try Watching(every: "0.1")
    _ = try watching.begin()
    for count in try watching.lines.count..<20 {
      _ = try watching.line {
        for _ in 0...count {
          try watching.store.write { tx in
            var tower = try #require(try tx.first(Tower.all))
            tower.floors += 1
            try tx.update(tower)
          }
        }
      }
    }
    for line in try watching.lines {
      let changes = try #require(line["changes"] as? [[String: Any]])
      #expect(changes.map { $0["collection"] as? String } == ["Tower"])
    }
    watching.process.waitUntilExit()
  }

  @Test("watch shows which records another program has changed")
  func watchedRecords() throws {
    let watching = try Watching(["--records"])
    let store = watching.store
    _ = try watching.begin()
    func changed(_ line: [String: Any]) throws -> [[String: Any]] {
      let changes = try #require(line["changes"] as? [[String: Any]])
      let owner = changes.first { $0["collection"] as? String == "Owner" }
      let change = try #require(owner ?? changes.first)
      return try #require(change["changed"] as? [[String: Any]])
    }
    func record(_ changed: [[String: Any]], _ side: String) -> [String: Any]? {
      changed.first?[side] as? [String: Any]
    }
    let added = try changed(try #require(try watching.lines.first))
    #expect(record(added, "before") == nil && record(added, "after") != nil)
    var tower = try #require(try store.first(Tower.all.sorted(by: \.id, .descending)))
    tower.floors += 1
    let updated = try changed(try watching.line { try store.write { try $0.update(tower) } })
    #expect(updated.count == 1 && updated.first?["id"] as? String == "\(tower.id)")
    #expect(record(updated, "before")?["floors"] as? Int == Int(tower.floors) - 1)
    #expect(record(updated, "after")?["floors"] as? Int == Int(tower.floors))
    let gone = try changed(
      try watching.line { try store.write { _ = try $0.delete(Owner.self, "bo") } })
    #expect(gone.count == 1 && gone.first?["id"] as? String == "bo")
    #expect(record(gone, "before") != nil && record(gone, "after") == nil)
    let last = try changed(try watching.line { try store.write { _ = try $0.delete(tower) } })
    #expect(last.count == 1 && record(last, "before")?["floors"] as? Int == Int(tower.floors))
    try watching.expectEnd()
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
