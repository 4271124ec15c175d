/// Counts the rows of each group of an index scan, ascending by the values of one field, which is
/// the last component of the groups.
///
/// The values come from the keys. Only a cut key stands for several values: then the field is read
/// from the records.
final class GroupCounter {
  /// The values of the current group, in the form of keys.
  private(set) var values: [KeyValue] = []
  private(set) var count = 0
  /// The id of a record of the group.
  private(set) var id = UnsafeRawBufferPointer(start: nil, count: 0)

  private let scanner: IndexScanner
  private let groups: GroupScanner
  private let components: KeyComponents
  private let componentCount: Int
  private let primitive: KeyForm.Primitive
  private let hasFilter: Bool
  /// Tested on the record if the key is not enough.
  private let filter: FilterProgram?
  private let field: FieldReference
  private let path: FieldPath?
  private unowned let run: PlanRun
  /// Whether the scan is at a key that was not counted.
  private var isAtKey = false
  /// The number of bytes of the group that was counted without stepping to its end.
  private var groupCount: Int?
  /// The values of a cut key that were not returned, descending.
  private var cutGroups: [(values: [KeyValue], count: Int, id: UnsafeRawBufferPointer)] = []

  init(
    _ scanner: IndexScanner, _ scan: Plan.IndexScan, _ groups: Plan.Groups,
    _ field: FieldReference, _ run: PlanRun
  ) throws {
    self.scanner = scanner
    self.groups = GroupScanner(scanner, components: groups.components, run.reader)
    self.field = field
    self.run = run
    components = scanner.components
    componentCount = groups.components
    primitive = field.form.simple?.primitive ?? .bool
    hasFilter = !scan.keyFilter.isEmpty
    filter = try FilterProgram.of(scan.keyFilter, context: run.context, typed: run.typed)
    path = field.storedPath.map { run.context.path($0, run.collection.reading) }
  }

  /// Moves to the next group that has rows; false after the last one.
  func next() throws -> Bool {
    while true {
      if let group = cutGroups.popLast() {
        (values, count, id) = group
        return true
      }
      guard try nextKey() else { return false }
      components.open(scanner.key)
      guard let group = try components.prefix(componentCount) else {
        try readCutKey()
        continue
      }
      switch try components.component(componentCount - 1) {
      case .value(let bytes): values = [KeyValue(primitive, key: bytes)]
      case .null, .cut: values = [.null]
      }
      if hasFilter {
        try countFiltered(group)
        if count == 0 { continue }
      } else {
        id = scanner.id
        count = try groups.countIDs(within: group.count)
        groupCount = group.count
      }
      return true
    }
  }

  private func nextKey() throws -> Bool {
    if isAtKey {
      isAtKey = false
      return true
    }
    guard let bytes = groupCount else { return try scanner.nextKey() }
    groupCount = nil
    return try groups.nextKey(outside: bytes)
  }

  private func countFiltered(_ group: UnsafeRawBufferPointer) throws {
    count = 0
    repeat {
      if !scanner.isUndecided {
        if count == 0 { id = scanner.id }
        count += try scanner.idCount()
      } else {
        while try scanner.nextID() {
          guard try matches(try run.reader.read(scanner.id)) else { continue }
          if count == 0 { id = scanner.id }
          count += 1
        }
      }
      guard try scanner.nextKey() else { return }
    } while groups.holds(scanner.key, group)
    isAtKey = true
  }

  private func matches(_ record: UnsafeRawBufferPointer) throws -> Bool {
    guard scanner.isUndecided, let filter else { return true }
    return try run.reader.matches(filter, record, scanner.id)
  }

  private func readCutKey() throws {
    var rows: [(values: [KeyValue], id: UnsafeRawBufferPointer)] = []
    while try scanner.nextID() {
      let record = try run.reader.read(scanner.id)
      if try matches(record) { rows.append((try values(in: record), scanner.id)) }
    }
    rows.sort { KeyValue.compare($0.values, $1.values) > 0 }
    for row in rows {
      if let last = cutGroups.last, KeyValue.compare(last.values, row.values) == 0 {
        cutGroups[cutGroups.count - 1].count += 1
      } else {
        cutGroups.append((row.values, 1, row.id))
      }
    }
  }

  private func values(in record: UnsafeRawBufferPointer) throws -> [KeyValue] {
    if let path,
      case .value(let kind, let bytes) = try path.read(in: record, shapes: run.context.shapes),
      kind == primitive.storedKind, let value = try KeyValue(stored: kind, bytes)
    {
      return [value.ofKey]
    }
    return try run.typed.values(of: field, in: record).first?.map(\.ofKey) ?? [.null]
  }
}
