// swift-tools-version: 6.2
import PackageDescription

// libFuzzer targets. They are a separate package since they need unsafe flags. The library is not a
// dependency: its files are compiled here again (links in Sources/), because the fuzzer is guided
// by the coverage of the tested code, which must be compiled for that.
let upcoming: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
]
let instrumented: [SwiftSetting] =
  upcoming + [.unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"])]

/// The fuzz targets: a folder in Sources/ with a main.swift, and one in Corpus/ with its seeds.
let targets = ["FuzzCatalog", "FuzzKeys", "FuzzRecords"]

let package = Package(
  name: "Fuzzing",
  platforms: [.macOS(.v15)],
  targets: [
    .systemLibrary(
      name: "CLMDB", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .target(
      name: "CLarch", cSettings: [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])]),
    .target(name: "Larch", dependencies: ["CLMDB", "CLarch"], swiftSettings: instrumented),
    .target(name: "FuzzSupport", swiftSettings: upcoming),
  ]
    + targets.map {
      .executableTarget(
        name: $0, dependencies: ["Larch", "FuzzSupport"], swiftSettings: instrumented,
        linkerSettings: [
          .unsafeFlags(["-sanitize=fuzzer,address"]),
          // The default linker, gold, fails on the debug information of the sanitizer.
          .unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux])),
        ])
    },
  swiftLanguageModes: [.v6]
)
