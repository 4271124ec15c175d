// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "SnapshotTests",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "larch", path: "../..")],
  targets: [
    .target(name: "People", dependencies: [.product(name: "Larch", package: "larch")]),
    .testTarget(
      name: "PeopleTests",
      dependencies: ["People", .product(name: "LarchTestSupport", package: "larch")],
      exclude: ["Snapshots"]),
    .testTarget(
      name: "PeopleXCTests",
      dependencies: ["People", .product(name: "LarchTestSupport", package: "larch")]),
  ]
)
