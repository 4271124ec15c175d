/// How related records are found in one store.
struct RelatedRoute {
  enum Kind {
    /// The owner holds ids of the related records.
    case held(ReferenceDeclaration)
    /// The related records hold ids of owners.
    case holding(ReferenceDeclaration, FieldReference)
    /// Many-to-many lists, with the ends of the owner and of the related records.
    case links(owner: AssociationEnd, target: AssociationEnd)
  }

  let kind: Kind
  let owner: CollectionHandle
  let target: CollectionHandle

  /// - Throws: `.unknownCollection` for types that the store was not opened with, and
  ///   `.unknownAssociation` for an association that none of its types lists in its schema.
  init(_ filter: RelatedFilter, _ context: TransactionContext) throws {
    func open(_ type: AssociatedType) throws -> CollectionHandle {
      try context.collection(type.id, name: type.collection)
    }
    owner = try open(filter.owner)
    target = try open(filter.target)
    try context.catalog.checkListed(filter.route)
    switch filter.route {
    case .parent(let reference), .listed(let reference): kind = .held(reference)
    case .children(let reference), .through(let reference, _):
      kind = .holding(reference, target.field(of: reference))
    case .links(let links):
      // A read-only file may not have the lists.
      guard let association = context.catalog.association(links.key), association.lists != nil
      else { throw LarchError.unknownAssociation(links.owner, links.target) }
      kind = .links(
        owner: AssociationEnd(association: association, isFirst: !links.isInverse),
        target: AssociationEnd(association: association, isFirst: links.isInverse))
    }
  }

  /// What inner queries have to return.
  var need: QueryNeed {
    if case .holding(_, let field) = kind { return field.isMultiple ? .records : .fields([field]) }
    return .ids
  }

  /// The field of the owner that determines its related records.
  var ownerField: FieldReference {
    if case .held(let reference) = kind { return owner.field(of: reference) }
    return owner.idField
  }

  /// The owner's end of a reference that related records hold; nil if no type declares it, so that
  /// there is no list.
  func end(of reference: ReferenceDeclaration, _ context: TransactionContext) -> AssociationEnd? {
    guard case .stored(let names, _) = reference.resolve(),
      let association = context.catalog.association(
        "\(reference.holder.collection).\(names.joined(separator: "."))"),
      association.index?.isReady == true
    else { return nil }
    return AssociationEnd(association: association, isFirst: false)
  }

  /// The databases that may be read to find related records, without those of records.
  var databases: [LMDBDatabase] {
    var all = target.allIndexes.filter(\.isReady).map(\.database)
    if case .links(let end, _) = kind, let lists = end.association.lists {
      all += [lists.forward, lists.inverse]
    }
    return all
  }

  /// Whether the record of an id in a list exists: in a write it may not be saved yet.
  func isSaved(_ id: UnsafeRawBufferPointer, _ context: TransactionContext) throws -> Bool {
    try !context.hasUnsavedMembers
      || context.get(id, from: target.records, in: context.transaction()) != nil
  }

  /// The database and the keys of some lists.
  static func lists(
    _ scan: Plan.ListScan, _ context: TransactionContext
  ) throws -> (LMDBDatabase, [KeyRange]) {
    let route = try RelatedRoute(scan.filter, context)
    guard case .links(_, let end) = route.kind, let lists = end.association.lists else {
      throw LarchError.unknownAssociation(scan.filter.owner, scan.filter.target)
    }
    var ranges: [KeyRange] = []
    // A record that is not saved yet is in no list, as in a full scan.
    for values in scan.ids {
      try route.target.stored.idKind.withBytes(of: values.first ?? .null) { id in
        if !scan.filter.isOfOwner, try !route.isSaved(id, context) { return }
        ranges.append(KeyRange(lower: [UInt8](id), upper: [UInt8](id) + [0], needsCheck: false))
      }
    }
    return (end.isFirst ? lists.forward : lists.inverse, ranges)
  }

  /// The keys of lists are not fields of their records.
  static let listSchema = IndexSchema(
    name: "list", isUnique: false, fields: [], isDecoded: false, isPartial: false, definition: "")

  /// The kind of the ids that determine the related records: the record's own id, or for `held`
  /// those that it holds.
  var idKind: RecordIDKind {
    if case .held = kind { return target.stored.idKind }
    return owner.stored.idKind
  }
}

extension KeyValue {
  /// The id with these bytes.
  init?(id: UnsafeRawBufferPointer, _ kind: RecordIDKind) {
    switch kind {
    case .assigned, .integer:
      guard id.count == 8 else { return nil }
      let number = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))
      self = .signed(Int64(bitPattern: number ^ 1 << 63))
    case .unsigned:
      guard id.count == 8 else { return nil }
      self = .unsigned(UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)))
    case .uuid:
      guard id.count == 16 else { return nil }
      self = .uuid([UInt8](id))
    case .string:
      guard id.count >= 1 else { return nil }
      self = .string(String(decoding: id.dropFirst(), as: UTF8.self))
    }
  }
}

extension RecordIDKind {
  /// Calls with the stored bytes of this id; not for nil, and not for values that cannot be an id.
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
