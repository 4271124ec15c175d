// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Larch",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Larch", targets: ["Larch"]),
    .library(name: "LarchTestSupport", targets: ["LarchTestSupport"]),
    .executable(name: "larch", targets: ["LarchTool"]),
  ],
  targets: [
    .systemLibrary(
      name: "CLMDB", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .target(name: "CLarch"),
    .target(name: "Larch", dependencies: ["CLMDB", "CLarch"]),
    .target(name: "LarchTestSupport", dependencies: ["Larch"]),
    // All of the tool but its first line, since tests cannot import an executable.
    .target(name: "LarchToolKit", dependencies: ["Larch"]),
    .executableTarget(name: "LarchTool", dependencies: ["LarchToolKit"]),
    .executableTarget(name: "LarchDemo", dependencies: ["Larch", "LarchTestSupport"]),
    .executableTarget(
      name: "LarchChild",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "CLMDB"],
      path: "Tests/LarchChild"),
    // What a test and the program that it kills must both know.
    .target(
      name: "LarchCrashSupport", dependencies: ["Larch", "LarchTestSupport"],
      path: "Tests/LarchCrashSupport"),
    // Loaded into that program by the loader, never linked: it takes the place of open and write.
    .target(name: "LarchRecorder", path: "Tests/LarchRecorder"),
    .testTarget(
      name: "LarchPowerTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchChild"]),
    .testTarget(
      name: "LarchCrashTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchChild"]),
    .testTarget(
      name: "LarchFaultTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchChild"]),
    .testTarget(
      name: "LarchProcessTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchChild"]),
    .testTarget(name: "LarchActiveRecordTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(
      name: "LarchEvolutionTests", dependencies: ["Larch", "LarchTestSupport"],
      exclude: ["Golden"]),
    .testTarget(name: "LarchExecutionTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(
      name: "LarchImportTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchChild"]),
    .testTarget(name: "LarchKeyTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchCodingTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(
      name: "LarchPageTests", dependencies: ["Larch", "LarchTestSupport", "LarchToolKit"]),
    .testTarget(name: "LarchPlanningTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchLogTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchMemberwiseTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchMigrationTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(
      name: "LarchOracleTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchChild"],
      exclude: ["Golden"]),
    .testTarget(name: "LarchProductTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchQueryTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchHookTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchReaderTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchRuntimeTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchRelationTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(
      name: "LarchSpaceTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchChild"]),
    .testTarget(
      name: "LarchDocumentationTests", dependencies: ["Larch", "LarchTestSupport"],
      exclude: ["Snapshots"]),
    .testTarget(
      name: "LarchStoreTests", dependencies: ["Larch", "LarchTestSupport"], exclude: ["Golden"]),
    .testTarget(
      name: "LarchStressTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchChild"]),
    .testTarget(name: "LarchValidationTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(name: "LarchWriterTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(
      name: "LarchTransferTests", dependencies: ["Larch", "LarchTestSupport"], exclude: ["Golden"]),
    .testTarget(
      name: "LarchToolTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchToolKit", "LarchTool"]),
    .testTarget(
      name: "LarchTypelessTests",
      dependencies: ["Larch", "LarchTestSupport", "LarchCrashSupport", "LarchToolKit", "LarchTool"]),
    .testTarget(name: "LarchTrackedTests", dependencies: ["Larch", "LarchTestSupport"]),
    .testTarget(
      name: "LarchTests", dependencies: ["Larch", "LarchTestSupport", "LarchChild", "CLMDB"]),
  ],
  swiftLanguageModes: [.v6]
)

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
for target in package.targets where target.type != .system && !cTargets.contains(target.name) {
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
  for target in shipped where target.name == "Larch" {
    target.swiftSettings?.append(.unsafeFlags(["-O"], .when(configuration: .debug)))
  }
}
