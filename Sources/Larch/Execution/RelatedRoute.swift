/// How related records are found in one store.
struct RelatedRoute {
  enum Kind {
    /// The owner holds ids of the related records.
    case held(ReferenceDeclaration)
    /// The related records hold ids of owners.
    case holding(ReferenceDeclaration, FieldReference)
    /// Lists of ids; the ends of the owner and of the related records.
    case links(owner: AssociationEnd, target: AssociationEnd)
  }

  let kind: Kind
  let owner: CollectionHandle
  let target: CollectionHandle

  /// - Throws: `.unknownCollection` for types that the store was not opened with, and
  ///   `.unknownAssociation` for lists that none of its types declares.
  init(_ filter: RelatedFilter, _ context: TransactionContext) throws {
    func open(_ type: AssociatedType) throws -> CollectionHandle {
      try context.collection(type.id, name: type.collection)
    }
    owner = try open(filter.owner)
    target = try open(filter.target)
    switch filter.route {
    case .parent(let reference), .listed(let reference): kind = .held(reference)
    case .children(let reference), .through(let reference, _):
      kind = .holding(reference, target.field(of: reference))
    case .links(let links):
      guard let association = context.catalog.association(links.key), association.lists != nil
      else {
        throw LarchError(
          .unknownAssociation,
          "No type that the store was opened with declares these lists; write the `ManyToMany` into the schema of one."
        ) {
          $0.collection = links.owner.collection
          $0.field = links.key
        }
      }
      kind = .links(
        owner: AssociationEnd(association: association, isFirst: !links.isInverse),
        target: AssociationEnd(association: association, isFirst: links.isInverse))
    }
  }

  /// What may be read to find related records, beside records.
  var databases: [LMDBDatabase] {
    var all = target.indexes.filter(\.isReady).map(\.database)
    if case .links(let end, _) = kind, let lists = end.association.lists {
      all += [lists.forward, lists.inverse]
    }
    return all
  }

  /// The kind of the ids that tell whether a record has related ones: its own, or for `held` those
  /// that it holds.
  var idKind: RecordIDKind {
    if case .held = kind { return target.stored.idKind }
    return owner.stored.idKind
  }
}

extension RecordIDKind {
  /// Calls with the bytes that a record with this id is stored under; not at all for nil, and for
  /// what no id can be.
  func withBytes(of value: KeyValue, _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
    switch (self, value) {
    case (.assigned, .signed(let number)), (.integer, .signed(let number)):
      let bytes = (UInt64(bitPattern: number) ^ 1 << 63).bigEndian
      try withUnsafeBytes(of: bytes, body)
    case (.unsigned, .unsigned(let number)):
      try withUnsafeBytes(of: number.bigEndian, body)
    case (.uuid, .uuid(let bytes)): try bytes.withUnsafeBytes(body)
    case (.string, .string(let text)):
      try ([1] + NFC.normalized(text)).withUnsafeBytes(body)
    default: break
    }
  }
}
