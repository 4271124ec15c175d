/// Finds the index for `find(by:)`, once per key path of the program.
final class PointIndexes {
  /// What is known of a key path to a value of a field.
  final class Entry {
    // Both are retained, so that their addresses are not reused.
    fileprivate let keyPath: AnyKeyPath
    fileprivate let collection: CollectionHandle
    /// The index over this field alone with unchanged values as keys; nil if there is none.
    let index: IndexHandle?
    /// Writes the keys: a `KeyCoding` of the values of the key path.
    fileprivate let coding: _Witness
    /// The form of the texts in the index by which alone the field is unique, such as lower case.
    fileprivate let textForm: TextForm

    fileprivate init(
      _ keyPath: AnyKeyPath, _ collection: CollectionHandle, _ index: IndexHandle?,
      _ coding: _Witness, _ textForm: TextForm
    ) {
      self.keyPath = keyPath
      self.collection = collection
      self.index = index
      self.coding = coding
      self.textForm = textForm
    }

    /// Writes the key of a value of the field.
    @inline(__always)
    func write<Value: IndexKey>(_ value: Value, to writer: inout KeyWriter) {
      // The caller got the entry with a key path to values of this type.
      unsafeDowncast(coding, to: KeyCoding<Value>.self).write(value, to: &writer, isLast: true)
    }
  }

  /// Key paths that are built at run time must not fill the memory.
  private static let limit = 256
  @exclusivity(unchecked) private var last: Entry?
  private var known: [ObjectIdentifier: Entry] = [:]

  /// The index for a key path, and how its keys are written.
  @inline(__always)
  func entry<R: Record, Value: IndexKey>(
    of keyPath: KeyPath<R, Value>, in collection: CollectionHandle
  ) -> Entry {
    if let last, last.keyPath === keyPath, last.collection === collection {
      return last
    }
    return lookUp(keyPath, collection)
  }

  /// The form of texts in which a look-up by the field compares, because its unique index does. The
  /// declarations decide, not the built indexes.
  func textForm<R: Record, Value: IndexKey>(
    _ keyPath: KeyPath<R, Value>, in collection: CollectionHandle
  ) -> TextForm {
    entry(of: keyPath, in: collection).textForm
  }

  /// Whether the field is declared unique by itself, but its index does not have all records yet.
  func isIncomplete<R: Record, Value: IndexKey>(
    _ keyPath: KeyPath<R, Value>, in collection: CollectionHandle
  ) -> Bool {
    let field = FieldIdentity(keyPath, FieldNaming.storedPath(of: keyPath))
    return collection.indexes.contains {
      !$0.isReady && $0.schema.isUnique
        && $0.schema.isAlone(field, Value.keyCoding.form) && !$0.schema.fields[0].isFolded
    }
  }

  @inline(never)
  private func lookUp<R: Record, Value: IndexKey>(
    _ keyPath: KeyPath<R, Value>, _ collection: CollectionHandle
  ) -> Entry {
    let identity = ObjectIdentifier(keyPath)
    if let found = known[identity], found.collection === collection {
      last = found
      return found
    }
    let coding = Value.keyCoding
    let field = FieldIdentity(keyPath, FieldNaming.storedPath(of: keyPath))
    let unique = collection.schema.indexes.filter(\.isUnique)
    let forms = unique.filter { $0.isAlone(field, coding.form) }.map { $0.fields[0].textForm }
    // The one that tells more texts apart, if there are several.
    let textForm = forms.min { $0.code < $1.code } ?? .exact
    let fitting = collection.indexes.filter {
      $0.isReady && $0.schema.isAlone(field, coding.form) && !$0.schema.fields[0].isFolded
    }
    let entry = Entry(
      keyPath, collection,
      textForm.isFolded ? nil : fitting.first { $0.schema.isUnique } ?? fitting.first,
      coding, textForm)
    if known.count >= PointIndexes.limit { known = [:] }
    known[identity] = entry
    last = entry
    return entry
  }
}

extension IndexSchema {
  /// Whether this is an index over one field alone, with a key for every record.
  fileprivate func isAlone(_ field: FieldIdentity, _ form: KeyForm) -> Bool {
    guard !isPartial, fields.count == 1 else { return false }
    let part = fields[0]
    return part.identity == field && part.form == form && !part.isMultiple
  }
}
