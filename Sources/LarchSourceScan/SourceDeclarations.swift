/// Who sees a declaration, least first.
enum SourceAccess: Int, Comparable {
  case `private`, `internal`, package, `public`

  init?(modifier: String) {
    switch modifier {
    case "private", "fileprivate": self = .private
    case "internal": self = .internal
    case "package": self = .package
    case "public", "open": self = .public
    default: return nil
    }
  }

  static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// A name in an inheritance clause, or the name that a type alias stands for.
struct TypeReference {
  var path: [String]
  /// Why it is more than a name; nil for a plain name.
  var doubt: String?

  var text: String { path.joined(separator: ".") }
}

/// A member that may be what the compiler would make, or what its code calls.
struct CodingMember {
  /// `init(from:)` or `encode(to:)`.
  var name: String
  var line: Int
  var access: SourceAccess
  /// The name of the parameter's type, if it is just a name.
  var parameter: String?
}

/// What the members between two braces say of the type that they belong to.
struct MemberFacts {
  var coding: [CodingMember] = []
  var doubts: [String] = []
  /// Functions of the names that synthesised code calls on containers.
  var containerFunctions: [(text: String, access: SourceAccess)] = []
}

/// A declared type, or something else with a name that a type could have.
struct SourceType {
  enum Kind { case structure, protocolType, alias, other }
  var kind: Kind
  var path: [String]
  /// The path as code must write it, with backticks.
  var spelling: String
  var line: Int
  var access: SourceAccess
  var isUsableFromInline = false
  /// Its own `@available` attributes and those around it.
  var availability: [String] = []
  /// The conditions of `#if` around it.
  var conditions: [String] = []
  /// What it inherits, or what an alias is.
  var references: [TypeReference] = []
  /// Whether an alias is something else than its references, or has parameters.
  var isOpaque = false
  /// Whether it is declared in a function or another block.
  var isLocal = false
  var facts = MemberFacts()
  /// The type that is extended around it.
  var extended: [String]?

  var name: String { path.last ?? "" }
}

struct SourceExtension {
  var path: [String]
  var line: Int
  var references: [TypeReference]
  var isConstrained: Bool
  var isConditional: Bool
  var hasAvailability: Bool
  var facts: MemberFacts
}

struct SourceImport {
  var module: String
  /// nil if none is written.
  var access: SourceAccess?
  var isExported: Bool
}

/// The declarations of one file.
package struct SourceFile {
  package let name: String
  var types: [SourceType] = []
  var extensions: [SourceExtension] = []
  var imports: [SourceImport] = []
  /// Why the file was not read to its end.
  var failure: String?

  /// - Parameters:
  ///   - name: For reports.
  ///   - source: Its bytes, whatever they are.
  package init(name: String, source: [UInt8]) {
    self.name = name
    let parser = source.withUnsafeBufferPointer { bytes in
      // The parser ends before the buffer does.
      var parser = SourceParser(bytes)
      parser.parse()
      return parser.result
    }
    types = parser.types
    extensions = parser.extensions
    imports = parser.imports
    failure = parser.failure.map { "\(name):\($0.line): \($0.text)" }
  }
}
