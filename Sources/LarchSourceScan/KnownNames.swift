/// What the scan knows by name. Whatever is not here is a doubt.
enum KnownNames {
  /// Protocols that have no `init(from:)` and no `encode(to:)` of their own, and what they inherit.
  /// `RawRepresentable` and `OptionSet` are missing, because the standard library codes such types
  /// as their raw value.
  static let protocols: [String: [String]] = [
    "Encodable": [], "Decodable": [], "Codable": ["Encodable", "Decodable"],
    "Equatable": [], "Hashable": ["Equatable"], "Comparable": ["Equatable"],
    "Identifiable": [], "Sendable": ["SendableMetatype"], "SendableMetatype": [],
    "Copyable": [], "Escapable": [], "BitwiseCopyable": [],
    "CustomStringConvertible": [], "CustomDebugStringConvertible": [], "CustomReflectable": [],
    "CaseIterable": [], "CodingKey": ["Sendable"], "Error": ["Sendable"],
    "LocalizedError": ["Error"],
  ]

  /// Those of Larch, known in files that import it.
  static let larchProtocols: [String: [String]] = [
    "Record": ["Codable", "Sendable", "Identifiable", "KeyNaming"], "Timestamped": ["Record"],
    "MemberwiseCoded": ["Codable"], "CustomCoded": ["Codable"], "KeyNaming": [],
  ]

  static let modules: Set<String> = ["Swift", "Foundation", "FoundationEssentials", "_Concurrency"]

  /// Types whose values have no decoder or encoder among them.
  static let plainTypes: Set<String> = [
    "[]", "String", "Substring", "Character", "Int", "Double", "Bool", "Data", "URL", "Date",
    "UUID",
  ]

  /// What synthesised code calls, so that an extension of these can change it.
  static let containers: Set<String> = [
    "KeyedDecodingContainer", "KeyedEncodingContainer", "KeyedDecodingContainerProtocol",
    "KeyedEncodingContainerProtocol", "Decoder", "Encoder",
  ]
  static let containerFunctions: Set<String> = [
    "decode", "decodeIfPresent", "encode", "encodeIfPresent", "container",
  ]

  /// Attributes of members that add none.
  static let attributes: Set<String> = typeAttributes.union([
    "discardableResult", "inlinable", "inline", "MainActor", "Sendable", "objc", "nonobjc",
    "backDeployed", "warn_unqualified_access", "concurrent", "resultBuilder", "propertyWrapper",
    "exclusivity", "SchemaBuilder", "testable", "_exported", "unknown", "escaping", "autoclosure",
    "preconcurrency", "convention", "unchecked", "retroactive",
  ])

  /// Attributes of types that add no members.
  static let typeAttributes: Set<String> = [
    "available", "frozen", "usableFromInline", "dynamicMemberLookup", "dynamicCallable", "main",
  ]

  /// Directives and macros of the library that declare nothing.
  static let directives: Set<String> = [
    "file", "fileID", "filePath", "line", "column", "function", "dsohandle", "selector", "keyPath",
    "available", "unavailable", "warning", "error", "sourceLocation", "isolation", "Predicate",
    "Expression", "externalMacro", "hasSymbol", "colorLiteral", "imageLiteral", "fileLiteral",
  ]

  static let declarations: Set<String> = [
    "struct", "enum", "class", "actor", "protocol", "extension", "typealias", "associatedtype",
    "import", "init", "func", "var", "let", "case", "subscript", "deinit", "operator", "macro",
    "precedencegroup",
  ]

  static let modifiers: Set<String> = [
    "static", "final", "lazy", "weak", "unowned", "mutating", "nonmutating", "override", "required",
    "convenience", "dynamic", "optional", "indirect", "nonisolated", "isolated", "distributed",
    "borrowing", "consuming", "sending", "prefix", "postfix", "infix",
  ]

  static let importKinds: Set<String> = [
    "struct", "enum", "class", "protocol", "typealias", "func", "var", "let",
  ]

  /// `class` in front of these is a modifier.
  static func isAfterClass(_ word: String) -> Bool {
    declarations.contains(word) || modifiers.contains(word) || SourceAccess(modifier: word) != nil
  }
}
