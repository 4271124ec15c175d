/// Finds the index that answers `find(by:)`, once for each key path of the program.
final class PointIndexes {
  private struct Entry {
    /// Held, so that its address is not given to another one.
    let keyPath: AnyKeyPath
    let collection: ObjectIdentifier
    let index: IndexHandle?
  }

  /// Key paths that are built at run time must not fill the memory.
  private static let limit = 256
  @exclusivity(unchecked) private var last: Entry?
  private var known: [ObjectIdentifier: Entry] = [:]

  /// The index over this field alone whose keys are the values as they are; nil if there is none.
  @inline(__always)
  func index<R: Record, Value>(
    of keyPath: KeyPath<R, Value>, form: () -> KeyForm, in collection: CollectionHandle
  ) -> IndexHandle? {
    if let last, last.keyPath === keyPath, last.collection == ObjectIdentifier(collection) {
      return last.index
    }
    return lookUp(keyPath, form(), collection)
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
    let fitting = collection.indexes.filter { index in
      guard index.isReady, !index.schema.isPartial, index.schema.fields.count == 1 else {
        return false
      }
      let part = index.schema.fields[0]
      return part.identity == field && part.form == form && !part.isFolded && !part.isMultiple
    }
    let entry = Entry(
      keyPath: keyPath, collection: ObjectIdentifier(collection),
      index: fitting.first { $0.schema.isUnique } ?? fitting.first)
    if known.count >= PointIndexes.limit { known = [:] }
    known[identity] = entry
    last = entry
    return entry.index
  }
}
