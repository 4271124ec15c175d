/// Collects the aggregates of groups from the keys of an index.
///
/// The keys of a group lie together, mostly, so the aggregates of such a run are collected here and given to
/// the columns at its end: a column is an object, and each value of it a search in arrays.
final class GroupKeys {
  /// One aggregate of the run of keys.
  private struct Slot {
    enum Kind { case count, sum, least, greatest, other }

    let kind: Kind
    let column: Unmanaged<AnyAggregateColumn>
    /// The component of the keys that has the values.
    let component: Int
    let primitive: KeyForm.Primitive
    let isSigned: Bool
    /// The records or the values of the run.
    var count = 0
    var sum: Int128 = 0
    /// The best number so far, if there are values, and its bytes in the map.
    var best: UInt64 = 0
    var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  private let table: GroupTable
  private let slots: UnsafeMutablePointer<Slot>
  private let slotCount: Int
  /// The components of the fields of groups.
  private let components: [Int]
  private let primitives: [KeyForm.Primitive]
  /// The number of first components that are equal in a run.
  private let width: Int
  /// Whether each run is another group.
  private let areRunsGroups: Bool
  @exclusivity(unchecked) private var values: [[KeyValue]]
  @exclusivity(unchecked) private var group = -1
  /// The first components of the keys of the run. Keys are in the map, where nothing changes while it is read.
  @exclusivity(unchecked) private var run = UnsafeRawBufferPointer(start: nil, count: 0)

  /// - Parameter places: the place of the field of each aggregate among those of the keys.
  init(_ table: GroupTable, _ keys: WholeKeys, _ places: [Int?]) {
    self.table = table
    let count = table.fields.count
    components = Array(keys.components[0..<count])
    primitives = Array(keys.primitives[0..<count])
    width = (components.max() ?? 0) + 1
    values = Array(repeating: [], count: count)
    // Each of the first components is one of the fields, so the next run has other values.
    areRunsGroups = Set(components).count == width
    slotCount = table.aggregates.count
    slots = .allocate(capacity: max(1, slotCount))
    for (place, aggregate) in table.aggregates.enumerated() {
      let column = Unmanaged.passUnretained(aggregate)
      guard let field = places[place] else {
        (slots + place).initialize(
          to: Slot(
            kind: .count, column: column, component: 0, primitive: .bool, isSigned: false))
        continue
      }
      let primitive = keys.primitives[field]
      let kind: Slot.Kind =
        switch aggregate.extreme {
        case nil: primitive.isWholeNumber ? .sum : .other
        case .least: primitive.isNumber ? .least : .other
        case .greatest: primitive.isNumber ? .greatest : .other
        case .byOwnOrder: .other
        }
      (slots + place).initialize(
        to: Slot(
          kind: kind, column: column, component: keys.components[field], primitive: primitive,
          isSigned: primitive.isSigned))
    }
  }

  deinit { slots.deallocate() }

  /// Adds a key; false if it is not enough.
  ///
  /// - Parameter entries: the number of its records.
  @inline(__always)
  func add(_ key: KeyComponents, _ entries: Int) throws -> Bool {
    guard let prefix = try key.prefix(width) else { return false }
    if group < 0 || !prefix.equals(run) {
      guard try begin(prefix, key) else { return false }
    }
    for place in 0..<slotCount {
      let slot = slots + place
      if slot.pointee.kind == .count {
        slot.pointee.count &+= entries
        continue
      }
      switch try key.component(slot.pointee.component) {
      case .cut: return false
      case .null: if slot.pointee.kind == .other { add(nil, entries, to: slot) }
      case .value(let bytes): add(bytes, entries, to: slot)
      }
    }
    return true
  }

  @inline(__always)
  private func add(
    _ bytes: UnsafeRawBufferPointer?, _ entries: Int, to slot: UnsafeMutablePointer<Slot>
  ) {
    let primitive = slot.pointee.primitive
    guard let bytes, slot.pointee.kind != .other else {
      slot.pointee.column._withUnsafeGuaranteedRef {
        $0.add(primitive, key: bytes, entries, to: group)
      }
      return
    }
    let number = ComparableNumber.of(primitive, key: bytes)
    if slot.pointee.kind == .sum {
      let value =
        slot.pointee.isSigned ? Int128(Int64(bitPattern: number ^ 1 << 63)) : Int128(number)
      slot.pointee.sum += entries == 1 ? value : value * Int128(entries)
      slot.pointee.count &+= entries
      return
    }
    if primitive.isFloatingPoint, number == ComparableNumber.nan { return }
    if slot.pointee.count > 0 {
      let isBetter =
        slot.pointee.kind == .least ? number < slot.pointee.best : number > slot.pointee.best
      if !isBetter { return }
    }
    slot.pointee.count = 1
    slot.pointee.best = number
    slot.pointee.bytes = bytes
  }

  @inline(never)
  private func begin(_ prefix: UnsafeRawBufferPointer, _ key: KeyComponents) throws -> Bool {
    endRun()
    run = prefix
    for place in 0..<values.count {
      switch try key.component(components[place]) {
      case .cut: return false
      case .null: values[place] = [.null]
      case .value(let bytes): values[place] = [KeyValue(primitives[place], key: bytes)]
      }
    }
    group = areRunsGroups ? table.count : table.number(of: values)
    guard group == table.count else { return true }
    for place in 0..<values.count where !table.fields[place].add(values[place]) { return false }
    table.beginGroup()
    return true
  }

  /// Gives the aggregates of the last run of keys to the columns.
  func endRun() {
    guard group >= 0 else { return }
    for place in 0..<slotCount {
      let slot = slots + place
      let (count, primitive) = (slot.pointee.count, slot.pointee.primitive)
      if count == 0 { continue }
      slot.pointee.column._withUnsafeGuaranteedRef { column in
        switch slot.pointee.kind {
        case .count: column.add(.bool, key: nil, count, to: group)
        case .sum: column.add(sum: slot.pointee.sum, of: count, to: group)
        case .least, .greatest: column.add(primitive, key: slot.pointee.bytes, 1, to: group)
        case .other: break
        }
      }
      slot.pointee.count = 0
      slot.pointee.sum = 0
    }
  }
}

extension GroupTable {
  /// Adds all keys of an index that has the fields and those of the aggregates; if these are the least and
  /// greatest values of what follows the fields in the keys, only some keys of each group.
  ///
  /// - Parameter places: the place of the field of each aggregate among those of the keys.
  /// - Returns: false if keys are not enough. The table cannot be used then.
  func addKeys(_ keys: WholeKeys, _ places: [Int?]) throws -> Bool {
    let width = (keys.components[0..<fields.count].max() ?? 0) + 1
    let areExtremes = zip(aggregates, places).allSatisfy { aggregate, place in
      (aggregate.extreme == .least || aggregate.extreme == .greatest)
        && place.map { keys.components[$0] == width } ?? false
    }
    let groups = GroupKeys(self, keys, places)
    let isWhole =
      areExtremes && !keys.isFiltering
      ? try keys.forEachExtreme(
        of: width, withGreatest: aggregates.contains { $0.extreme == .greatest }
      ) { try groups.add($0, 1) } : try keys.forEachKey { try groups.add($0, $1) }
    groups.endRun()
    return isWhole && aggregates.allSatisfy { $0.endOfKeys() }
  }
}
