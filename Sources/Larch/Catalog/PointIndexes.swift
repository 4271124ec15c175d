/// Finds the index for `find(by:)`, once per key path of the program.
final class PointIndexes {
  private struct Entry {
    /// Retained, so that its address is not reused.
    let keyPath: AnyKeyPath
    let collection: ObjectIdentifier
    let index: IndexHandle?
    /// How keys are written, a `KeyCoding` of the values that the key path leads to.
    let coding: _Witness
    /// Whether no two records have the same text but for its case, and that is all that is unique.
    let isFolded: Bool
  }

  /// Key paths that are built at run time must not fill the memory.
  private static let limit = 256
  @exclusivity(unchecked) private var last: Entry?
  private var known: [ObjectIdentifier: Entry] = [:]

  /// The index over this field alone with unchanged values as keys; nil if there is none.
  @inline(__always)
  func index<R: Record, Value: IndexKey>(
    of keyPath: KeyPath<R, Value>, in collection: CollectionHandle
  ) -> (index: IndexHandle, coding: KeyCoding<Value>)? {
    let entry: Entry
    if let last, last.keyPath === keyPath, last.collection == ObjectIdentifier(collection) {
      entry = last
    } else {
      entry = lookUp(keyPath, collection)
    }
    // Made for this key path, which has one type of values.
    return entry.index.map { ($0, unsafeDowncast(entry.coding, to: KeyCoding<Value>.self)) }
  }

  /// Whether a look-up by the field ignores case: a value that is unique but for its case is meant
  /// so. It goes by the declarations, not by what is built.
  func isFolded<R: Record, Value: IndexKey>(
    _ keyPath: KeyPath<R, Value>, in collection: CollectionHandle
  ) -> Bool {
    lookUp(keyPath, collection).isFolded
  }

  /// Whether the field is declared unique by itself, but its index does not have all records yet.
  func isUnfinished<R: Record, Value: IndexKey>(
    _ keyPath: KeyPath<R, Value>, in collection: CollectionHandle
  ) -> Bool {
    let field = FieldIdentity(keyPath, FieldNaming.storedPath(of: keyPath))
    return collection.indexes.contains {
      !$0.isReady && $0.schema.isUnique
        && $0.schema.isAlone(field, Value.keyCoding.form, isFolded: false)
    }
  }

  @inline(never)
  private func lookUp<R: Record, Value: IndexKey>(
    _ keyPath: KeyPath<R, Value>, _ collection: CollectionHandle
  ) -> Entry {
    let identity = ObjectIdentifier(keyPath)
    if let found = known[identity], found.collection == ObjectIdentifier(collection) {
      last = found
      return found
    }
    let coding = Value.keyCoding
    let field = FieldIdentity(keyPath, FieldNaming.storedPath(of: keyPath))
    let unique = collection.schema.indexes.filter(\.isUnique)
    let isFolded =
      unique.contains { $0.isAlone(field, coding.form, isFolded: true) }
      && !unique.contains { $0.isAlone(field, coding.form, isFolded: false) }
    let fitting = collection.indexes.filter {
      $0.isReady && $0.schema.isAlone(field, coding.form, isFolded: false)
    }
    let entry = Entry(
      keyPath: keyPath, collection: ObjectIdentifier(collection),
      index: isFolded ? nil : fitting.first { $0.schema.isUnique } ?? fitting.first,
      coding: coding, isFolded: isFolded)
    if known.count >= PointIndexes.limit { known = [:] }
    known[identity] = entry
    last = entry
    return entry
  }
}

extension IndexSchema {
  /// Whether this is an index over one field alone, with a key for every record.
  fileprivate func isAlone(_ field: FieldIdentity, _ form: KeyForm, isFolded: Bool) -> Bool {
    guard !isPartial, fields.count == 1 else { return false }
    let part = fields[0]
    return part.identity == field && part.form == form && part.isFolded == isFolded
      && !part.isMultiple
  }
}
