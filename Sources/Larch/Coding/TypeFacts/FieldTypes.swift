/// The types whose values a record has under its fields.
enum FieldTypes {
  /// Limits types that contain many others.
  private static let limit = 1_000

  /// The type and those of its nested values that are no standard types, as far as their layouts tell.
  static func all(in root: any Decodable.Type) -> [any Decodable.Type] {
    var found: [any Decodable.Type] = [root]
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(root)]
    var next = 0
    while next < found.count, found.count < limit {
      for field in TypeLayout(of: found[next])?.fields ?? [] {
        guard let type = innermost(field.type), StandardType.of(type) == nil,
          seen.insert(ObjectIdentifier(type)).inserted
        else { continue }
        found.append(type)
      }
      next += 1
    }
    return found
  }

  /// Those of them that say how their fields are named.
  static func naming(in root: any Decodable.Type) -> [any Decodable.Type] {
    all(in: root).filter { $0 is any KeyNaming.Type }
  }

  /// The type of a value without optionals and lists around it.
  private static func innermost(_ type: any Any.Type) -> (any Decodable.Type)? {
    var type = Reflection.unwrapped(type)
    while let list = type as? any MemberwiseCollection.Type {
      type = Reflection.unwrapped(list.elementType)
    }
    return type as? any Decodable.Type
  }
}

/// The names that the fields of types would have under the other strategy, by type and name.
struct OtherFieldNames: Sendable {
  private let names: [ObjectIdentifier: [String: String]]

  init(of root: any Decodable.Type) {
    var names: [ObjectIdentifier: [String: String]] = [:]
    for type in FieldTypes.naming(in: root) {
      let other: KeyStrategy = KeyStrategy.of(type) == .asWritten ? .snakeCase : .asWritten
      for key in TypeProbe.keys(of: type)?.cases ?? [] {
        let name = other.fieldName(for: key.key)
        if name != key.codingName {
          names[ObjectIdentifier(type), default: [:]][key.codingName] = name
        }
      }
    }
    self.names = names
  }

  func other(_ name: String, of owner: ObjectIdentifier?) -> String? {
    owner.flatMap { names[$0]?[name] }
  }
}

extension KeyStrategy {
  /// The types that passed: a type does not change while the process runs.
  private static let checked = Locked<Set<ObjectIdentifier>>([])

  /// Checks that the fields of a type, and of its nested types, have different names.
  ///
  /// - Throws: `.invalidSchema`.
  static func check(_ root: any Decodable.Type, in collection: String) throws {
    let id = ObjectIdentifier(root)
    if checked.withLock({ $0.contains(id) }) { return }
    for type in FieldTypes.naming(in: root) where KeyStrategy.of(type) != .asWritten {
      guard let keys = TypeProbe.keys(of: type) else {
        throw LarchError(
          .invalidSchema,
          "A type with a key strategy must code its fields with one enum of keys; let the compiler write its Codable, or name the fields in its CodingKeys and remove the strategy."
        ) {
          $0.collection = collection
          $0.detail = String(describing: type)
        }
      }
      var seen: [String: String] = [:]
      for key in keys.cases {
        guard let other = seen.updateValue(key.propertyName, forKey: key.codingName) else {
          continue
        }
        throw LarchError(
          .invalidSchema,
          "The key strategy gives two properties the same name; give one of them another coding key."
        ) {
          $0.collection = collection
          $0.field = key.codingName
          $0.detail = "\(type).\(other) and \(type).\(key.propertyName)"
        }
      }
    }
    checked.withLock { _ = $0.insert(id) }
  }
}
