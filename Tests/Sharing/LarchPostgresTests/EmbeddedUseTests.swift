import Foundation
import Larch
import LarchCrashSupport
import Testing

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
    #expect(needs["LarchPostgres"] == ["Larch", "LarchInspection"])
    #expect(reached.isSuperset(of: ["CLMDB", "CLarch", "LarchInspection"]))
    #expect(!reached.contains("LarchPostgres"))
    // Nor does the manifest link libpq, or ask for its header.
    #expect(!manifest.contains("libpq") && !manifest.contains("linkedLibrary"))
  }

  #if os(Linux)
    @Test("A program that uses stores loads LMDB, and never asks for libpq")
    func loading() throws {
      let scratch = NSTemporaryDirectory() + freshName("larch-loaded-")
      try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: scratch) }
      let program = Process()
      program.executableURL = try Child.builtFile("LarchDemo")
      program.arguments = [scratch + "/demo.larch"]
      program.standardOutput = Pipe()
      var environment = ProcessInfo.processInfo.environment
      // The loader then writes down each library that it searches for.
      environment["LD_DEBUG"] = "libs"
      environment["LD_DEBUG_OUTPUT"] = scratch + "/loaded"
      program.environment = environment
      try program.run()
      // Read, so that the demo does not wait for space in the pipe.
      _ = (program.standardOutput as? Pipe)?.fileHandleForReading.readDataToEndOfFile()
      program.waitUntilExit()
      #expect(program.terminationStatus == 0)
      let loaded = try String(
        contentsOfFile: scratch + "/loaded.\(program.processIdentifier)", encoding: .utf8)
      #expect(loaded.contains("find library=liblmdb"))
      #expect(!loaded.contains("libpq"))
    }
  #endif
}
