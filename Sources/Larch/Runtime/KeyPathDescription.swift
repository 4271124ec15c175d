/// The components of a key path, from its description: `\Doc.address?.city`.
///
/// The text is for people, so it is only a hint here: every name in it must be a stored property of
/// the type reached so far, and the type at the end must be the key path's.
struct KeyPathDescription {
  private enum Component {
    case property(Substring)
    case optionalChain
  }

  private let components: [Component]
  private let root: Any.Type
  private let leaf: Any.Type

  /// Whether key paths describe themselves as expected. Found out once.
  static let isTrusted = RuntimeFeature.keyPathDescription.passes(selfTest)

  /// Nil if a component has no name (computed properties, subscripts, `!`).
  ///
  /// - Parameter isLeaf: whether a type is a single value, into which no path leads.
  init?<Root, Value>(_ keyPath: KeyPath<Root, Value>, isLeaf: (Any.Type) -> Bool) {
    guard Self.isTrusted else { return nil }
    self.init(unchecked: keyPath, isLeaf: isLeaf)
  }

  private init?<Root, Value>(
    unchecked keyPath: KeyPath<Root, Value>, isLeaf: (Any.Type) -> Bool
  ) {
    var seen: Set<ObjectIdentifier> = []
    guard Self.hasNames(Root.self, isLeaf, &seen) else { return nil }
    let text = keyPath.debugDescription
    let prefix = "\\" + String(describing: Root.self)
    guard text.hasPrefix(prefix) else { return nil }
    guard var components = Self.parse(text.dropFirst(prefix.count)) else { return nil }
    // A chain ends by making its value optional again, which is spelt like a link of the chain.
    if case .optionalChain = components.last { components.removeLast() }
    self.components = components
    self.root = Root.self
    self.leaf = Value.self
  }

  /// Whether all reachable stored properties have names. If a module was built without them
  /// (`-disable-reflection-names`), the standard library's description traps.
  private static func hasNames(
    _ type: Any.Type, _ isLeaf: (Any.Type) -> Bool, _ seen: inout Set<ObjectIdentifier>
  ) -> Bool {
    let type = Reflection.unwrapped(type)
    switch Reflection.Kind(of: type) {
    case .structure, .finalOrOpenClass: break
    default: return true
    }
    guard !isLeaf(type), seen.insert(ObjectIdentifier(type)).inserted else {
      return true
    }
    guard let fields = Reflection.fields(of: type) else { return false }
    for field in fields where !hasNames(field.type, isLeaf, &seen) { return false }
    return true
  }

  private static func parse(_ text: Substring) -> [Component]? {
    var rest = text
    var components: [Component] = []
    while let first = rest.first {
      rest.removeFirst()
      switch first {
      case "?": components.append(.optionalChain)
      case ".":
        let name = rest.prefix { $0 != "." && $0 != "?" && $0 != "!" && $0 != "<" && $0 != "[" }
        guard !name.isEmpty else { return nil }
        components.append(.property(name))
        rest = rest.dropFirst(name.count)
      default: return nil
      }
    }
    return components
  }

  /// The stored properties along the path, or nil if one of them differs from the text.
  func fields() -> [Reflection.Field]? {
    var path: [Reflection.Field] = []
    var type = root
    for component in components {
      switch component {
      case .optionalChain:
        guard let optional = type as? any OptionalType.Type else { return nil }
        type = optional.wrappedType
      case .property(let name):
        guard let field = field(named: String(name), of: type) else { return nil }
        path.append(field)
        type = field.type
      }
    }
    guard type == leaf || (leaf as? any OptionalType.Type)?.wrappedType == type else { return nil }
    return path
  }

  /// The stored property that the description names. The description finds names by offset, which
  /// properties without memory share with a neighbour, so it may name the wrong one.
  private func field(named name: String, of type: Any.Type) -> Reflection.Field? {
    guard let layout = TypeLayout(of: type), let named = layout.field(named: name) else {
      return nil
    }
    var found: Reflection.Field?
    for field in layout.fields {
      if TypeLayout.Memory(of: field.type).size == 0 {
        // The path may lead to this value itself, whatever the description says.
        if field.type == Reflection.unwrapped(leaf) { return nil }
      } else if field.offset == named.offset {
        found = field
      }
    }
    return found
  }

  // MARK: Self-test

  private struct Sample {
    struct Inner { var number: Int }
    var text: String
    var inner: Inner
    var other: Inner?
    var length: Int { text.count }
  }

  private static func selfTest() -> Bool {
    func names<Value>(_ keyPath: KeyPath<Sample, Value>) -> [String]? {
      Self(unchecked: keyPath) { $0 == String.self }?.fields()?.map(\.name)
    }
    return names(\.text) == ["text"] && names(\.inner.number) == ["inner", "number"]
      && names(\.other) == ["other"] && names(\.other?.number) == ["other", "number"]
      && names(\.length) == nil && names(\.other!.number) == nil
  }
}
