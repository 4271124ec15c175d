import Foundation
import LarchSourceScan
import Testing

@testable import Larch

@Suite("What the check of sources says of the zoo and the herd")
struct ScannedZooTests {
  /// The coding of these members is the compiler's. Their properties have no memberwise form, or are
  /// not all in their CodingKeys, or are of a type that is not listed itself; so they are coded through
  /// Codable, whether they are MemberwiseCoded or not.
  static let compilers: Set<String> = [
    "Excluding", "Lazy", "Stamped", "Weak", "Holder", "Payloads", "Unknowing", "KeyedByEnum",
    "Inside", "Inner",
  ]

  static let scan: CodingScan = {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return CodingScan(
      module: "LarchMemberwiseTests",
      files: names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
        let source = (try? Data(contentsOf: folder.appending(path: name))) ?? Data()
        return SourceFile(name: name, source: [UInt8](source))
      })
  }()

  /// The path of a type as the scan has it, without generic arguments.
  private func path(_ type: any Any.Type) -> String {
    String(reflecting: type).prefix { $0 != "<" }.split(separator: ".").dropFirst()
      .joined(separator: ".")
  }

  @Test(
    "No hand-written coding is listed",
    arguments: Zoo.members + Zoo.unguessable + Zoo.invisible
      + [ZooCage(Zoo.Trapping.self, .both), ZooCage(Zoo.OptedOut.self, .neither)])
  func zoo(cage: ZooCage) {
    let path = path(cage.type)
    let isCompilers = Self.compilers.contains(String(path.dropFirst("Zoo.".count)))
    #expect(Self.scan.listedNames.contains(path) == isCompilers)
    let isReference = cage.type is AnyClass
    if !isCompilers, !isReference, cage.type != Zoo.OptedOut.self {
      #expect(Self.scan.passed.contains { $0.name == path })
    }
  }

  @Test("The types in them with a coding of their own are not listed either")
  func inner() {
    #expect(Self.scan.passed.contains { $0.name == "Zoo.Wrapped.Upper" })
    #expect(!Self.scan.listedNames.contains { $0.hasSuffix("Upper") || $0.hasSuffix("Grade") })
  }

  @Test("All that the compiler codes is listed", arguments: Herd.taken + Herd.left)
  func herd(row: HerdRow) {
    #expect(Self.scan.listedNames.contains(path(row.type)) == !(row.type is AnyClass))
  }

  @Test("Those that are MemberwiseCoded already are not listed again")
  func declared() {
    let names = Self.scan.listedNames + Self.scan.passed.map(\.name)
    #expect(!names.contains { $0.hasPrefix("MemberSample") || $0 == "MemberPerson" })
  }
}
