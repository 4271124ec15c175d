/// The keys of an index scan in the map, with one of their components.
final class WholeKeys {
  let primitive: KeyForm.Primitive
  /// The number of keys so far.
  @exclusivity(unchecked) private(set) var count = 0
  private let tree: MappedTree
  private let ranges: [KeyRange]
  private let component: Int
  /// The place of the component in each key; nil if that is another one from key to key.
  private let place: Range<Int>?
  /// Nil if they have their places in each key.
  private let components: KeyComponents?
  private let filter: KeyFilterProgram?

  /// Nil if the keys do not have the field, or are not in the map.
  ///
  /// - Parameters:
  ///   - first: the number of bytes of the first component, if it is the same in all keys.
  ///   - keyFilter: what is tested on each key.
  init?(
    _ index: IndexHandle, _ ranges: [KeyRange], after first: Int? = nil, _ field: FieldReference,
    keyFilter: [FilterNode] = [], _ context: TransactionContext
  ) throws {
    let component = index.schema.fields.firstIndex {
      $0.identity == field.identity && $0.form == field.form && !$0.isFolded && !$0.isMultiple
    }
    guard let component, field.isStandard, let (primitive, _) = field.form.simple else {
      return nil
    }
    guard let tree = try context.mappedTree(index.database) else { return nil }
    self.primitive = primitive
    self.tree = tree
    self.component = component
    self.ranges = ranges
    place = keyFilter.isEmpty ? index.schema.place(ofComponent: component, after: first) : nil
    let components = place == nil ? KeyComponents(index.schema) : nil
    self.components = components
    filter =
      keyFilter.isEmpty ? nil : components.map { KeyFilterProgram(keyFilter, index.schema, $0) }
  }

  /// Calls with the component of each key, nil for nil, and the number of entries of the key.
  ///
  /// - Parameter inOrderOfIDs: whether each key must have one id, which is greater than that of the key
  ///   before it.
  /// - Returns: false if a key does not decide the filters, or is cut, or ids are in another order,
  ///   or a page is not what it should be.
  @inline(__always)
  func forEach(
    inOrderOfIDs: Bool, _ body: (UnsafeRawBufferPointer?, Int) -> Void
  ) throws -> Bool {
    var lastID: UnsafeRawBufferPointer?
    for range in ranges where !range.isEmpty {
      let isWhole = try range.lower.withUnsafeBytes { lower in
        guard let upper = range.upper else {
          return try forEach(from: lower, to: nil, inOrderOfIDs, &lastID, body)
        }
        return try upper.withUnsafeBytes {
          try forEach(from: lower, to: $0, inOrderOfIDs, &lastID, body)
        }
      }
      guard isWhole else { return false }
    }
    return true
  }

  /// The same for the keys that begin with some bytes, in any order of ids.
  @inline(__always)
  func forEach(
    beginningWith prefix: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer?, Int) -> Void
  ) throws -> Bool {
    try withUnsafeTemporaryAllocation(byteCount: KeyWriter.keyLimit, alignment: 1) { memory in
      var lastID: UnsafeRawBufferPointer?
      let end = KeyRange.successor(ofPrefix: prefix, in: memory)
      return try forEach(from: prefix, to: end, false, &lastID, body)
    }
  }

  /// - Parameter lastID: the id of the last key, if ids must be in order.
  @inline(__always)
  private func forEach(
    from lower: UnsafeRawBufferPointer, to upper: UnsafeRawBufferPointer?, _ inOrderOfIDs: Bool,
    _ lastID: inout UnsafeRawBufferPointer?, _ body: (UnsafeRawBufferPointer?, Int) -> Void
  ) throws -> Bool {
    let (tree, component, components, filter) = (tree, component, components, filter)
    let fixed = self.place
    let hasDuplicates = tree.tree.hasDuplicates
    if inOrderOfIDs, !hasDuplicates { return false }
    return try tree.forEachLeaf(from: lower, to: upper) { leaf, places in
      count += places.count
      for place in places {
        guard let node = tree.node(place, in: leaf) else { return false }
        components?.open(node.key)
        if let filter {
          let outcome = try filter.test()
          if outcome == .no { continue }
          if outcome == .unknown { return false }
        }
        let entries = hasDuplicates ? tree.entries(of: node, in: leaf) : 1
        guard let entries = Int(exactly: entries) else { return false }
        if inOrderOfIDs {
          guard let id = tree.singleEntry(of: node, in: leaf) else { return false }
          if let lastID, !lastID.precedes(id) { return false }
          lastID = id
        }
        if let fixed {
          guard node.keySize >= fixed.upperBound else { return false }
          body(UnsafeRawBufferPointer(rebasing: node.key[fixed]), entries)
          continue
        }
        switch try components?.component(component) {
        case .cut, nil: return false
        case .null: body(nil, entries)
        case .value(let bytes): body(bytes, entries)
        }
      }
      return true
    }
  }
}

extension IndexSchema {
  /// The place of a component in each key, if it and all before it have one size.
  ///
  /// - Parameter first: the size of the first one, if it is the same in all keys.
  fileprivate func place(ofComponent component: Int, after first: Int?) -> Range<Int>? {
    if first != nil, component == 0 { return nil }
    var end = first ?? 0
    for place in (first == nil ? 0 : 1)...component {
      guard let (primitive, isOptional) = fields[place].form.simple, !isOptional,
        let width = primitive.keyWidth
      else { return nil }
      if place == component { return end..<end + width }
      end += width
    }
    return nil
  }
}
