/// How records of one shape are read as one Swift type: for each coding key where its field is.
final class DecodePlan {
  struct Identity: Hashable {
    let owner: ObjectIdentifier
    let keyType: ObjectIdentifier
    let header: UInt16
  }

  /// What the containers read on every field: plain memory, no references counted.
  struct Hot {
    let identity: Identity
    /// By key byte, filled when a key is met first.
    let entries: UnsafeMutablePointer<DecodeEntry>
    /// By slot.
    let fieldEntries: UnsafeMutablePointer<DecodeEntry>
    let caches: UnsafeMutablePointer<DecodeCache>
    let boxes: UnsafeMutablePointer<Unmanaged<AnyObject>?>
    /// The same as immortal references, where `ReturnedContainer` is trusted; then there are no
    /// boxes.
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
    let entries = UnsafeMutablePointer<DecodeEntry>.allocate(capacity: 256)
    entries.initialize(repeating: DecodeEntry(kind: DecodeEntry.unresolved), count: 256)
    let count = shape.fields.count
    let fieldEntries = UnsafeMutablePointer<DecodeEntry>.allocate(capacity: max(count, 1))
    for slot in 0..<count {
      let layout = shape.layouts[slot]
      var entry = DecodeEntry(kind: layout.kind)
      entry.slot = UInt16(slot)
      entry.fieldKind = shape.fields[slot].kind
      entry.width = layout.width
      entry.maskOffset = UInt16(2 + slot >> 3)
      entry.bit = 1 << UInt8(slot & 7)
      entry.offset = isWide ? layout.wideOffset : layout.offset
      if layout.previousVariable >= 0 {
        let previous = shape.layouts[Int(layout.previousVariable)]
        entry.previousEnd = isWide ? previous.wideOffset : previous.offset
      }
      (fieldEntries + slot).initialize(to: entry)
    }
    let caches = UnsafeMutablePointer<DecodeCache>.allocate(capacity: max(count, 1))
    caches.initialize(repeating: DecodeCache(), count: max(count, 1))
    let boxes = UnsafeMutablePointer<Unmanaged<AnyObject>?>.allocate(
      capacity: RecordFormat.depthLimit)
    boxes.initialize(repeating: nil, count: RecordFormat.depthLimit)
    let references = UnsafeMutablePointer<UnsafeRawPointer?>.allocate(
      capacity: RecordFormat.depthLimit)
    references.initialize(repeating: nil, count: RecordFormat.depthLimit)
    hot = .allocate(capacity: 1)
    hot.initialize(
      to: Hot(
        identity: identity, entries: entries, fieldEntries: fieldEntries, caches: caches,
        boxes: boxes, references: references,
        slotsEnd: isWide ? shape.wideSlotsEnd : shape.slotsEnd, isWide: isWide,
        owner: self))
  }

  deinit {
    for depth in 0..<RecordFormat.depthLimit { hot.pointee.boxes[depth]?.release() }
    hot.pointee.boxes.deallocate()
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

  /// A tagged value for a name that the stored records do not have.
  func defaultValue(of name: String) -> UnsafeRawBufferPointer? { declared?.values[name] }

  /// The names that stored records lack and that have a default.
  var defaultNames: [String] {
    guard let declared else { return [] }
    return declared.values.keys.filter { slot(of: $0) == nil }.sorted()
  }

  /// The names under which a stored field is asked for.
  func names(of field: String) -> [String] {
    [field] + aliases.filter { $0.value.contains(field) && shape.slot(of: $0.key) == nil }.keys
  }
}

/// Where the field of a key is in a record.
struct DecodeEntry {
  /// The key was not met yet.
  static let unresolved: UInt8 = 0xFF
  /// The shape has no such field.
  static let missing: UInt8 = 0xFE

  var kind: UInt8
  var bit: UInt8 = 0
  var maskOffset: UInt16 = 0
  var offset: UInt32 = 0
  /// Where the end of the variable field before this one is stored, 0 when there is none.
  var previousEnd: UInt32 = 0
  var slot: UInt16 = 0
  /// The same as `kind` for a field that is there, without the way from number to case.
  var fieldKind = FieldKind.bool
  var width: UInt8 = 0

  /// The field is of a kind that its value can be read from at once.
  @inline(__always)
  var isKnown: Bool { kind < DecodeEntry.missing && kind != FieldKind.tagged.rawValue }
}

/// Per slot: the type that was read there last, how, and its plan if it is a record too.
struct DecodeCache {
  enum Strategy: UInt8 {
    case direct, date, uuid, data, url, decimal, string, strings, ints, doubles, int64
  }

  var type: ObjectIdentifier?
  var strategy = Strategy.direct
  var plan: UnsafeMutablePointer<DecodePlan.Hot>?

  init() {}

  init(_ type: any Any.Type) {
    self.type = ObjectIdentifier(type)
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

/// Values for fields that records of an older version do not have: encoded once, kept for all reads.
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
