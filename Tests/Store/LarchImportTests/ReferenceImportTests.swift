import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private struct Member: Record {
  var id = RecordID<Member>()
  var name: String
  var bossID: RecordID<Member>?
  var rank: Int

  static let boss = BelongsTo<Member, Member>(\.bossID)
  static let schema = Schema<Member> {
    Unique(\.name)
    boss
  }
}

@Suite("Imported records may refer to others of the same text")
struct ReferenceImportTests {
  private func line(_ id: Int, parent: Int?, tree: Int? = nil) -> String {
    var fields = ["\"id\":\(id)"]
    if let parent { fields.append("\"parentID\":\(parent)") }
    if let tree { fields.append("\"treeID\":\(tree)") }
    return "{" + fields.joined(separator: ",") + "}\n"
  }

  @Test("References to later elements, and cycles across batches")
  func forward() throws {
    let chain = (0..<100).map { line($0, parent: $0 == 99 ? 0 : $0 + 1) }.joined()
    for policy in [ImportErrorPolicy.skip, .stop] {
      try Store.scratch(Branch.self, Tree.self) { store throws in
        let report = try store.importJSON(
          Branch.self, from: .text(chain), onError: policy, batchSize: 7)
        #expect(report.inserted == 100 && report.skipped == 0)
        #expect(try store.count(Branch.all) == 100)
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("A dangling reference is reported with its line, and everything that refers to it")
  func dangling() throws {
    let text =
      line(1, parent: nil) + line(2, parent: 77) + line(3, parent: 2)
      + line(4, parent: 1, tree: 9) + line(5, parent: 1)
    try Store.scratch(Branch.self, Tree.self) { store throws in
      let report = try store.importJSON(
        Branch.self, from: .text(text), onError: .skip, batchSize: 2)
      #expect(report.failures.map(\.index) == [1, 2, 3])
      #expect(report.failures.map(\.keyword) == Array(repeating: "dangling_reference", count: 3))
      #expect(report.failures.map(\.line) == [2, 3, 4])
      #expect(try store.everything(Branch.self).map(\.id) == [1, 5])
    }
    try Store.scratch(Branch.self, Tree.self) { store throws in
      let error = caught { try store.importJSON(Branch.self, from: .text(text)) }
      #expect((error?.underlying as? ImportFailure)?.index == 1)
      #expect(try store.count(Branch.all) == 0)
      // In a transaction the missing one may still come.
      try store.write { tx throws in
        let report = try tx.importJSON(Branch.self, from: .text(line(3, parent: 2)), onError: .skip)
        #expect(report.inserted == 1)
        var missing = Branch(id: 2)
        try tx.insert(&missing)
      }
    }
  }

  @Test("Long chains with a dangling end, in both directions")
  func longChains() throws {
    for isReversed in [false, true] {
      var lines = (0..<200).map { line($0, parent: $0 + 1) }
      lines += (1000..<1200).map { line($0, parent: $0 == 1199 ? nil : $0 + 1) }
      if isReversed { lines.reverse() }
      try Store.scratch(Branch.self, Tree.self) { store throws in
        let report = try store.importJSON(
          Branch.self, from: .text(lines.joined()), onError: .skip, batchSize: 50)
        #expect(report.inserted == 200 && report.skipped == 200)
        #expect(try store.everything(Branch.self).map(\.id) == Array(1000..<1200))
      }
    }
  }

  @Test(
    "Of elements with one id the last counts, also where an earlier one waited",
    arguments: [1, 2, 3, 100])
  func sameID(batchSize: Int) throws {
    let text =
      line(1, parent: 5) + line(2, parent: nil) + line(1, parent: nil) + line(5, parent: nil)
    try Store.scratch(Branch.self, Tree.self) { store throws in
      let report = try store.importJSON(
        Branch.self, from: .text(text), onError: .skip, batchSize: batchSize)
      #expect(report.skipped == 0)
      #expect(try store.find(Branch.self, 1)?.parentID == .some(nil))
    }
  }

  @Test("An element waits for a value that a waiting one gives up", arguments: [1, 2, 100])
  func handedOver(batchSize: Int) throws {
    try Store.scratch(Member.self) { store throws in
      try store.insertAll([Member(id: 1, name: "x", rank: 0)])
      let text = """
        {"id": 1, "name": "x", "bossID": 50, "rank": 1}
        {"id": 1, "name": "y", "rank": 2}
        {"id": 9, "name": "x", "rank": 3}
        {"id": 9, "name": "z", "rank": 4}
        {"id": 50, "name": "c", "rank": 5}
        """
      let report = try store.importJSON(
        Member.self, from: .text(text), onError: .skip, batchSize: batchSize)
      #expect(report.skipped == 0)
      let names = try store.everything(Member.self).map(\.name)
      #expect(names == ["y", "z", "c"])
    }
  }

  @Test("Many elements of one id that dangle, before a good one that others refer to")
  func longGroups() throws {
    var lines = (0..<40).map { line(2, parent: 1000 + $0) }
    lines.append(line(2, parent: nil))
    lines.append(line(3, parent: 2))
    lines += (100..<140).map { line($0, parent: $0 + 1) }
    try Store.scratch(Branch.self, Tree.self) { store throws in
      let report = try store.importJSON(
        Branch.self, from: .text(lines.joined()), onError: .skip, batchSize: 7)
      #expect(try store.everything(Branch.self).map(\.id) == [2, 3])
      #expect(report.skipped == 80)
    }
  }

  @Test("Of linked elements with one unique value the last counts too")
  func sameMatch() throws {
    let text = """
      {"name": "a", "bossID": 50, "rank": 1}
      {"name": "b", "rank": 2}
      {"name": "a", "rank": 3}
      {"id": 50, "name": "c", "rank": 4}
      """
    let maps: [ImportMap<Member>?] = [
      nil, ImportMap { WillImport { _ in } }, ImportMap { DidImport { _, _, _ in } },
    ]
    for map in maps {
      for existing in [ImportExisting.replace, .merge] {
        try Store.scratch(Member.self) { store throws in
          _ = try store.importJSON(
            Member.self, from: .text(text), map: map, matching: \.name, existing: existing,
            onError: .skip, batchSize: 1)
          #expect(try store.fetch(Member.where { $0.name == "a" }).map(\.rank) == [3])
          #expect(try store.count(Member.all) == 3)
        }
      }
    }
  }

  @Test("Random references and ids that come again: the last element whose chain is valid counts")
  func randomTwice() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let ids = Int.random(in: 1...40, using: &generator)
      var elements: [(id: Int, parent: Int?)] = []
      for _ in 0..<Int.random(in: 1...60, using: &generator) {
        let choice = Int.random(in: 0..<10, using: &generator)
        let parent: Int? =
          choice < 2 ? nil : choice == 2 ? 1000 : Int.random(in: 0..<ids, using: &generator)
        elements.append((Int.random(in: 0..<ids, using: &generator), parent))
      }
      var good = elements
      while true {
        let known = Set(good.map(\.id))
        let next = good.filter { $0.parent.map(known.contains) ?? true }
        if next.count == good.count { break }
        good = next
      }
      let wanted = Dictionary(good.map { ($0.id, $0.parent) }) { $1 }
      let text = elements.map { line($0.id, parent: $0.parent) }.joined()
      try Store.scratch(Branch.self, Tree.self) { store throws in
        _ = try store.importJSON(
          Branch.self, from: .text(text), onError: .skip,
          batchSize: Int.random(in: 1...20, using: &generator))
        let found = try store.everything(Branch.self).map { ($0.id, $0.parentID) }
        #expect(
          Dictionary(uniqueKeysWithValues: found) == wanted, "seed \(seed), \(elements)")
      }
    }
  }

  @Test("Random references: an element is imported if its whole chain is valid")
  func random() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<40 {
      let count = Int.random(in: 1...60, using: &generator)
      var parents: [Int: Int?] = [:]
      let ids = Array(0..<count).shuffled(using: &generator)
      for id in ids {
        let choice = Int.random(in: 0..<10, using: &generator)
        parents[id] =
          choice < 2
          ? .some(nil) : choice == 2 ? 1000 : Int.random(in: 0..<count, using: &generator)
      }
      var good = Set(ids)
      while let bad = good.first(where: { id in
        guard let parent = parents[id] ?? nil else { return false }
        return !good.contains(parent)
      }) { good.remove(bad) }
      let text = ids.map { line($0, parent: parents[$0] ?? nil) }.joined()
      try Store.scratch(Branch.self, Tree.self) { store throws in
        let report = try store.importJSON(
          Branch.self, from: .text(text), onError: .skip,
          batchSize: Int.random(in: 1...20, using: &generator))
        #expect(Set(try store.everything(Branch.self).map(\.id)) == good, "seed \(seed)")
        #expect(
          report.failures.map { ids[$0.index] } == ids.filter { !good.contains($0) },
          "seed \(seed)")
        #expect(report.inserted == good.count)
      }
    }
  }
}
