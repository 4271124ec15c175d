/// How to read records of one shape as one Swift type: the field of each coding key.
final class DecodePlan {
  struct Identity: Hashable {
    let owner: ObjectIdentifier
    let keyType: ObjectIdentifier
    let header: UInt16
  }

  /// The data that containers read for every field, in plain memory without reference counts.
  struct Hot {
    let identity: Identity
    /// By key byte; filled at the first use of a key.
    let entries: UnsafeMutablePointer<FieldPlace>
    /// By slot.
    let fieldEntries: UnsafeMutablePointer<FieldPlace>
    let caches: UnsafeMutablePointer<DecodeCache>
    /// The container at each depth as an immortal reference, if `ReturnedContainer` is trusted.
    let references: UnsafeMutablePointer<UnsafeRawPointer?>
    let slotsEnd: Int
    let isWide: Bool
    unowned(unsafe) let owner: DecodePlan
  }

  let shape: Shape
  let hot: UnsafeMutablePointer<Hot>
  private let aliases: [String: [String]]
  private let declared: FieldDefaults?

  init(_ identity: Identity, shape: Shape, aliases: [String: [String]], defaults: FieldDefaults?) {
    self.shape = shape
    self.aliases = aliases
    declared = defaults
    let isWide = identity.header & RecordFormat.wideBit != 0
    let entries = UnsafeMutablePointer<FieldPlace>.allocate(capacity: 256)
    entries.initialize(repeating: FieldPlace(kind: FieldPlace.unresolved), count: 256)
    let count = shape.fields.count
    let fieldEntries = UnsafeMutablePointer<FieldPlace>.allocate(capacity: max(count, 1))
    for slot in 0..<count {
      (fieldEntries + slot).initialize(to: FieldPlace(slot, in: shape, isWide: isWide))
    }
    let caches = UnsafeMutablePointer<DecodeCache>.allocate(capacity: max(count, 1))
    caches.initialize(repeating: DecodeCache(), count: max(count, 1))
    let references = UnsafeMutablePointer<UnsafeRawPointer?>.allocate(
      capacity: RecordFormat.depthLimit)
    references.initialize(repeating: nil, count: RecordFormat.depthLimit)
    hot = .allocate(capacity: 1)
    hot.initialize(
      to: Hot(
        identity: identity, entries: entries, fieldEntries: fieldEntries, caches: caches,
        references: references,
        slotsEnd: isWide ? shape.wideSlotsEnd : shape.slotsEnd, isWide: isWide,
        owner: self))
  }

  deinit {
    hot.pointee.references.deallocate()
    hot.pointee.caches.deallocate()
    hot.pointee.fieldEntries.deallocate()
    hot.pointee.entries.deallocate()
    hot.deallocate()
  }

  /// The field for a key, under its own name or an older one.
  func slot(of name: String) -> Int? {
    if let slot = shape.slot(of: name) { return slot }
    for older in aliases[name] ?? [] {
      if let slot = shape.slot(of: older) { return slot }
    }
    return nil
  }

  /// The tagged default of a field that the stored records do not have.
  func defaultValue(of name: String) -> UnsafeRawBufferPointer? { declared?.values[name] }

  /// The names of fields with a default that stored records do not have.
  var defaultNames: [String] {
    guard let declared else { return [] }
    return declared.values.keys.filter { slot(of: $0) == nil }.sorted()
  }

  /// The coding names for a stored field.
  func names(of field: String) -> [String] {
    [field] + aliases.filter { $0.value.contains(field) && shape.slot(of: $0.key) == nil }.keys
  }
}

/// For each slot: the last type that was read there, how, and its plan if it is a record too.
struct DecodeCache {
  enum Strategy: UInt8 {
    case direct, date, uuid, data, url, decimal, string, strings, ints, doubles, int64
  }

  var type: ObjectIdentifier?
  var strategy = Strategy.direct
  var plan: UnsafeMutablePointer<DecodePlan.Hot>?
  /// How the type names its fields.
  var keyStrategy = KeyStrategy.asWritten

  init() {}

  init(_ type: any Any.Type) {
    self.type = ObjectIdentifier(type)
    keyStrategy = KeyStrategy.of(type)
    strategy =
      switch Leaf.strategy(of: type) {
      case .date: .date
      case .uuid: .uuid
      case .data: .data
      case .url: .url
      case .decimal: .decimal
      case .string: .string
      case .strings: .strings
      case .ints: .ints
      case .doubles: .doubles
      case .int64: .int64
      default: .direct
      }
  }
}

/// Values for fields that older records do not have: encoded once, and kept for all reads.
final class FieldDefaults {
  /// Tagged values, in memory of this object.
  let values: [String: UnsafeRawBufferPointer]

  init(_ encoded: [String: [UInt8]]) {
    values = encoded.mapValues { bytes in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
      copy.copyBytes(from: bytes)
      return UnsafeRawBufferPointer(copy)
    }
  }

  deinit { for value in values.values { value.deallocate() } }
}
