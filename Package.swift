// swift-tools-version: 6.2
//
// An app uses the product Larch, and may use the build plugin LarchMemberwise; its tests may use
// LarchTestSupport. The rest of this list is the tool and the demo, and what tests of killed processes
// need. Below it are the test targets, and then settings. Three environment variables are for work on
// Larch itself: LARCH_TESTS, LARCH_WARNINGS and LARCH_OPTIMIZE; each is explained where it is read.
import PackageDescription

let package = Package(
  name: "Larch",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Larch", targets: ["Larch"]),
    .library(name: "LarchTestSupport", targets: ["LarchTestSupport"]),
    .library(name: "LarchPostgres", targets: ["LarchPostgres"]),
    .executable(name: "larch", targets: ["LarchTool"]),
    .plugin(name: "LarchMemberwise", targets: ["LarchMemberwise"]),
  ],
  targets: [
    // LMDB, which the system has: see README.md for how to install it.
    .systemLibrary(
      name: "CLMDB", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    // Checksums, and what Swift does not say of its threads and tasks.
    .target(name: "CLarch"),
    .target(name: "Larch", dependencies: ["CLMDB", "CLarch"]),
    // What needs no record types: what the tool and dumps do, and no app.
    .target(name: "LarchInspection", dependencies: ["Larch"]),
    // A log of a store on a PostgreSQL server. Its client library is loaded at run time.
    .target(name: "LarchPostgres", dependencies: ["Larch", "LarchInspection"]),
    .target(name: "LarchTestSupport", dependencies: ["Larch", "LarchInspection"]),
    // All of the tool but its first line, since tests cannot import an executable.
    .target(
      name: "LarchToolKit", dependencies: ["Larch", "LarchInspection", "LarchPostgres"]),
    .executableTarget(name: "LarchTool", dependencies: ["LarchToolKit"]),
    // The check of sources that declares structs MemberwiseCoded. Built for who uses the plugin only.
    .target(name: "LarchSourceScan"),
    .executableTarget(name: "LarchMemberwiseTool", dependencies: ["LarchSourceScan"]),
    .plugin(
      name: "LarchMemberwise", capability: .buildTool(), dependencies: ["LarchMemberwiseTool"]),
    .executableTarget(name: "LarchDemo", dependencies: ["Larch", "LarchTestSupport"]),
    .executableTarget(
      name: "LarchChild",
      dependencies: ["Larch", "LarchPostgres", "LarchTestSupport", "LarchCrashSupport", "CLMDB"],
      path: "Tests/Programs/LarchChild"),
    // What a test and the program that it kills must both know.
    .target(
      name: "LarchCrashSupport", dependencies: ["Larch", "LarchTestSupport"],
      path: "Tests/Programs/LarchCrashSupport"),
    // Loaded into that program by the loader, never linked: it takes the place of open and write.
    .target(name: "LarchRecorder", path: "Tests/Programs/LarchRecorder"),
  ],
  swiftLanguageModes: [.v6]
)

// The test targets by folder of `Tests`: parts of the library alone, a store as a program uses it, its
// log and its copies elsewhere, the tool and what it reads files with, and the whole against models, peers of itself
// and failures. Each with what it needs beside the library and its support for tests, and the folder of
// files that are no sources.
let child: [Target.Dependency] = ["LarchCrashSupport", "LarchChild"]
let tool: [Target.Dependency] = [
  "LarchInspection", "LarchCrashSupport", "LarchToolKit", "LarchTool",
]
typealias Tests = (name: String, needs: [Target.Dependency], files: [String])
let tests: [(folder: String, targets: [Tests])] = [
  (
    "Parts",
    [
      ("LarchRuntimeTests", [], []),
      ("LarchLMDBTests", ["LarchChild", "CLMDB"], []),
      ("LarchKeyTests", [], ["Recorded"]),
      ("LarchCodingTests", [], []),
      ("LarchMemberwiseTests", ["LarchSourceScan"], []),
      ("LarchSourceScanTests", ["LarchSourceScan"], []),
      ("LarchQueryTests", [], []),
      ("LarchPlanningTests", [], []),
      ("LarchExecutionTests", [], []),
    ]
  ),
  (
    "Store",
    [
      ("LarchStoreTests", ["LarchInspection"], ["Golden"]),
      ("LarchReaderTests", [], []),
      ("LarchWriterTests", [], []),
      ("LarchValidationTests", [], []),
      ("LarchHookTests", [], []),
      ("LarchRelationTests", ["LarchInspection"], []),
      ("LarchActiveRecordTests", [], []),
      ("LarchTrackedTests", [], []),
      ("LarchImportTests", child, []),
      ("LarchEvolutionTests", [], ["Golden"]),
      ("LarchMigrationTests", [], []),
      ("LarchSpaceTests", child, []),
      ("LarchLogTests", [], []),
      ("LarchLiveTests", child + ["LarchInspection"], []),
    ]
  ),
  (
    "Sharing",
    [
      ("LarchMirrorTests", [], []),
      ("LarchSharedStoreTests", ["LarchInspection", "LarchCrashSupport"], []),
      ("LarchOutboxTests", child + ["LarchInspection", "CLMDB"], []),
      ("LarchFollowerTests", child + ["LarchInspection"], []),
      (
        "LarchPostgresTests",
        child + ["LarchPostgres", "LarchInspection", "LarchTool", "LarchDemo"], []
      ),
    ]
  ),
  (
    "Tool",
    [
      ("LarchTransferTests", ["LarchInspection"], ["Golden"]),
      ("LarchTypelessTests", tool, []),
      ("LarchPageTests", ["LarchToolKit"], []),
      ("LarchToolTests", tool, []),
    ]
  ),
  (
    "Whole",
    [
      ("LarchOracleTests", child, ["Golden"]),
      ("LarchProductTests", [], []),
      ("LarchDocumentationTests", [], ["Snapshots"]),
      ("LarchProcessTests", child, []),
      ("LarchStressTests", child, []),
      ("LarchCrashTests", child + ["LarchInspection"], []),
      ("LarchFaultTests", child, []),
      ("LarchPowerTests", child, []),
      ("LarchCommitLogTests", child + ["LarchInspection"], []),
    ]
  ),
]
for (folder, targets) in tests {
  for test in targets {
    package.targets.append(
      .testTarget(
        name: test.name, dependencies: ["Larch", "LarchTestSupport"] + test.needs,
        path: "Tests/\(folder)/\(test.name)", exclude: test.files))
  }
}

// It has samples that the plugin must find.
for target in package.targets where target.name == "LarchSourceScanTests" {
  target.plugins = [.plugin(name: "LarchMemberwise")]
}

// A change of the library makes every test target compile again, which takes minutes; whoever works on
// one part names the targets that he needs: LARCH_TESTS=LarchStoreTests,LarchKeyTests.
if let wanted = Context.environment["LARCH_TESTS"] {
  let names = wanted.split(separator: ",").map(String.init)
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}

// One list of settings for every Swift target. Without MemberImportVisibility: on Linux it counts
// the members of C structures such as `stat` to whichever module the compiler met them in first.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
]
let cTargets = ["CLarch", "LarchRecorder"]
let otherTypes: [Target.TargetType] = [.system, .plugin]
for target in package.targets
where !otherTypes.contains(target.type) && !cTargets.contains(target.name) {
  target.swiftSettings = settings
}

// The loader of other systems does not work in the way that the recorder needs.
#if os(Linux)
  package.products.append(
    .library(name: "LarchRecorder", type: .dynamic, targets: ["LarchRecorder"]))
#endif

let shipped = package.targets.filter { $0.type == .regular || $0.type == .executable }

// CI refuses warnings in what is shipped. Not for everyone: another compiler knows other warnings.
if Context.environment["LARCH_WARNINGS"] == "error" {
  for target in shipped {
    if cTargets.contains(target.name) {
      target.cSettings = [.treatAllWarnings(as: .error)]
    } else {
      target.swiftSettings = settings + [.treatAllWarnings(as: .error)]
    }
  }
}

// The suite's work is that of the library, which takes three times as long without the optimiser. The
// checks of a debug build stay in, and tests still see what is internal.
if Context.environment["LARCH_OPTIMIZE"] == "1" {
  for target in shipped where ["Larch", "LarchInspection"].contains(target.name) {
    // As one module, which takes two thirds of the processor time of file by file.
    target.swiftSettings?.append(
      .unsafeFlags(
        ["-O", "-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug)))
  }
}
