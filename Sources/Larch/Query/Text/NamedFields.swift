/// The fields of a record type by their stored names, for queries whose fields the compiler does not
/// know.
struct NamedFields<R: Record>: QueryFieldSource {
  let forms: FormFields

  init() { forms = FormFields(versions: [TypeProbe.facts(of: R.self).form], isProved: true) }

  /// The path of a name with dots: a field of the record with that name, or the fields on the path.
  func path(_ name: String) -> [String] {
    isField(name)
      ? [name] : name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  private func isField(_ name: String) -> Bool {
    guard case .record(let record)? = forms.versions.first else { return false }
    return record.field(name) != nil
  }

  func field(_ name: QueryText.Name) throws(QueryTextError) -> QueryField {
    if name.names == ["id"] { return .reference(FieldNode<R, R.ID>.id().indexKey().field) }
    // Below a field of unknown form any name is possible, but not in the record itself.
    guard isField(name.names[0]), let kind = forms.kind(of: name.names) else {
      throw forms.unknown(name)
    }
    let property = StoredProperties.find(name.names, in: R.self)
    switch kind {
    case .values(let primitive, _):
      if let field = property?.keyField, property?.isStoredAsKey == true,
        field.form.unwrapped == .primitive(primitive)
      {
        return .reference(field)
      }
      return .other(name.names, primitive.storedKind, isList: false)
    case .elements(let primitive):
      if let field = property?.elementField, property?.isStoredAsKey == true,
        field.form.unwrapped == .primitive(primitive)
      {
        return .reference(field)
      }
      return .other(name.names, primitive.storedKind, isList: true)
    case .other(let kind): return .other(name.names, kind, isList: false)
    case .mixed: return .other(name.names, nil, isList: false)
    case .otherElements: return .other(name.names, nil, isList: true)
    case .record: return .record(forms.fields(in: name.names))
    }
  }

  func orderField(_ name: QueryText.Name) -> FieldReference? {
    StoredProperties.find(name.names, in: R.self)?.keyField
  }

  func node(_ filter: DynamicFilter, _ text: FilterText) -> FilterNode {
    // A stored record can be encoded again.
    .record(
      RecordTest<R>(text: text.whole, textWithoutValues: text.withoutValues) { record in
        filter.matches((try? FieldValue.encoded(record)) ?? .null)
      })
  }
}

/// A stored property that was found by its name.
protocol StoredProperty: AnyObject, Sendable {
  /// The property as a key of its value.
  var keyField: FieldReference? { get }
  /// The property as a key of its elements.
  var elementField: FieldReference? { get }
  /// Whether the keys of its values are the stored values: not for an index value of a type of the
  /// program.
  var isStoredAsKey: Bool { get }

  /// A property of the value.
  func property(named name: String) -> (any StoredProperty)?
}

/// Finds stored properties by the names of their fields.
enum StoredProperties {
  private struct Key: Hashable {
    let type: ObjectIdentifier
    let names: [String]
  }

  /// Only existing properties are kept, so there are not many.
  private static let known = Locked<[Key: any StoredProperty]>([:])

  /// Nil if the memory of the property is not known: its type is a class, for example.
  static func find<R: Record>(_ names: [String], in type: R.Type) -> (any StoredProperty)? {
    let key = Key(type: ObjectIdentifier(type), names: names)
    if let found = known.withLock({ $0[key] }) { return found }
    var property: (any StoredProperty)? = FieldNode<R, R>(
      keyPath: nil, name: "", identity: .stored([]), read: { $0 })
    for name in names { property = property?.property(named: name) }
    guard let property else { return nil }
    return known.withLock { known in
      // Another thread may have been faster.
      if let other = known[key] { return other }
      known[key] = property
      return property
    }
  }
}

extension FieldNode: StoredProperty {
  var keyField: FieldReference? { key?.field }

  var isStoredAsKey: Bool {
    if (keyField ?? elementField)?.isStandard == true { return true }
    var type = Reflection.unwrapped(Value.self)
    if let list = type as? any MemberwiseCollection.Type { type = list.elementType }
    func hasOtherValues<Key: IndexKey>(_: Key.Type) -> Bool { Key.keyCoding.hasOtherValues }
    let leaf = Reflection.unwrapped(type)
    return leaf is any RawRepresentable.Type
      && !((leaf as? any IndexKey.Type).map { hasOtherValues($0) } ?? false)
  }

  func property(named name: String) -> (any StoredProperty)? {
    let owner = Reflection.unwrapped(Value.self)
    let optional = (Value.self as? any OptionalType.Type)?.wrappedType
    guard optional == nil || optional == owner, !FieldNaming.isLeaf(owner),
      let type = owner as? any Decodable.Type,
      let property = TypeProbe.keys(of: type)?.propertyName(ofKey: name),
      let field = TypeLayout(ofStruct: type)?.field(named: property),
      case .stored(let names) = identity
    else { return nil }
    let offset = field.offset
    let path = self.name.isEmpty ? property : "\(self.name).\(property)"
    let identity = FieldIdentity.stored(names + [name])
    let read = read
    func open<Member>(_: Member.Type) -> any StoredProperty {
      if optional == nil {
        return FieldNode<Root, Member>(
          keyPath: nil, name: path, identity: identity,
          read: { StoredMemory.load(from: read($0), offset) })
      }
      // As for a key path: an optional property of an optional is nil if either is.
      if let inner = Member.self as? any OptionalType.Type {
        func flat<Wrapped>(_: Wrapped.Type) -> any StoredProperty {
          FieldNode<Root, Wrapped?>(
            keyPath: nil, name: path, identity: identity,
            read: { root in
              let owner = read(root)
              return StoredMemory.isNil(owner) ? nil : StoredMemory.load(from: owner, offset)
            })
        }
        return _openExistential(inner.wrappedType, do: flat)
      }
      return FieldNode<Root, Member?>(
        keyPath: nil, name: path, identity: identity,
        read: { root in
          let owner = read(root)
          return StoredMemory.isNil(owner)
            ? nil : .some(StoredMemory.load(from: owner, offset) as Member)
        })
    }
    return _openExistential(field.type, do: open)
  }
}

/// The memory of values, by the layouts of their types. The payload of an optional starts at its
/// beginning.
private enum StoredMemory {
  /// The property at an offset; the layout of the type says that one of this type is there.
  static func load<Owner, Member>(from owner: Owner, _ offset: Int) -> Member {
    withUnsafePointer(to: owner) {
      (UnsafeRawPointer($0) + offset).assumingMemoryBound(to: Member.self).pointee
    }
  }

  static func isNil<Owner>(_ owner: Owner) -> Bool {
    guard let optional = Owner.self as? any OptionalMemory.Type else { return false }
    return withUnsafePointer(to: owner) { optional.isNone(at: $0) }
  }
}
