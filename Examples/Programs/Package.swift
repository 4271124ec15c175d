// swift-tools-version: 6.2
import PackageDescription

let larch = Target.Dependency.product(name: "Larch", package: "larch")

let package = Package(
  name: "Programs",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "larch", path: "../..")],
  targets: [
    .executableTarget(name: "IssueTracker", dependencies: [larch]),
    .executableTarget(name: "ImportServer", dependencies: [larch]),
    .executableTarget(name: "TopLevel", dependencies: [larch]),
    .executableTarget(name: "Dashboard", dependencies: [larch]),
    .executableTarget(name: "Editor", dependencies: [larch]),
  ]
)
