// swift-tools-version: 6.2
import PackageDescription

let larch = Target.Dependency.product(name: "Larch", package: "larch")

let package = Package(
  name: "Memberwise",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "larch", path: "../..")],
  targets: [
    // The types, in a target of their own with a public API.
    .target(
      name: "Library", dependencies: [larch],
      plugins: [.plugin(name: "LarchMemberwise", package: "larch")]),
    // A target in which the plugin finds nothing, since a resource is not compiled.
    .target(
      name: "Nothing", dependencies: [larch], resources: [.copy("Template.swift")],
      plugins: [.plugin(name: "LarchMemberwise", package: "larch")]),
    .executableTarget(
      name: "Memberwise", dependencies: ["Library", "Nothing", larch],
      plugins: [.plugin(name: "LarchMemberwise", package: "larch")]),
  ]
)
