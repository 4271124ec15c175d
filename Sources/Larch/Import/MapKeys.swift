/// A step of the paths to the keys of a map: a key of an object, or a place of a list.
final class MapKey {
  private let name: String
  /// The key in UTF-8.
  private let bytes: [UInt8]
  /// The place in a list, if the key is a number.
  let place: Int?
  /// The whole path, as the lines of the map have it.
  let path: String
  /// Where the value of this path is noted; nil for a step on the way.
  var slot: Int?
  private(set) var children: [MapKey] = []
  /// Whether a line of a property hides this key, as the name of the property.
  var isHidden = false
  /// Whether it is the name of a property without a line.
  var isOwn = false

  init(_ name: String, path: String) {
    self.name = name
    bytes = Array(name.utf8)
    place = bytes.allSatisfy(JSONCursor.isDigit) ? Int(name) : nil
    self.path = path
  }

  func child(_ name: String) -> MapKey {
    if let known = children.first(where: { $0.name == name }) { return known }
    let child = MapKey(name, path: path.isEmpty ? name : "\(path).\(name)")
    children.append(child)
    return child
  }

  /// The child with this key. As in Swift, texts with the same characters are equal.
  ///
  /// - Parameter hint: where to look first. Elements usually have their keys in the same order, so this
  ///   is set to the place after the child that was found.
  func find(_ key: UnsafeRawBufferPointer, _ hint: inout Int) -> MapKey? {
    for step in 0..<children.count {
      var place = hint + step
      if place >= children.count { place -= children.count }
      guard place < children.count else { continue }
      let child = children[place]
      if child.bytes.count == key.count, child.bytes.withUnsafeBytes({ $0.equals(key) }) {
        hint = place + 1 == children.count ? 0 : place + 1
        return child
      }
    }
    // Few keys have characters that can be written in several ways.
    if key.isASCII { return nil }
    let name = String(decoding: key, as: UTF8.self)
    return children.first { $0.name == name }
  }

  /// Whether this is the name of a property without a line.
  func isOwn(_ name: String) -> Bool {
    children.contains { $0.isOwn && $0.name == name }
  }

  func find(place: Int) -> MapKey? { children.first { $0.place == place } }

  /// The steps of a path as a line has it; nil for a path with an empty step.
  static func steps(of path: String) -> [String]? {
    var steps = [""]
    var isEscaped = false
    for character in path {
      if isEscaped || character != "." && character != "\\" {
        steps[steps.count - 1].append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else {
        steps.append("")
      }
    }
    return isEscaped || steps.contains("") ? nil : steps
  }
}

/// The kind of JSON value into which another kind is converted.
enum CoercedKind {
  case number, text, bool

  /// The kind of the values of a type; nil for a type that nothing is converted to.
  init?(_ type: Any.Type) {
    let type = Reflection.unwrapped(type)
    if let id = type as? any RecordIdentifier.Type {
      switch id.idKind {
      case .assigned, .integer, .unsigned: self = .number
      case .string: self = .text
      case .uuid: return nil
      }
    } else if type == Bool.self {
      self = .bool
    } else if type is any StringProtocol.Type {
      self = .text
    } else if type is any Numeric.Type {
      self = .number
    } else if let raw = type as? any RawRepresentable.Type {
      self.init(CoercedKind.rawValue(of: raw))
    } else {
      return nil
    }
  }

  private static func rawValue<Raw: RawRepresentable>(of type: Raw.Type) -> Any.Type {
    Raw.RawValue.self
  }

  /// The JSON of a value as this kind; nil for a value that is of it already, or cannot be converted.
  func convert(_ kind: JSONCursor.Kind, _ token: String) -> String? {
    switch (self, kind) {
    case (.number, .text): return CoercedKind.number(token)
    case (.text, .number), (.text, .bool): return "\"\(token)\""
    case (.bool, .number), (.bool, .text):
      switch token.lowercased() {
      case "true", "1": return "true"
      case "false", "0": return "false"
      default: return nil
      }
    default: return nil
    }
  }

  /// A number of JSON: without a plus, and without zeros before it.
  private static func number(_ text: String) -> String? {
    var rest = Substring(text)
    while let first = rest.first, first.isWhitespace { rest.removeFirst() }
    while let last = rest.last, last.isWhitespace { rest.removeLast() }
    var sign = ""
    if let first = rest.first, first == "-" || first == "+" {
      if first == "-" { sign = "-" }
      rest.removeFirst()
    }
    while rest.first == "0", let next = rest.dropFirst().first, next.isASCII, next.isNumber {
      rest.removeFirst()
    }
    guard let first = rest.utf8.first, JSONCursor.isDigit(first) else { return nil }
    var bytes = Array((sign + rest).utf8)
    let isWhole = bytes.withUnsafeMutableBytes { raw in
      var cursor = JSONCursor(UnsafeRawBufferPointer(raw))
      guard (try? cursor.value(depth: 0)) != nil else { return false }
      return cursor.isAtEnd()
    }
    return isWhole ? sign + rest : nil
  }
}
