extension FieldNode {
  /// The property of a record for a key path.
  @inline(__always)  // So that nobody asks the runtime for the type of the node, in each filter.
  static func of(_ keyPath: any KeyPath<Root, Value> & Sendable) -> FieldNode
  where Root: Record {
    FieldNodes.find(base: nil, member: keyPath) {
      let resolution = FieldNaming.storedPath(of: keyPath)
      return FieldNode(
        keyPath: keyPath, name: resolution.name(of: Value.self, after: nil),
        identity: FieldIdentity(keyPath, resolution), read: { $0[keyPath: keyPath] })
    }
  }

  /// The id, under which records are stored, whether it is a stored property or not.
  static func id() -> FieldNode where Root: Record, Value == Root.ID {
    FieldNodes.find(.id, of: Root.self) {
      FieldNode(keyPath: \Root.id, name: "id", identity: .id, read: { $0.id })
    }
  }

  /// The value itself, for tests of an element.
  static func itself() -> FieldNode where Root == Value {
    FieldNodes.find(.itself, of: Value.self) {
      FieldNode(
        keyPath: \Value.self, name: "$0", identity: .computed(\Value.self), read: { $0 })
    }
  }

  /// A property of the value.
  func member<Member>(
    _ member: any KeyPath<Value, Member> & Sendable
  ) -> FieldNode<Root, Member> {
    if let related {
      return FieldNode<Root, Member>(
        related: related.map { $0[keyPath: member] }, name: "\(name).<\(Member.self)>",
        identity: .computed(member), field: nil, elementField: nil)
    }
    if error != nil || key?.field.calculation != nil {
      let read = read
      return FieldNode<Root, Member>(
        refused: error ?? calculationError, name: name, read: { read($0)[keyPath: member] })
    }
    return FieldNodes.find(base: self, member: member) {
      let read = read
      guard let keyPath = keyPath?.appending(path: member) else {
        return behindOptional(member, .computed(printableName: nil)) { read($0)[keyPath: member] }
      }
      let resolution = codingResolution(of: keyPath)
      // If the whole path is stored, it has the names of all its properties.
      let isStored = if case .stored = resolution { true } else { false }
      let name = resolution.name(of: Member.self, after: isStored ? nil : name)
      return FieldNode<Root, Member>(
        keyPath: keyPath, name: name,
        identity: FieldIdentity(keyPath, resolution), read: { read($0)[keyPath: member] })
    }
  }

  private var calculationError: LarchError {
    LarchError(
      .invalidQuery,
      "A filter uses a property of a calculated number; compare the number itself, or use `satisfies`."
    ) { $0.field = name }
  }

  /// A property of an optional value.
  func optionalMember<Wrapped, Member>(
    _ member: any KeyPath<Wrapped, Member> & Sendable
  ) -> FieldNode<Root, Member?> where Value == Wrapped? {
    if let related { return members(related).member(member, of: related, name) }
    return FieldNodes.find(base: self, member: member) {
      let read = read
      return behindOptional(member, codingResolution(of: member)) { read($0)?[keyPath: member] }
    }
  }

  /// An optional property of an optional value.
  func flatMember<Wrapped, Member>(
    _ member: any KeyPath<Wrapped, Member?> & Sendable
  ) -> FieldNode<Root, Member?> where Value == Wrapped? {
    if let related { return members(related).flatMember(member, of: related, name) }
    return FieldNodes.find(base: self, member: member, isFlattened: true) {
      let read = read
      return behindOptional(member, codingResolution(of: member)) { read($0)?[keyPath: member] }
    }
  }

  private func members<Wrapped>(
    _ related: RelatedReading<Value>
  ) -> RelatedMembers<Root, Wrapped> where Value == Wrapped? {
    related.members as? RelatedMembers<Root, Wrapped> ?? RelatedMembers()
  }

  /// No key path through an optional can be built at run time, but the names of its parts are the
  /// names of the stored property.
  private func behindOptional<Result>(
    _ member: AnyKeyPath, _ resolution: FieldNaming.Resolution,
    _ read: @escaping @Sendable (Root) -> Result
  ) -> FieldNode<Root, Result> {
    let identity: FieldIdentity
    if case .stored(let names) = self.identity, case .stored(let rest, _) = resolution {
      identity = .stored(names + rest)
    } else {
      let chain = FieldChain(base: self.identity, member: member)
      identity = .computed(\FieldChains.[chain])
    }
    return FieldNode<Root, Result>(
      keyPath: nil, name: resolution.name(of: Result.self, after: name), identity: identity,
      read: read)
  }
}

/// Identifies a computed property of an optional.
private struct FieldChain: Hashable {
  let base: FieldIdentity
  let member: AnyKeyPath
}

/// Turns a chain into a key path, which identifies a computed property.
private struct FieldChains {
  subscript(chain: FieldChain) -> FieldChain { chain }
}

/// The coding names, if the root is `Codable`, which is known here only at run time.
func codingResolution<Root, Value>(
  of keyPath: KeyPath<Root, Value>
) -> FieldNaming.Resolution {
  func resolve<Coded: Codable>(_ type: Coded.Type) -> FieldNaming.Resolution {
    // `Coded` is `Root`, opened below.
    FieldNaming.storedPath(of: unsafeDowncast(keyPath, to: KeyPath<Coded, Value>.self))
  }
  guard let type = Root.self as? any Codable.Type else { return .computed(printableName: nil) }
  return resolve(type)
}

extension FieldNaming.Resolution {
  /// The name of the field in plans: the names of its properties, or the type of a computed one.
  func name(of type: Any.Type, after base: String?) -> String {
    let own =
      switch self {
      case .stored(_, let names): names.joined(separator: ".")
      case .computed(let name): name ?? "<\(type)>"
      }
    return base.map { $0 + "." + own } ?? own
  }
}

/// All nodes of the process.
private enum FieldNodes {
  private struct Key: Hashable {
    let base: ObjectIdentifier?
    let member: ObjectIdentifier
    let isFlattened: Bool
  }

  /// Finds key paths that generic code creates again each time.
  private struct ValueKey: Hashable {
    let base: ObjectIdentifier?
    let member: AnyKeyPath
    let isFlattened: Bool
  }

  /// The fields that every type has, found without a key path: generic code would create one each
  /// time.
  enum OfType { case id, itself }

  private struct Entries: @unchecked Sendable {
    var ids: [ObjectIdentifier: AnyObject] = [:]
    var elements: [ObjectIdentifier: AnyObject] = [:]
    var byIdentity: [Key: AnyObject] = [:]
    var byValue: [ValueKey: AnyObject] = [:]
    /// The objects of the keys, kept so that their addresses are not reused.
    var kept: [AnyObject] = []

    mutating func insert(_ node: AnyObject, _ key: Key, _ base: AnyObject?, _ member: AnyKeyPath) {
      guard byIdentity.count < limit else { return }
      byIdentity[key] = node
      kept.append(member)
      if let base { kept.append(base) }
      shortcuts.keep(node, base: key.base, member: key.member, isFlattened: key.isFlattened)
    }
  }

  /// Key paths with run-time arguments (`\.tags[i]`) must not fill the memory.
  private static let limit = 4096
  private static let entries = Locked(Entries())
  /// Those of `byIdentity`, `ids` and `elements` that are found without the lock.
  private static let shortcuts = FieldShortcuts()

  static func find<Root, Value>(
    base: AnyObject?, member: AnyKeyPath, isFlattened: Bool = false,
    _ make: () -> FieldNode<Root, Value>
  ) -> FieldNode<Root, Value> {
    let key = Key(
      base: base.map { ObjectIdentifier($0) }, member: ObjectIdentifier(member),
      isFlattened: isFlattened)
    let node =
      shortcuts.find(base: key.base, member: key.member, isFlattened: isFlattened)
      ?? find(key) ?? find(key, base, member) ?? keep(make(), key, base, member)
    // The key identifies the types: those of the key path after those of the base.
    return unsafeDowncast(node, to: FieldNode<Root, Value>.self)
  }

  static func find<Root, Value>(
    _ kind: OfType, of type: Any.Type, _ make: () -> FieldNode<Root, Value>
  ) -> FieldNode<Root, Value> {
    let type = ObjectIdentifier(type)
    // A type lives as long as the process, and no key path has its address.
    let node =
      shortcuts.find(base: nil, member: type, isFlattened: kind == .itself)
      ?? keep(make(), kind, type)
    // Each is kept under its own type.
    return unsafeDowncast(node, to: FieldNode<Root, Value>.self)
  }

  @inline(never)
  private static func keep(
    _ node: @autoclosure () -> AnyObject, _ kind: OfType, _ type: ObjectIdentifier
  ) -> AnyObject {
    if let known = entries.withLock({ kind == .id ? $0.ids[type] : $0.elements[type] }) {
      return known
    }
    let made = node()
    return entries.withLock { entries in
      // Another thread may have been faster.
      if let known = kind == .id ? entries.ids[type] : entries.elements[type] { return known }
      if kind == .id { entries.ids[type] = made } else { entries.elements[type] = made }
      shortcuts.keep(made, base: nil, member: type, isFlattened: kind == .itself)
      return made
    }
  }

  private static func find(_ key: Key) -> AnyObject? { entries.withLock { $0.byIdentity[key] } }

  private static func find(_ key: Key, _ base: AnyObject?, _ member: AnyKeyPath) -> AnyObject? {
    let valueKey = ValueKey(base: key.base, member: member, isFlattened: key.isFlattened)
    return entries.withLock { entries in
      guard let known = entries.byValue[valueKey] else { return nil }
      entries.insert(known, key, base, member)
      return known
    }
  }

  private static func keep(
    _ node: AnyObject, _ key: Key, _ base: AnyObject?, _ member: AnyKeyPath
  ) -> AnyObject {
    let valueKey = ValueKey(base: key.base, member: member, isFlattened: key.isFlattened)
    return entries.withLock { entries in
      // Another thread may have been faster.
      if let known = entries.byValue[valueKey] { return known }
      if entries.byValue.count < limit {
        entries.byValue[valueKey] = node
        if let base { entries.kept.append(base) }
      }
      entries.insert(node, key, base, member)
      return node
    }
  }
}
