// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Seeds",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "larch", path: "../..")],
  targets: [
    .executableTarget(
      name: "Seeds", dependencies: [.product(name: "Larch", package: "larch")])
  ]
)
