// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of Larch never resolve what only a comparison needs.
let package = Package(
  name: "LarchBenchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "larch-bench", targets: ["larch-bench"])
  ],
  dependencies: [
    .package(name: "Larch", path: "..")
  ],
  targets: [
    .systemLibrary(
      name: "CBenchmarkLMDB", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(
      name: "CBenchmarkSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .target(name: "CEngines", dependencies: ["CBenchmarkLMDB", "CBenchmarkSQLite"]),
    .target(name: "Workload"),
    .executableTarget(
      name: "larch-bench",
      dependencies: ["CEngines", "Workload", .product(name: "Larch", package: "Larch")]),
    .testTarget(name: "WorkloadTests", dependencies: ["Workload"]),
  ],
  swiftLanguageModes: [.v6]
)

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
]
for target in package.targets where target.type != .system && target.name != "CEngines" {
  target.swiftSettings = settings
}
