extension WholeKeys {
  /// So many keys of a group are read before a search for its end. A search costs about as much as these.
  private static let mostSteps = 8
  /// The same after a search: one key more tells that the next group is small.
  private static let fewestSteps = 2

  /// Calls with keys of each group, until the closure returns false: among them are those with the least
  /// value of a component and, if it is asked for, with the greatest one. A group is the keys that have the
  /// components before that one in common.
  ///
  /// The least values come first in a group, so the rest of it is skipped. Nil and NaN are no values.
  ///
  /// - Returns: false if the closure did, or there are filters, or a key is cut in these components, or a
  ///   page is not what it should be.
  func forEachExtreme(
    of component: Int, withGreatest: Bool, _ body: (KeyComponents) throws -> Bool
  ) throws -> Bool {
    if isFiltering { return false }
    let parts = parts ?? KeyComponents(schema)
    let primitive = schema.fields[component].form.simple?.primitive
    // Two bounds are needed at once.
    return try withUnsafeTemporaryAllocation(byteCount: KeyWriter.keyLimit, alignment: 1) {
      memory in
      try forEachRange { lower, upper in
        var group = GroupOfKeys(
          cursor: MappedCursor(tree), upper: upper, component: component, primitive: primitive,
          parts: parts)
        defer { add(keys: group.count, groupsSkipped: group.searches) }
        return try group.readAll(from: lower, withGreatest: withGreatest, memory, body)
      }
    }
  }

  /// Goes from group to group in one range of keys.
  private struct GroupOfKeys {
    var cursor: MappedCursor
    let upper: UnsafeRawBufferPointer?
    let component: Int
    let primitive: KeyForm.Primitive?
    let parts: KeyComponents
    /// The number of keys that were read.
    var count = 0
    /// The number of searches, beside the first one.
    var searches = 0
    /// After a search the next group is expected to be large too.
    private var steps = WholeKeys.mostSteps

    init(
      cursor: MappedCursor, upper: UnsafeRawBufferPointer?, component: Int,
      primitive: KeyForm.Primitive?, parts: KeyComponents
    ) {
      self.cursor = cursor
      self.upper = upper
      self.component = component
      self.primitive = primitive
      self.parts = parts
    }

    mutating func readAll(
      from lower: UnsafeRawBufferPointer, withGreatest: Bool,
      _ memory: UnsafeMutableRawBufferPointer, _ body: (KeyComponents) throws -> Bool
    ) throws -> Bool {
      var move = cursor.seek(atOrAfter: lower)
      while move == .found, isInRange {
        parts.open(cursor.key)
        guard let group = try parts.prefix(component) else { return false }
        guard let next = try read(group, withGreatest, memory, body) else { return false }
        move = next
      }
      return move != .unclear
    }

    private var isInRange: Bool { upper.map { compareBytes(cursor.key, $0) < 0 } ?? true }

    /// Reads a group from its first key on, and moves to the key after it; nil where the keys do not tell.
    private mutating func read(
      _ group: UnsafeRawBufferPointer, _ withGreatest: Bool,
      _ memory: UnsafeMutableRawBufferPointer, _ body: (KeyComponents) throws -> Bool
    ) throws -> MappedCursor.Move? {
      var read = 0
      while true {
        guard let hasValue = try readKey(body) else { return nil }
        read += 1
        var move: MappedCursor.Move
        if read < steps {
          move = cursor.next()
        } else if hasValue {
          steps = WholeKeys.fewestSteps
          let end = KeyRange.successor(ofPrefix: group, in: memory)
          if withGreatest, try !readGreatest(before: end, body) { return nil }
          guard let end else { return .end }
          searches += 1
          return cursor.seek(atOrAfter: end)
        } else {
          // The keys with this nil or NaN are skipped.
          guard let same = try parts.prefix(component + 1) else { return nil }
          guard let end = KeyRange.successor(ofPrefix: same, in: memory) else { return .end }
          searches += 1
          move = cursor.seek(atOrAfter: end)
        }
        guard move == .found else { return move }
        if !isInRange { return .end }
        if !cursor.key.begins(with: group) {
          if read < steps { steps = WholeKeys.mostSteps }
          return .found
        }
      }
    }

    /// Calls with the current key; nil if it is not enough, else whether it has a value.
    private mutating func readKey(_ body: (KeyComponents) throws -> Bool) throws -> Bool? {
      count += 1
      parts.open(cursor.key)
      guard try body(parts) else { return nil }
      switch try parts.component(component) {
      case .cut: return nil
      case .null: return false
      case .value(let bytes):
        guard let primitive, primitive.isFloatingPoint else { return true }
        return ComparableNumber.of(primitive, key: bytes) != ComparableNumber.nan
      }
    }

    /// Calls with the last key of the group that has a value. The current key is of the group, and has one.
    ///
    /// - Parameter end: the least bytes after the group; nil if there are none.
    private mutating func readGreatest(
      before end: UnsafeRawBufferPointer?, _ body: (KeyComponents) throws -> Bool
    ) throws -> Bool {
      var last = self
      defer { (count, searches) = (last.count, last.searches) }
      var bound = end
      if let upper, end.map({ compareBytes(upper, $0) < 0 }) ?? true { bound = upper }
      while true {
        last.searches += 1
        guard last.cursor.seek(before: bound) == .found else { return false }
        guard let hasValue = try last.readKey(body) else { return false }
        if hasValue { return true }
        bound = try parts.prefix(component + 1)
      }
    }
  }
}
