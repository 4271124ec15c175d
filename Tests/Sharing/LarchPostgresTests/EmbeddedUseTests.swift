import Foundation
import Larch
import LarchTestSupport
import Testing

struct Embedded: Record {
  var id = RecordID<Embedded>()
  var name: String
}

/// A program that uses no server pays nothing for it.
@Suite("Embedded use")
struct EmbeddedUseTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .appending(path: "../../../..").standardized

  @Test("No target that a program with Larch alone has depends on LarchPostgres")
  func targets() throws {
    let manifest = try String(
      contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
    let declarations = manifest.matches(
      of: #/target\(\s*name: "(?<name>\w+)"(?:, dependencies: \[(?<needs>[^\]]*)\])?/#)
    var needs: [String: [String]] = [:]
    for declaration in declarations {
      needs[String(declaration.name)] = (declaration.needs ?? "").matches(of: #/\w+/#).map {
        String($0.output)
      }
    }
    // What an app links: the product Larch, and in its tests LarchTestSupport.
    var reached: Set<String> = []
    var next = ["Larch", "LarchTestSupport"]
    while let target = next.popLast() {
      if reached.insert(target).inserted { next += needs[target] ?? [] }
    }
    #expect(needs["LarchPostgres"] == ["Larch"])
    #expect(reached.isSuperset(of: ["CLMDB", "CLarch", "LarchInspection"]))
    #expect(!reached.contains("LarchPostgres"))
    // Nor does the manifest link libpq, or ask for its header.
    #expect(!manifest.contains("libpq") && !manifest.contains("linkedLibrary"))
  }

  #if os(Linux)
    @Test("A program that uses a store loads no libpq, even with LarchPostgres linked")
    func loading() async {
      await #expect(processExitsWith: .success) {
        let store = try Store.temporary(for: Embedded.self)
        var ada = Embedded(name: "Ada")
        try store.save(&ada)
        precondition(try! store.fetch(Embedded.all).count == 1)
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        precondition(maps.contains("lmdb") && !maps.contains("libpq"))
      }
    }
  #endif
}
