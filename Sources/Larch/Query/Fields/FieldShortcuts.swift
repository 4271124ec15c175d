internal import Synchronization

/// Finds objects by the address of a key path, without a lock: nearly every filter names fields that
/// were named before.
///
/// An object has the first free place from that of its address on, and keeps it for as long as the process runs.
/// Without a free one among the next few there is no shortcut. The address must not be used again for another
/// key path, so the caller keeps what it gives.
struct FieldShortcuts: @unchecked Sendable {
  /// Immutable, so that a thread may read it while another one looks for it.
  private final class Entry {
    let base: ObjectIdentifier?
    let member: ObjectIdentifier
    let isFlattened: Bool
    let object: AnyObject

    init(
      _ object: AnyObject, _ base: ObjectIdentifier?, _ member: ObjectIdentifier,
      _ isFlattened: Bool
    ) {
      self.object = object
      self.base = base
      self.member = member
      self.isFlattened = isFlattened
    }
  }

  private static let count = 1024
  /// The places that an object may have.
  static let attempts = 8
  /// The address of an `Entry`, which is never freed; 0 for none.
  private let places: UnsafeMutablePointer<Atomic<UInt>>

  init() {
    places = .allocate(capacity: Self.count)
    for place in 0..<Self.count { (places + place).initialize(to: Atomic(0)) }
  }

  /// - Parameters:
  ///   - base: what the key path begins at; nil for a record.
  ///   - isFlattened: whether optionals of the path and of its value are one.
  @inline(__always)
  func find(base: ObjectIdentifier?, member: ObjectIdentifier, isFlattened: Bool) -> AnyObject? {
    var place = Self.place(base, member)
    for _ in 0..<Self.attempts {
      let address = (places + place).pointee.load(ordering: .acquiring)
      guard let pointer = UnsafeRawPointer(bitPattern: address) else { return nil }
      let found = Unmanaged<Entry>.fromOpaque(pointer)._withUnsafeGuaranteedRef { entry in
        entry.member == member && entry.base == base && entry.isFlattened == isFlattened
          ? entry.object : nil
      }
      if let found { return found }
      place = Self.next(place)
    }
    return nil
  }

  func keep(
    _ object: AnyObject, base: ObjectIdentifier?, member: ObjectIdentifier, isFlattened: Bool
  ) {
    let entry = Unmanaged.passRetained(Entry(object, base, member, isFlattened))
    var place = Self.place(base, member)
    for _ in 0..<Self.attempts {
      let isFree = (places + place).pointee.compareExchange(
        expected: 0, desired: UInt(bitPattern: entry.toOpaque()), ordering: .acquiringAndReleasing
      ).exchanged
      if isFree { return }
      place = Self.next(place)
    }
    entry.release()
  }

  @inline(__always)
  private static func next(_ place: Int) -> Int { (place + 1) % count }

  @inline(__always)
  static func place(_ base: ObjectIdentifier?, _ member: ObjectIdentifier) -> Int {
    let address = UInt(bitPattern: member) ^ (base.map { UInt(bitPattern: $0) } ?? 0) << 5
    let hash = address &* 0x9E37_79B9_7F4A_7C15 >> 40
    return Int(hash % UInt(count))
  }
}
