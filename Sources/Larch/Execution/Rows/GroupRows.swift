/// How the values of a group follow from its keys.
enum GroupValues {
  /// The keys have every bit of them.
  case inKeys
  /// Only a record has every bit: which zero it is, or how a text beyond ASCII was written.
  case inRecords
  /// One of them is NaN, which equals nothing: each row is a group.
  case apart

  /// The values of the first components of a key that has all of these.
  init(_ components: KeyComponents, _ count: Int) throws {
    var found = GroupValues.inKeys
    for place in 0..<count {
      guard case .value(let bytes) = try components.component(place),
        let primitive = components.fields[place].form.simple?.primitive
      else { continue }
      switch primitive {
      case .double, .date, .float:
        let number = ComparableNumber.of(primitive, key: bytes)
        if number == ComparableNumber.nan {
          self = .apart
          return
        }
        if number == ComparableNumber.of(0.0) { found = .inRecords }
      case .string, .url: if !bytes.isASCII { found = .inRecords }
      default: break
      }
    }
    self = found
  }
}

/// One row for each group of keys that begin with the same components, in the order of the keys:
/// the first one, or the one with the least id.
///
/// All rows are returned where the keys do not tell the groups, because they are cut or the values
/// are NaN.
final class GroupRows: RowSource {
  let rows: IndexRows
  private let groups: GroupScanner
  private let components: KeyComponents
  private let count: Int
  private let isByID: Bool
  private let idsDescend: Bool
  /// Whether the scan is at a key of which no row was returned.
  private var isAtKey = false
  /// Whether all rows of the current key are returned.
  private var isApart = false
  /// The bytes of the group whose first row was returned.
  private var groupCount: Int?
  private var hasCutKeys = false

  init(_ scan: Plan.IndexScan, _ groups: Plan.Groups, idsDescend: Bool, _ reader: RowReader) throws
  {
    isByID = if case .byID = groups.reading { true } else { false }
    self.idsDescend = idsDescend && isByID
    rows = try IndexRows(scan, descends: false, idsDescend: self.idsDescend, reader)
    self.groups = GroupScanner(rows.scanner, components: groups.components, reader)
    components = rows.scanner.components
    count = groups.components
  }

  override func next() throws -> Bool {
    while true {
      if isApart {
        if try rows.nextInKey() {
          take(rows.id, rows.scanner.key)
          return true
        }
        isApart = false
      }
      guard try nextKey() else { return false }
      components.open(rows.scanner.key)
      guard let group = try components.prefix(count) else {
        hasCutKeys = true
        isApart = true
        continue
      }
      if try GroupValues(components, count) == .apart {
        isApart = true
      } else if isByID ? try takeLeast(of: group) : try takeFirst(of: group) {
        return true
      }
    }
  }

  private func nextKey() throws -> Bool {
    if isAtKey {
      isAtKey = false
      return true
    }
    guard let bytes = groupCount else { return try rows.scanner.nextKey() }
    groupCount = nil
    return try groups.nextKey(outside: bytes)
  }

  private func take(_ id: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) {
    self.id = id
    self.key = key
    record = nil
  }

  private func takeFirst(of group: UnsafeRawBufferPointer) throws -> Bool {
    repeat {
      if try rows.nextInKey() {
        take(rows.id, rows.scanner.key)
        groupCount = group.count
        return true
      }
    } while try nextKey(of: group)
    return false
  }

  private func takeLeast(of group: UnsafeRawBufferPointer) throws -> Bool {
    if rows.areAllEntries, !groups.isWhole,
      let found = try rows.scanner.takeLeastID(ofKeysWith: group)
    {
      take(found.id, found.key)
      isAtKey = found.isAtNext
      return true
    }
    var isFound = false
    repeat {
      // The ids of a key come in the order in which the least is wanted first.
      guard try rows.nextInKey() else { continue }
      if isFound {
        let order = compareBytes(rows.id, id)
        if idsDescend ? order <= 0 : order >= 0 { continue }
      }
      isFound = true
      take(rows.id, rows.scanner.key)
    } while try nextKey(of: group)
    return isFound
  }

  /// Moves to the next key; false if it is not of the group.
  private func nextKey(of group: UnsafeRawBufferPointer) throws -> Bool {
    guard try rows.scanner.nextKey() else { return false }
    isAtKey = !groups.holds(rows.scanner.key, group)
    return !isAtKey
  }

  override func close() { rows.close() }

  override var entriesExamined: Int { rows.entriesExamined }

  override var mayRepeatValues: Bool { hasCutKeys }
}
