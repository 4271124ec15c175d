extension CodingScan {
  /// The file that the plugin adds to the target.
  package var generatedSource: String {
    var text = """
      // Written by the build plugin LarchMemberwise of the package larch; do not change it.
      // The `Codable` of these structs is the compiler's, so Larch may copy their records directly
      // between memory and bytes.

      """
    if !listed.isEmpty {
      text += "\n\(importOfLarch)\n\n"
      for item in listed { text += declaration(of: item.type) }
    }
    text += section("Codable structs that stay as they are, and why:", passed)
    text += section("Structs that Larch does not know to be Codable:", unknown)
    return text
  }

  /// What a build tells when the file changes; nil if no Codable struct is passed over.
  package var summary: String? {
    guard !passed.isEmpty else { return nil }
    return "\(module): \(listed.count) MemberwiseCoded, \(passed.count) passed over; see"
  }

  private func declaration(of type: SourceType) -> String {
    var lines = type.conditions.map { "#if \($0)" }
    var seen: Set<String> = []
    lines += type.availability.filter { seen.insert($0).inserted }
    lines.append("extension \(type.spelling): MemberwiseCoded {}")
    lines += type.conditions.map { _ in "#endif" }
    return lines.joined(separator: "\n") + "\n"
  }

  private func section(_ title: String, _ items: [Passed]) -> String {
    guard !items.isEmpty else { return "" }
    let lines = items.map { "// \($0.file):\($0.line): \($0.name): \($0.reason)\n" }
    // A name may have a line break only in what was read wrong.
    return "\n// \(title)\n"
      + lines.map { $0.dropLast().split(whereSeparator: \.isNewline).joined(separator: " ") + "\n" }
      .joined()
  }
}
