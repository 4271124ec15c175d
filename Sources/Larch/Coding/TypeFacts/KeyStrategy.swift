/// How the coding keys of a type become the names of its stored fields.
///
/// ```swift
/// struct Person: Record {
///   var id = RecordID<Person>()
///   var firstName: String
///   var homeURL: String?
///
///   static let keyStrategy = KeyStrategy.snakeCase  // first_name, home_url
/// }
/// ```
///
/// Swift code keeps the names of the properties: `$0.firstName`; so do plans and the names of indexes,
/// which come from Swift. Everything that shows or reads stored fields has their names: the `larch`
/// tool, JSON, queries as text, errors about fields, and migrations.
public enum KeyStrategy: Hashable, Sendable {
  /// The keys as they are. This is the default.
  case asWritten
  /// `firstName` is stored as `first_name`, by the rule of `JSONEncoder`'s `convertToSnakeCase`.
  ///
  /// A word begins at a capital after the first letter; of several capitals in a row, only the first
  /// one begins a word, and the last one if a small letter follows it: `homeURL` is `home_url`,
  /// `myURLPath` is `my_url_path`, `userID` is `user_id`, `line2Text` is `line2_text`. Two properties
  /// must not get the same name: opening a store throws `.invalidSchema` then.
  case snakeCase

  /// The stored name for the text of a coding key.
  ///
  /// - Complexity: O(*n*) in the length of the key.
  public func fieldName(for key: String) -> String {
    switch self {
    case .asWritten: key
    case .snakeCase: KeyStrategy.snakeCased(key)
    }
  }

  private static func snakeCased(_ key: String) -> String {
    let letters = Array(key.unicodeScalars)
    guard !letters.isEmpty else { return key }
    var words: [ArraySlice<Unicode.Scalar>] = []
    var start = 0
    var place = 1
    while let capital = letters[place...].firstIndex(where: \.isCapital) {
      words.append(letters[start..<capital])
      start = capital
      guard let small = letters[capital...].firstIndex(where: \.isSmall) else { break }
      // Several capitals are a word, up to the one that begins the next word.
      if small > capital + 1 {
        words.append(letters[capital..<small - 1])
        start = small - 1
      }
      place = small + 1
    }
    words.append(letters[start...])
    return words.map { String(String.UnicodeScalarView($0)).lowercased() }.joined(separator: "_")
  }
}

extension Unicode.Scalar {
  fileprivate var isCapital: Bool {
    switch properties.generalCategory {
    case .uppercaseLetter, .titlecaseLetter: true
    default: false
    }
  }

  fileprivate var isSmall: Bool { properties.generalCategory == .lowercaseLetter }
}

/// A type that says how its fields are named in the file: every ``Record``, and any nested struct that
/// conforms to it.
///
/// A strategy belongs to the type that declares it. A nested struct keeps its own names, unless it has
/// a strategy too:
///
/// ```swift
/// struct Address: Codable, KeyNaming {
///   var zipCode: String
///   static let keyStrategy = KeyStrategy.snakeCase
/// }
/// ```
public protocol KeyNaming {
  /// How the coding keys of the type become the names of its fields; as they are by default.
  ///
  /// If the type has its own `CodingKeys`, the strategy applies to their text. It does not apply to
  /// keys that are no enum, to keys of containers that the type nests itself, and to enums.
  static var keyStrategy: KeyStrategy { get }
}

extension KeyNaming {
  /// The keys as they are.
  public static var keyStrategy: KeyStrategy { .asWritten }
}

extension KeyStrategy {
  /// The strategy of a type.
  ///
  /// The cases of an enum are values, not fields.
  static func of(_ type: any Any.Type) -> KeyStrategy {
    guard let naming = type as? any KeyNaming.Type, naming.keyStrategy != .asWritten,
      Reflection.Kind(of: type) != .enumeration
    else { return .asWritten }
    return naming.keyStrategy
  }

  /// The stored name of a key. Larger keys are made at run time: they are those of a dictionary, and
  /// must be read back as they were.
  func fieldName<Key: CodingKey>(of key: Key) -> String {
    let text = key.stringValue
    return self == .asWritten || MemoryLayout<Key>.size > 2 ? text : fieldName(for: text)
  }

  /// The key for a stored name; nil if the type of keys has none.
  func key<Key: CodingKey>(of type: Key.Type, forField name: String) -> Key? {
    guard self != .asWritten, MemoryLayout<Key>.size <= 2 else { return Key(stringValue: name) }
    if let cases = CodingKeyCases(type)?.cases {
      return cases.first { fieldName(for: $0.codingName) == name }
        .flatMap { Key(stringValue: $0.codingName) }
    }
    return [name, KeyStrategy.camelCased(name)].lazy.compactMap { Key(stringValue: $0) }
      .first { fieldName(for: $0.stringValue) == name }
  }

  /// The usual key for a name, where the keys cannot be listed.
  private static func camelCased(_ name: String) -> String {
    let words = name.split(separator: "_")
    return words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined()
  }
}

extension Substring {
  fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}

extension CodingKeyCases {
  /// The same keys with the names of the fields of a type.
  func named(by strategy: KeyStrategy) -> CodingKeyCases {
    strategy == .asWritten ? self : CodingKeyCases(self) { strategy.fieldName(for: $0) }
  }
}
