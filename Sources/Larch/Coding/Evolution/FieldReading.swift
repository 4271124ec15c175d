/// The fields of a record type whose stored form may differ: they may have older names, or nil
/// instead of the present default.
///
/// It is for code that reads stored fields without decoding, so that it gives the same results as
/// decoding.
package final class FieldReading: Sendable {
  private let owner: any (Decodable & SendableMetatype).Type
  private let aliases: FieldAliases
  /// The fields of the record whose default replaces nil.
  private let defaults: Set<String>

  /// Nil if fields are read as they are stored.
  init?(
    _ owner: any (Decodable & SendableMetatype).Type, aliases: FieldAliases, defaults: Set<String>
  ) {
    if aliases.isEmpty, defaults.isEmpty { return nil }
    self.owner = owner
    self.aliases = aliases
    self.defaults = defaults
  }

  /// The path to a field of a record; nil if it is read as it is stored.
  func path(_ names: [String]) -> FieldPath? {
    let older = olderNames(of: names)
    let hasDefault = names.first.map(defaults.contains) ?? false
    guard hasDefault || older.contains(where: { !$0.isEmpty }) else { return nil }
    return FieldPath(names, older: older, isMissingWhenAbsent: hasDefault)
  }

  /// The older names of each field on a path.
  func olderNames(of names: [String]) -> [[String]] {
    var older: [[String]] = []
    var type: (any Decodable.Type)? = owner
    for name in names {
      older.append(type.map { aliases.older(name, of: ObjectIdentifier($0)) } ?? [])
      type = type.flatMap { FieldReading.type(of: name, in: $0) }
    }
    return older
  }

  /// The type of a stored property, by its coding name.
  private static func type(
    of name: String, in owner: any Decodable.Type
  ) -> (any Decodable.Type)? {
    guard !FieldNaming.isLeaf(owner), let keys = TypeProbe.keys(of: owner),
      let property = keys.cases.first(where: { $0.codingName == name })?.propertyName,
      let field = TypeLayout(of: owner)?.field(named: property)
    else { return nil }
    return Reflection.unwrapped(field.type) as? any Decodable.Type
  }

  /// A text that changes with the older names of these fields; nil stands for all fields of all
  /// types, and is also the result if there are none.
  func mark(for paths: [[String]]?) -> String? {
    let names =
      paths?.map { path in path.joined(separator: ".") + olderText(of: path) }
      ?? aliases.byOwner.values.flatMap {
        $0.map { "\($0.key)<\($0.value.joined(separator: "<"))" }
      }
    let marked = names.filter { $0.contains("<") }
    guard !marked.isEmpty else { return nil }
    var checksum = Checksum()
    for name in Set(marked).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      name.utf8CString.withUnsafeBytes { checksum.add($0) }
    }
    return "renamed:" + String(checksum.value, radix: 16)
  }

  private func olderText(of path: [String]) -> String {
    olderNames(of: path).flatMap(\.self).map { "<" + $0 }.joined()
  }
}
