/// Combines the ends of associations, whichever types declare them, and refuses contradictions
/// before a file is opened.
struct AssociationCompiler {
  private var drafts: [String: Draft] = [:]
  /// In the order of the declarations, so that everything made from them has a fixed order.
  private var keys: [String] = []

  /// An association while its ends are being collected.
  private struct Draft {
    var reference: ReferenceDeclaration?
    var path: [String] = []
    var first: AssociatedType
    var second: AssociatedType
    var firstRule = DeleteRule.automatic
    var secondRule = DeleteRule.automatic
    /// Declared by the type that is referred to.
    var isOne: Bool?
    var isJoin = false
  }

  /// Collects the declarations of the types.
  ///
  /// - Throws: `.invalidSchema` for declarations that are unusable or contradictory.
  init(_ types: [any Record.Type]) throws {
    for type in types { try add(type) }
    let opened = Set(types.map { ObjectIdentifier($0) })
    for key in keys {
      guard let draft = drafts[key] else { continue }
      for end in [draft.first, draft.second] where !opened.contains(end.id) {
        throw error(
          "An association refers to a type that the store is not opened with; add the type to `Store(at:for:)`.",
          (opened.contains(draft.first.id) ? draft.first : draft.second).collection, key,
          detail: end.typeName)
      }
    }
  }

  private mutating func add<R: Record>(_ type: R.Type) throws {
    for declared in R.schema.associations {
      switch declared {
      case .reference(let reference, let isOne):
        try add(reference) { draft, key in
          let rule = reference.rule
          switch reference.end {
          case .holder:
            guard isOne != reference.isList else {
              throw error(
                "`BelongsTo` is for a property with one id, and `HasMany(_:in:)` for one with several; use the one that fits.",
                draft.first.collection, key)
            }
            try merge(&draft.firstRule, rule, key, draft.first)
          case .target:
            try merge(&draft.secondRule, rule, key, draft.second)
            if let other = draft.isOne, other != isOne {
              throw error(
                "An association is declared both as one-to-one and as one-to-many; remove one declaration.",
                draft.first.collection, key)
            }
            draft.isOne = isOne
          }
        }
      case .join(let reference):
        try add(reference) { draft, key in
          draft.isJoin = true
          try merge(&draft.secondRule, reference.rule, key, draft.second)
        }
      case .links(let links):
        guard SchemaCompiler.isPlain(links.name) else {
          throw error(
            "The name of a many-to-many association must have 1 to 64 of the characters A-Z a-z 0-9 _ . -; change `named:`.",
            links.owner.collection, links.name)
        }
        let key = links.key
        var draft = drafts[key] ?? Draft(first: links.first, second: links.second)
        if draft.reference != nil || draft.first.id != links.first.id
          || draft.second.id != links.second.id
        {
          throw sameNames(links.owner.collection, key)
        }
        if links.isInverse {
          try merge(&draft.secondRule, links.rule, key, draft.second)
        } else {
          try merge(&draft.firstRule, links.rule, key, draft.first)
        }
        set(draft, key)
      }
    }
  }

  private mutating func add(
    _ reference: ReferenceDeclaration,
    _ change: (inout Draft, String) throws -> Void
  ) throws {
    let path: [String]
    switch reference.resolve() {
    case .stored(let names, _): path = names
    case .computed(let name):
      throw error(
        "An association needs the stored property that holds the id; name that property.",
        reference.holder.collection, name, detail: "an id of \(reference.target.typeName)")
    }
    let key = "\(reference.holder.collection).\(path.joined(separator: "."))"
    guard key.utf8.count <= 400 else {
      throw error(
        "The path to the property of an association is longer than 400 bytes; use shorter coding keys.",
        reference.holder.collection, key)
    }
    var draft = drafts[key] ?? Draft(first: reference.holder, second: reference.target)
    // Keys are joined with dots and slashes, and names may contain these too.
    if drafts[key] != nil, draft.first.id != reference.holder.id || draft.path != path {
      throw sameNames(reference.holder.collection, key)
    }
    draft.reference = reference
    draft.path = path
    guard draft.second.id == reference.target.id else {
      throw error(
        "Two declarations give one property different target types; correct one of them.",
        reference.holder.collection, key,
        detail: "\(draft.second.typeName), \(reference.target.typeName)")
    }
    try change(&draft, key)
    set(draft, key)
  }

  private mutating func set(_ draft: Draft, _ key: String) {
    if drafts[key] == nil { keys.append(key) }
    drafts[key] = draft
  }

  // MARK: Results

  /// The indexes that a type needs for its references.
  func needs(of type: any Record.Type) -> [AssociationIndex] {
    keys.compactMap { key in
      guard let draft = drafts[key], let reference = draft.reference,
        reference.holder.id == ObjectIdentifier(type)
      else { return nil }
      return AssociationIndex(reference: reference, isUnique: draft.isOne == true)
    }
  }

  /// The associations of types whose schemas were compiled with the required indexes.
  ///
  /// - Throws: `.invalidSchema` for rules that do not fit their property.
  func schemas(_ collections: [CollectionSchema]) throws -> [AssociationSchema] {
    try keys.compactMap { key in
      guard let draft = drafts[key] else { return nil }
      guard let reference = draft.reference else {
        return AssociationSchema(
          key: key, kind: .links, first: draft.first, second: draft.second,
          firstRule: draft.firstRule.orElse(.nullify),
          secondRule: draft.secondRule.orElse(.nullify))
      }
      return try schema(of: reference, draft, key, collections)
    }
  }

  private func schema(
    of reference: ReferenceDeclaration, _ draft: Draft, _ key: String,
    _ collections: [CollectionSchema]
  ) throws -> AssociationSchema {
    if reference.isList, draft.isOne == true {
      throw error(
        "`HasOne` needs a property with one id, not a list; declare `HasMany`, or store one id.",
        reference.holder.collection, key)
    }
    if draft.secondRule == .automatic || draft.secondRule == .nullify, !draft.isJoin,
      reference.isInOptional
    {
      throw error(
        "The property of an association is reached through an optional (`?`), by which Swift cannot set it, so a reference cannot become nil when its record is deleted; declare another rule with `HasMany` or `HasOne` in the type that it refers to, or hold the id in a property of the record itself.",
        reference.holder.collection, key)
    }
    let canBeNil = reference.isOptional && reference.isWritable
    let automatic: DeleteRule = draft.isJoin ? .destroy : canBeNil ? .nullify : .deny
    let rule = draft.secondRule.orElse(automatic)
    // A list can lose the id of a deleted record and keep the others.
    if rule == .nullify || (rule == .destroyLast && reference.isList), !canBeNil {
      throw error(
        "The delete rule sets the property to nil, but it is not an optional `var`; make it one, or choose another rule.",
        reference.holder.collection, key)
    }
    guard let holder = collections.first(where: { $0.typeID == reference.holder.id }),
      let target = collections.first(where: { $0.typeID == reference.target.id }),
      let form = ReferenceForm(reference.form, target.idKind),
      let index = holder.indexOfReference(reference.identity, isUnique: draft.isOne == true)
    else {
      throw error(
        "The ids of an association are indexed by another value than they are stored by; give the id type the `indexValue` of its raw value.",
        reference.holder.collection, key)
    }
    return AssociationSchema(
      key: key,
      kind: .reference(
        ReferenceSchema(
          reference, path: draft.path, form: form, index: index, isOne: draft.isOne == true)),
      first: draft.first, second: draft.second, firstRule: draft.firstRule.orElse(.none),
      secondRule: rule)
  }
}

/// Two declarations of one rule must be equal, unless one of them is `.automatic`.
private func merge(
  _ rule: inout DeleteRule, _ other: DeleteRule, _ key: String, _ end: AssociatedType
) throws {
  guard rule == .automatic || other == .automatic || rule == other else {
    throw error(
      "Two declarations give one association different delete rules; remove one.",
      end.collection, key, detail: "\(rule), \(other)")
  }
  if other != .automatic { rule = other }
}

private func sameNames(_ collection: String, _ key: String) -> LarchError {
  error(
    "Two associations have the same name, made of collection and property; give one of them another `collectionName` or coding key.",
    collection, key)
}

private func error(
  _ message: StaticString, _ collection: String, _ key: String?, detail: String? = nil
) -> LarchError {
  LarchError(.invalidSchema, message) {
    $0.collection = collection
    $0.field = key
    $0.detail = detail
  }
}

extension DeleteRule {
  fileprivate func orElse(_ rule: DeleteRule) -> DeleteRule { self == .automatic ? rule : self }
}

extension CollectionSchema {
  /// The index that lists the holders of each id.
  fileprivate func indexOfReference(_ identity: FieldIdentity, isUnique: Bool) -> Int? {
    func isFitting(_ index: IndexSchema) -> Bool {
      index.fields.count == 1 && !index.isPartial && !index.fields[0].isFolded
        && index.fields[0].identity == identity && (index.isUnique || !isUnique)
    }
    // If there are several, an index whose keys come from stored bytes.
    return indexes.firstIndex { isFitting($0) && !$0.isDecoded }
      ?? indexes.firstIndex { isFitting($0) }
  }
}
