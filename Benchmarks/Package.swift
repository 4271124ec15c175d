// swift-tools-version: 6.2
import Foundation
import PackageDescription

// A package of its own, so that users of Larch never resolve what only a comparison needs.
let package = Package(
  name: "LarchBenchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "larch-bench", targets: ["larch-bench"]),
    .executable(name: "larch-instructions", targets: ["larch-instructions"]),
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
    // What becomes of the figures: tables, charts, comparisons. Needs no store.
    .target(name: "BenchmarkFigures"),
    // Larch with the records of `--shapes`. The second is a link to the first, so that both columns run
    // the same lines: only there every record is MemberwiseCoded.
    .target(
      name: "LarchShapes", dependencies: ["Workload", .product(name: "Larch", package: "Larch")]),
    .target(
      name: "LarchShapesMemberwise",
      dependencies: ["Workload", .product(name: "Larch", package: "Larch")]),
    // And once more with logged commits, for the operations that write.
    .target(
      name: "LarchShapesLogged",
      dependencies: ["Workload", .product(name: "Larch", package: "Larch")]),
    .executableTarget(
      name: "larch-bench",
      dependencies: [
        "BenchmarkFigures", "CBenchmarkSQLite", "CEngines", "LarchShapes",
        "LarchShapesMemberwise", "LarchShapesLogged", "Workload",
        .product(name: "Larch", package: "Larch"),
      ]),
    // Apart from the rest, because CI builds it at every change: it needs neither the peers nor
    // their libraries.
    .executableTarget(
      name: "larch-instructions",
      dependencies: [
        "BenchmarkFigures", "Workload", .product(name: "Larch", package: "Larch"),
      ]),
    .testTarget(name: "WorkloadTests", dependencies: ["Workload"]),
    .testTarget(name: "BenchmarkFiguresTests", dependencies: ["BenchmarkFigures"]),
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
  if target.name == "LarchShapesMemberwise" || target.name == "LarchShapesLogged" {
    target.swiftSettings?.append(.define("MEMBERWISE"))
  }
  if target.name == "LarchShapesLogged" { target.swiftSettings?.append(.define("LOGGED")) }
}

// Peers that are compared where they are installed. Scripts/bench.sh names those that it found;
// without it their headers are looked for where C compilers look.
let optionalPeers = ["rocksdb", "leveldb"]
let found =
  Context.environment["LARCH_BENCH_PEERS"].map { $0.split(separator: ",").map(String.init) }
  ?? optionalPeers.filter { peer in
    ["/usr/include", "/usr/local/include"].contains {
      FileManager.default.fileExists(atPath: "\($0)/\(peer)/c.h")
    }
  }
for target in package.targets where target.name == "CEngines" {
  let peers = optionalPeers.filter(found.contains)
  target.cSettings = peers.map { .define("BENCH_" + $0.uppercased()) }
  target.linkerSettings = peers.map { .linkedLibrary($0) }
}

// GRDB is a peer of the shapes where the environment names a checkout of it.
if let checkout = Context.environment["LARCH_BENCH_GRDB"], !checkout.isEmpty {
  package.dependencies.append(.package(name: "GRDB", path: checkout))
  for target in package.targets where target.name == "larch-bench" {
    target.dependencies.append(.product(name: "GRDB", package: "GRDB"))
    target.swiftSettings?.append(.define("BENCH_GRDB"))
  }
  for target in package.targets where target.name == "CEngines" {
    target.cSettings?.append(.define("BENCH_GRDB"))
  }
}
