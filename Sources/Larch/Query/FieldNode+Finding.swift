extension FieldNode {
  /// The property of a record that the key path reads.
  static func of(_ keyPath: any KeyPath<Root, Value> & Sendable) -> FieldNode
  where Root: Record {
    FieldNodes.find(base: nil, member: keyPath) {
      let resolution = FieldNaming.storedPath(of: keyPath)
      return FieldNode(
        keyPath: keyPath, name: resolution.name(of: Value.self, behind: nil),
        identity: FieldIdentity(keyPath, resolution), read: { $0[keyPath: keyPath] })
    }
  }

  /// The value itself: what is asked of an element.
  static func itself() -> FieldNode where Root == Value {
    let keyPath: any KeyPath<Value, Value> & Sendable = \Value.self
    return FieldNodes.find(base: nil, member: keyPath) {
      FieldNode(keyPath: keyPath, name: "$0", identity: .computed(keyPath), read: { $0 })
    }
  }

  /// A property of the value.
  func member<Member>(
    _ member: any KeyPath<Value, Member> & Sendable
  ) -> FieldNode<Root, Member> {
    FieldNodes.find(base: self, member: member) {
      let read = read
      guard let keyPath = keyPath?.appending(path: member) else {
        return behindOptional(member, .computed(printableName: nil)) { read($0)[keyPath: member] }
      }
      let resolution = codingResolution(of: keyPath)
      // A whole path that is stored has the names of all its properties.
      let isStored = if case .stored = resolution { true } else { false }
      let name = resolution.name(of: Member.self, behind: isStored ? nil : name)
      return FieldNode<Root, Member>(
        keyPath: keyPath, name: name,
        identity: FieldIdentity(keyPath, resolution), read: { read($0)[keyPath: member] })
    }
  }

  /// A property of the value in an optional.
  func optionalMember<Wrapped, Member>(
    _ member: any KeyPath<Wrapped, Member> & Sendable
  ) -> FieldNode<Root, Member?> where Value == Wrapped? {
    FieldNodes.find(base: self, member: member) {
      let read = read
      return behindOptional(member, codingResolution(of: member)) { read($0)?[keyPath: member] }
    }
  }

  /// An optional property of the value in an optional.
  func flatMember<Wrapped, Member>(
    _ member: any KeyPath<Wrapped, Member?> & Sendable
  ) -> FieldNode<Root, Member?> where Value == Wrapped? {
    FieldNodes.find(base: self, member: member, isFlattened: true) {
      let read = read
      return behindOptional(member, codingResolution(of: member)) { read($0)?[keyPath: member] }
    }
  }

  /// No key path can be built through an optional at run time, but the names of a stored property
  /// are those of the pieces.
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
      keyPath: nil, name: resolution.name(of: Result.self, behind: name), identity: identity,
      read: read)
  }
}

/// Tells one computed property behind an optional from all others.
private struct FieldChain: Hashable {
  let base: FieldIdentity
  let member: AnyKeyPath
}

/// Gives a chain the form of a key path, by which computed properties are told apart.
private struct FieldChains {
  subscript(chain: FieldChain) -> FieldChain { chain }
}

/// The names where the root is coded; whether it is, only the run time can tell here.
private func codingResolution<Root, Value>(
  of keyPath: KeyPath<Root, Value>
) -> FieldNaming.Resolution {
  func resolve<Coded: Codable>(_ type: Coded.Type) -> FieldNaming.Resolution {
    FieldNaming.storedPath(of: unsafeDowncast(keyPath, to: KeyPath<Coded, Value>.self))
  }
  guard let type = Root.self as? any Codable.Type else { return .computed(printableName: nil) }
  return resolve(type)
}

extension FieldNaming.Resolution {
  /// What plans call the field: the names of its properties, or of a computed one the type.
  fileprivate func name(of type: Any.Type, behind base: String?) -> String {
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
  /// The objects are kept by the nodes, so no address is given to another one.
  private struct Key: Hashable {
    let base: ObjectIdentifier?
    let member: ObjectIdentifier
    let isFlattened: Bool
  }

  private struct Entry {
    let node: AnyObject
    let member: AnyKeyPath
  }

  private struct Entries: @unchecked Sendable {
    var nodes: [Key: Entry] = [:]
  }

  /// Key paths with run-time arguments (`\.tags[i]`) must not fill the memory.
  private static let limit = 4096
  private static let entries = Locked(Entries())

  static func find<Root, Value>(
    base: AnyObject?, member: AnyKeyPath, isFlattened: Bool = false,
    _ make: () -> FieldNode<Root, Value>
  ) -> FieldNode<Root, Value> {
    let key = Key(
      base: base.map { ObjectIdentifier($0) }, member: ObjectIdentifier(member),
      isFlattened: isFlattened)
    if let known = entries.withLock({ $0.nodes[key]?.node }) {
      return unsafeDowncast(known, to: FieldNode<Root, Value>.self)
    }
    let node = make()
    let entry = Entry(node: node, member: member)
    entries.withLock { entries in
      if entries.nodes.count < limit { entries.nodes[key] = entry }
    }
    return node
  }
}
