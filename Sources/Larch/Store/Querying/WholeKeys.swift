/// The keys of an index scan in the map, with some of their components.
final class WholeKeys {
  /// The type of each component, and its place among those of the index.
  let primitives: [KeyForm.Primitive]
  let components: [Int]
  /// The number of keys so far.
  @exclusivity(unchecked) private(set) var count = 0
  /// The number of searches for the end of a group.
  @exclusivity(unchecked) private(set) var groupsSkipped = 0
  let schema: IndexSchema
  let tree: MappedTree
  private let ranges: [KeyRange]
  /// The place of the only component in each key; nil if that is another one from key to key.
  private let place: Range<Int>?
  /// Nil if the only component has its place in each key.
  let parts: KeyComponents?
  private let filter: KeyFilterProgram?

  /// Nil if the keys do not have the fields, or are not in the map.
  ///
  /// - Parameters:
  ///   - first: the number of bytes of the first component, if it is the same in all keys.
  ///   - keyFilter: what is tested on each key.
  init?(
    _ index: IndexHandle, _ ranges: [KeyRange], after first: Int? = nil,
    _ fields: [FieldReference], keyFilter: [FilterNode] = [], _ context: TransactionContext
  ) throws {
    var (primitives, components) = ([KeyForm.Primitive](), [Int]())
    for field in fields {
      guard let found = index.schema.component(of: field) else { return nil }
      primitives.append(found.primitive)
      components.append(found.place)
    }
    guard let tree = try context.mappedTree(index.database) else { return nil }
    self.primitives = primitives
    self.components = components
    self.tree = tree
    self.ranges = ranges
    schema = index.schema
    place =
      keyFilter.isEmpty && components.count == 1
      ? schema.place(ofComponent: components[0], after: first) : nil
    let parts = place == nil ? KeyComponents(schema) : nil
    self.parts = parts
    filter = keyFilter.isEmpty ? nil : parts.map { KeyFilterProgram(keyFilter, index.schema, $0) }
  }

  /// Calls with each key, split into its components, and the number of its entries, until the closure
  /// returns false.
  ///
  /// - Returns: false if the closure did, or a key does not decide the filters, or a page is not what it
  ///   should be.
  func forEachKey(_ body: (KeyComponents, Int) throws -> Bool) throws -> Bool {
    let parts = parts ?? KeyComponents(schema)
    return try forEachRange { lower, upper in
      try tree.forEachLeaf(from: lower, to: upper) { leaf, places in
        count += places.count
        for place in places {
          guard let node = tree.node(place, in: leaf) else { return false }
          parts.open(node.key)
          if let filter {
            let outcome = try filter.test()
            if outcome == .no { continue }
            if outcome == .unknown { return false }
          }
          guard let entries = tree.entries(of: node, in: leaf), try body(parts, entries) else {
            return false
          }
        }
        return true
      }
    }
  }

  /// Whether conditions are tested on each key.
  var isFiltering: Bool { filter != nil }

  /// Counts keys that were read.
  func add(keys number: Int, groupsSkipped: Int) {
    count &+= number
    self.groupsSkipped &+= groupsSkipped
  }

  @inline(__always)
  func forEachRange(
    _ body: (_ lower: UnsafeRawBufferPointer, _ upper: UnsafeRawBufferPointer?) throws -> Bool
  ) throws -> Bool {
    for range in ranges where !range.isEmpty {
      guard try range.withBounds(body) else { return false }
    }
    return true
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
    return try forEachRange { try forEach(from: $0, to: $1, inOrderOfIDs, &lastID, body) }
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
    let (tree, component, components, filter) = (tree, components[0], parts, filter)
    let fixed = self.place
    if inOrderOfIDs, !tree.tree.hasDuplicates { return false }
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
        guard let entries = tree.entries(of: node, in: leaf) else { return false }
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

extension SummedNumber {
  /// Nil if the keys do not have the field.
  init?(_ field: FieldReference, in schema: IndexSchema) {
    guard let (component, primitive) = schema.component(of: field) else { return nil }
    self.primitive = primitive
    place = schema.place(ofComponent: component, after: 0)
  }
}

extension MappedTree {
  /// Calls with bytes at one place of each key that begins with some others, and the number of entries
  /// of the key.
  ///
  /// - Parameter place: where they are, after the prefix.
  /// - Returns: false if a key is too short, or a page is not what it should be.
  @inline(__always)
  func forEachKey(
    beginningWith prefix: UnsafeRawBufferPointer, at place: Range<Int>,
    _ body: (UnsafeRawBufferPointer, Int) -> Void
  ) -> Bool {
    let place = prefix.count + place.lowerBound..<prefix.count + place.upperBound
    return withUnsafeTemporaryAllocation(byteCount: KeyWriter.keyLimit, alignment: 1) { memory in
      let end = KeyRange.successor(ofPrefix: prefix, in: memory)
      return forEachLeaf(from: prefix, to: end) { leaf, places in
        for number in places {
          guard let node = node(number, in: leaf), node.keySize >= place.upperBound,
            let entries = entries(of: node, in: leaf)
          else { return false }
          body(UnsafeRawBufferPointer(rebasing: node.key[place]), entries)
        }
        return true
      }
    }
  }
}

extension IndexSchema {
  /// The component with the values of a field; nil if keys do not have them.
  fileprivate func component(
    of field: FieldReference
  ) -> (place: Int, primitive: KeyForm.Primitive)? {
    let place = fields.firstIndex {
      $0.identity == field.identity && $0.form == field.form && !$0.isFolded && !$0.isMultiple
    }
    guard let place, field.isStandard, let (primitive, _) = field.form.simple else { return nil }
    return (place, primitive)
  }

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
