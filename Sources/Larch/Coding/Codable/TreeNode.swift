/// A value in memory between any `encode(to:)` and bytes: everything written to its containers, in
/// any order and nesting.
final class TreeNode {
  enum Content {
    /// No container was requested.
    case nothing
    case null
    /// Up to 16 bytes of a fixed kind, lowest first.
    case fixed(FieldKind, UInt128)
    case bytes(FieldKind, [UInt8])
    case object
    case list
  }

  var content = Content.nothing
  /// The members of an object in the order of their first use; the elements of a list.
  var children: [TreeNode] = []
  var names: [String] = []
  private var indexByName: [String: Int] = [:]
  /// The kind of a nil optional property, if the static type has one.
  var absentKind: FieldKind?
  /// A nil of an optional property: a key without a value.
  var isAbsent = false

  // For an object that could be a record.
  /// Whether every member was written to a keyed container of this object.
  var isPlain = true
  var keyType: ObjectIdentifier?
  /// Whether there are two key types, as when a class lets its superclass encode into the same
  /// container.
  var hasSeveralKeyTypes = false
  var version: UnsafeMutablePointer<EncodeVersion>?

  /// The member with this name, created if necessary.
  func member(_ name: String) -> TreeNode {
    if let index = indexByName[name] { return children[index] }
    indexByName[name] = children.count
    names.append(name)
    let node = TreeNode()
    children.append(node)
    return node
  }

  func member(named name: String) -> TreeNode? { indexByName[name].map { children[$0] } }

  func append() -> TreeNode {
    let node = TreeNode()
    children.append(node)
    return node
  }

  /// Takes the contents of another node: the last value for a key wins.
  func become(_ other: TreeNode) {
    content = other.content
    children = other.children
    names = other.names
    indexByName = other.indexByName
    isPlain = other.isPlain
    keyType = other.keyType
    hasSeveralKeyTypes = other.hasSeveralKeyTypes
    version = other.version
    isAbsent = other.isAbsent
  }

  /// The kind of the value; nil is null.
  var kind: FieldKind? {
    switch content {
    case .null: nil
    case .fixed(let kind, _): kind
    case .bytes(let kind, _): kind
    case .nothing, .object: version == nil ? .map : .record
    case .list: .list
    }
  }

  var isObject: Bool {
    switch content {
    case .nothing, .object: true
    default: false
    }
  }
}

/// The keys of Larch's coding paths.
struct PathKey: CodingKey {
  private let name: String
  let intValue: Int?

  // The text of an index is made on request, which is rare.
  var stringValue: String { intValue.map(String.init) ?? name }

  init(stringValue: String) {
    name = stringValue
    intValue = nil
  }
  init(intValue: Int) {
    name = ""
    self.intValue = intValue
  }

  /// A coding path on one line, such as `address.lines[2]`.
  static func text(_ path: [any CodingKey]) -> String {
    var text = ""
    for key in path {
      if let index = key.intValue {
        text += "[\(index)]"
      } else {
        text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
    return text
  }
}
