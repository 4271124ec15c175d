// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Shared",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "larch", path: "../..")],
  targets: [
    .executableTarget(
      name: "TicketShop",
      dependencies: [
        .product(name: "Larch", package: "larch"),
        .product(name: "LarchPostgres", package: "larch"),
      ])
  ]
)
