// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Hello",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "larch", path: "../..")],
  targets: [
    .executableTarget(name: "Hello", dependencies: [.product(name: "Larch", package: "larch")])
  ]
)
