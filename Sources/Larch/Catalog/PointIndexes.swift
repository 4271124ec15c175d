/// Finds the index for `find(by:)`, once per key path of the program.
final class PointIndexes {
  private struct Entry {
    /// Retained, so that its address is not reused.
    let keyPath: AnyKeyPath
    let collection: ObjectIdentifier
    let index: IndexHandle?
    /// Whether the field is unique only by an index that ignores case.
    let isFolded: Bool
  }

  /// Key paths that are built at run time must not fill the memory.
  private static let limit = 256
  @exclusivity(unchecked) private var last: Entry?
  private var known: [ObjectIdentifier: Entry] = [:]

  /// The index over this field alone with unchanged values as keys; nil if there is none.
  @inline(__always)
  func index<R: Record, Value>(
    of keyPath: KeyPath<R, Value>, form: () -> KeyForm, in collection: CollectionHandle
  ) -> IndexHandle? {
    if let last, last.keyPath === keyPath, last.collection == ObjectIdentifier(collection) {
      return last.index
    }
    return lookUp(keyPath, form(), collection)
  }

  /// Whether a look-up by the field ignores case, because its unique index does. The declarations
  /// decide, not the built indexes.
  func isFolded<R: Record, Value>(
    _ keyPath: KeyPath<R, Value>, form: KeyForm, in collection: CollectionHandle
  ) -> Bool {
    _ = lookUp(keyPath, form, collection)
    return last?.isFolded ?? false
  }

  /// Whether the field is declared unique by itself, but its index does not have all records yet.
  func isIncomplete<R: Record, Value>(
    _ keyPath: KeyPath<R, Value>, form: KeyForm, in collection: CollectionHandle
  ) -> Bool {
    let field = FieldIdentity(keyPath, FieldNaming.storedPath(of: keyPath))
    return collection.indexes.contains {
      !$0.isReady && $0.schema.isUnique && $0.schema.isAlone(field, form, isFolded: false)
    }
  }

  @inline(never)
  private func lookUp<R: Record, Value>(
    _ keyPath: KeyPath<R, Value>, _ form: KeyForm, _ collection: CollectionHandle
  ) -> IndexHandle? {
    let identity = ObjectIdentifier(keyPath)
    if let found = known[identity], found.collection == ObjectIdentifier(collection) {
      last = found
      return found.index
    }
    let field = FieldIdentity(keyPath, FieldNaming.storedPath(of: keyPath))
    let unique = collection.schema.indexes.filter(\.isUnique)
    let isFolded =
      unique.contains { $0.isAlone(field, form, isFolded: true) }
      && !unique.contains { $0.isAlone(field, form, isFolded: false) }
    let fitting = collection.indexes.filter {
      $0.isReady && $0.schema.isAlone(field, form, isFolded: false)
    }
    let entry = Entry(
      keyPath: keyPath, collection: ObjectIdentifier(collection),
      index: isFolded ? nil : fitting.first { $0.schema.isUnique } ?? fitting.first,
      isFolded: isFolded)
    if known.count >= PointIndexes.limit { known = [:] }
    known[identity] = entry
    last = entry
    return entry.index
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
