@testable import LarchSourceScan

/// A target in a few lines.
func scan(
  _ sources: String..., others: [String] = [], module: String = "App"
) -> CodingScan {
  func files(_ texts: [String], _ name: String) -> [SourceFile] {
    texts.enumerated().map { SourceFile(name: "\(name)\($0).swift", source: Array($1.utf8)) }
  }
  return CodingScan(
    module: module, files: files(sources, "file"), others: files(others, "other"))
}

extension CodingScan {
  /// Why a struct is not listed.
  func reason(_ name: String) -> String? { passed.first { $0.name == name }?.reason }
}

/// A target, the structs of it that are listed, and a part of the reason of one that is not.
struct ScanCase: Sendable, CustomStringConvertible {
  var description: String
  var sources: [String]
  var listed: [String]
  var reason: String?

  init(_ description: String, _ sources: String..., listed: [String] = [], reason: String? = nil) {
    self.description = description
    self.sources = sources
    self.listed = listed
    self.reason = reason
  }

  func scan() -> CodingScan {
    CodingScan(
      module: "App",
      files: sources.enumerated().map {
        SourceFile(name: "file\($0).swift", source: Array($1.utf8))
      })
  }
}
