/// One end of an association as a type declares it.
enum DeclaredAssociation: Sendable {
  enum End: Sendable {
    /// The type has the property.
    case holder
    /// The property of another type has ids of this type.
    case target
  }

  /// `isOne`: there is at most one record at the other end.
  case reference(ReferenceDeclaration, isOne: Bool)
  /// A property of a join record.
  case join(ReferenceDeclaration)
  case links(LinksDeclaration)
}

/// A type of an association, without its generic parameter.
struct AssociatedType: Sendable {
  let id: ObjectIdentifier
  let collection: String
  let typeName: String

  init<R: Record>(_ type: R.Type) {
    id = ObjectIdentifier(type)
    collection = R.collectionName
    typeName = String(describing: type)
  }

  /// A type of which only the collection is known: no property is read.
  init(collection: String, typeName: String, standIn: any Record.Type) {
    id = ObjectIdentifier(standIn)
    self.collection = collection
    self.typeName = typeName
  }
}

/// A property that holds ids of records, without the types.
class ReferenceDeclaration: @unchecked Sendable {
  let holder: AssociatedType
  let target: AssociatedType
  /// Immutable, and only compared.
  let keyPath: AnyKeyPath
  /// The stored form of the ids, as the keys of their records.
  let targetKind: RecordIDKind
  let isOptional: Bool
  let isList: Bool
  /// Whether the property can be set.
  let isWritable: Bool
  /// Whether an offset leads to the property in the memory of the record: none leads through an
  /// optional.
  private let hasOffset: Bool
  /// The form of the keys of the index; of an element where there are several.
  let form: KeyForm
  /// Whether keys can be made from stored bytes.
  let isStandard: Bool
  /// What the declaration asks for when a record of its end is deleted.
  let rule: DeleteRule
  /// The end that declares it.
  let end: DeclaredAssociation.End
  private let resolution: @Sendable () -> FieldNaming.Resolution

  init(
    holder: AssociatedType, target: AssociatedType, keyPath: AnyKeyPath, isOptional: Bool,
    targetKind: RecordIDKind, isList: Bool, isWritable: Bool, hasOffset: Bool, form: KeyForm,
    isStandard: Bool, rule: DeleteRule, end: DeclaredAssociation.End,
    resolution: @escaping @Sendable () -> FieldNaming.Resolution
  ) {
    self.holder = holder
    self.target = target
    self.keyPath = keyPath
    self.isOptional = isOptional
    self.targetKind = targetKind
    self.isList = isList
    self.isWritable = isWritable
    self.hasOffset = hasOffset
    self.form = form
    self.isStandard = isStandard
    self.rule = rule
    self.end = end
    self.resolution = resolution
  }

  /// How the property is stored; looked up only when needed.
  func resolve() -> FieldNaming.Resolution { resolution() }

  var identity: FieldIdentity { FieldIdentity(keyPath, resolve()) }

  /// Whether the property is reached through an optional (`\.origin?.companyID`). Swift cannot set it
  /// by such a key path.
  var isInOptional: Bool {
    guard !isWritable, !hasOffset, case .stored(let names, _) = resolve(), names.count > 1 else {
      return false
    }
    // Without an offset, the path was resolved by this very text.
    return keyPath.debugDescription.contains("?.")
  }

  /// The same, as it stands in the bytes of records; nil for a property that is not stored.
  func stored(_ reading: FieldReading?) -> StoredReference? {
    guard case .stored(let names, _) = resolve() else { return nil }
    return StoredReference(path: reading?.path(names) ?? FieldPath(names), kind: targetKind)
  }
}

/// A reference of a known holder, and the operations on its property.
final class TypedReference<Holder: Record>: ReferenceDeclaration, @unchecked Sendable {
  /// The index that lists the holders of an id.
  let index: @Sendable (_ isUnique: Bool) -> IndexDeclaration<Holder>
  /// Calls with each id as a key value, until the closure returns false.
  let forEachValue: @Sendable (Holder, (KeyValues) -> Bool) -> Void
  /// Calls with the bytes of each id that the property holds, written as
  /// ``RecordIdentifier/writeReference(to:)`` does.
  let forEachID:
    @Sendable (Holder, inout KeyWriter, (UnsafeRawBufferPointer) throws -> Void) throws -> Void
  /// Removes the ids with these bytes; false if the property must have a value.
  let remove: @Sendable (inout Holder, UnsafeRawBufferPointer, inout KeyWriter) throws -> Bool
  /// Removes all ids for which the closure returns true; false like `remove`.
  let removeAll:
    @Sendable (
      inout Holder, inout KeyWriter, (UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool
  /// Makes the property refer to this id, which has the type of the target's ids.
  let add: @Sendable (inout Holder, any RecordIdentifier) -> Bool
  /// Makes the property refer to these ids too, an array of the target's; false if it cannot.
  let addAll: @Sendable (inout Holder, any Sendable) -> Bool
  /// Makes the property refer to exactly these ids, an array of the target's; false if it cannot.
  let replaceAll: @Sendable (inout Holder, any Sendable) -> Bool
  /// Gives the second record the property of the first.
  let copy: @Sendable (Holder, inout Holder) -> Void
  /// The ids as an array of the target's.
  private let ids: @Sendable (Holder) -> any Sendable

  init<Value: IDReference, Target: Record>(
    _ keyPath: any KeyPath<Holder, Value> & Sendable, to target: Target.Type,
    _ rule: DeleteRule = .automatic, from end: DeclaredAssociation.End
  ) where Value._ReferencedID == Target.ID {
    let writable = (keyPath as? WritableKeyPath<Holder, Value>).map(WritablePath.init)
    let field = Value.fieldCoding
    let key = Target.ID.keyCoding
    let references = Value.referenceCoding
    index = { isUnique in
      IndexDeclaration(
        name: nil, isUnique: isUnique, fields: [FieldDeclaration(keyPath)],
        condition: nil)
    }
    forEachID = { record, writer, body in
      try references.forEachID(of: record[keyPath: keyPath]) { id in
        try id.writeReference(to: &writer)
        try body(writer.bytes)
      }
    }
    forEachValue = { record, body in
      var isEnough = false
      references.forEachID(of: record[keyPath: keyPath]) { id in
        if isEnough { return }
        var values = KeyValues()
        key.append(id, to: &values)
        isEnough = !body(values)
      }
    }
    let removeAll:
      @Sendable (
        inout Holder, inout KeyWriter, (UnsafeRawBufferPointer) throws -> Bool
      ) throws -> Bool = { record, writer, isRemoved in
        guard let writable else { return false }
        let rest = try references.removing(
          { id in
            try id.writeReference(to: &writer)
            return try isRemoved(writer.bytes)
          }, from: record[keyPath: keyPath])
        guard let rest else { return false }
        record[keyPath: writable.keyPath] = rest
        return true
      }
    self.removeAll = removeAll
    remove = { record, removed, writer in
      try removeAll(&record, &writer) { $0.equals(removed) }
    }
    add = { record, id in
      guard let writable, let id = id as? Target.ID else { return false }
      record[keyPath: writable.keyPath] = references.adding(id, to: record[keyPath: keyPath])
      return true
    }
    addAll = { record, ids in
      guard let writable, let ids = ids as? [Target.ID],
        let value = references.adding(contentsOf: ids, to: record[keyPath: keyPath])
      else { return false }
      record[keyPath: writable.keyPath] = value
      return true
    }
    replaceAll = { record, ids in
      guard let writable, let ids = ids as? [Target.ID],
        let value = references.replacing(record[keyPath: keyPath], with: ids)
      else { return false }
      record[keyPath: writable.keyPath] = value
      return true
    }
    copy = { stored, record in
      guard let writable else { return }
      record[keyPath: writable.keyPath] = stored[keyPath: keyPath]
    }
    ids = { record in
      var ids: [Target.ID] = []
      references.forEachID(of: record[keyPath: keyPath]) { ids.append($0) }
      return ids
    }
    super.init(
      holder: AssociatedType(Holder.self), target: AssociatedType(target), keyPath: keyPath,
      isOptional: references.isOptional, targetKind: Target.ID.idKind,
      isList: references.isList,
      isWritable: writable != nil, hasOffset: MemoryLayout<Holder>.offset(of: keyPath) != nil,
      form: field.form, isStandard: field.isStandard, rule: rule, end: end,
      resolution: { FieldNaming.storedPath(of: keyPath) })
  }
}

extension TypedReference {
  /// The ids of the property in its order; empty if they have another type.
  func ids<ID: RecordIdentifier>(of record: Holder, as type: ID.Type) -> [ID] {
    ids(record) as? [ID] ?? []
  }
}

/// Key paths are immutable, but the compiler knows that only for `Sendable` ones.
private struct WritablePath<Root, Value>: @unchecked Sendable {
  let keyPath: WritableKeyPath<Root, Value>
}

/// The named lists of ids between two types.
final class LinksDeclaration: Sendable {
  let owner: AssociatedType
  let target: AssociatedType
  let name: String
  /// Whether the lists of the owner are those of the second end.
  let isInverse: Bool
  /// What the declaration asks for when a record of the owner is deleted.
  let rule: DeleteRule

  init<Owner: Record, Target: Record>(
    _ owner: Owner.Type, _ target: Target.Type, name: String, isInverse: Bool,
    rule: DeleteRule = .automatic
  ) {
    self.rule = rule
    self.owner = AssociatedType(owner)
    self.target = AssociatedType(target)
    self.name = name
    // Either type may declare the lists, so the names decide which end is the first.
    self.isInverse =
      ObjectIdentifier(owner) == ObjectIdentifier(target)
      ? isInverse : self.owner.collection > self.target.collection
  }

  var first: AssociatedType { isInverse ? target : owner }
  var second: AssociatedType { isInverse ? owner : target }
  /// The key of the lists in the catalog.
  var key: String { "\(first.collection)/\(second.collection)/\(name)" }
}

extension ReferenceDeclaration {
  /// Whether two declarations are of one property, and of ids of one type.
  func isSame(as other: ReferenceDeclaration) -> Bool {
    holder.id == other.holder.id && target.id == other.target.id
      && (keyPath == other.keyPath || resolve() == other.resolve())
  }
}
