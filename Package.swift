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
    .executableTarget(name: "LarchTool", dependencies: ["Larch"]),
    .executableTarget(
      name: "LarchChild", dependencies: ["Larch", "LarchTestSupport", "CLMDB"],
      path: "Tests/LarchChild"),
    .testTarget(
      name: "LarchTests", dependencies: ["Larch", "LarchTestSupport", "LarchChild", "CLMDB"]),
  ],
  swiftLanguageModes: [.v6]
)

// One list of settings for every Swift target.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
]
for target in package.targets where target.type != .system && target.name != "CLarch" {
  target.swiftSettings = settings
}
