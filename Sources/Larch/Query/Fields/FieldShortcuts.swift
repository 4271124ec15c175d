internal import Synchronization

/// Finds objects by the address of a key path, without a lock: nearly every filter names fields that
/// were named before.
///
/// Each address has one place, which its first object keeps for as long as the process runs. For another
/// object with the same place there is no shortcut. The address must not be used again for another key
/// path, so the caller keeps what it gives.
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

  private static let count = 512
  /// The address of an `Entry`, which is never freed; 0 for none.
  private let places: UnsafeMutablePointer<Atomic<UInt>>

  init() {
    places = .allocate(capacity: FieldShortcuts.count)
    for place in 0..<FieldShortcuts.count { (places + place).initialize(to: Atomic(0)) }
  }

  /// - Parameters:
  ///   - base: what the key path begins at; nil for a record.
  ///   - isFlattened: whether optionals of the path and of its value are one.
  @inline(__always)
  func find(base: ObjectIdentifier?, member: ObjectIdentifier, isFlattened: Bool) -> AnyObject? {
    let address = place(base, member).pointee.load(ordering: .acquiring)
    guard let pointer = UnsafeRawPointer(bitPattern: address) else { return nil }
    return Unmanaged<Entry>.fromOpaque(pointer)._withUnsafeGuaranteedRef { entry in
      entry.member == member && entry.base == base && entry.isFlattened == isFlattened
        ? entry.object : nil
    }
  }

  func keep(
    _ object: AnyObject, base: ObjectIdentifier?, member: ObjectIdentifier, isFlattened: Bool
  ) {
    let entry = Unmanaged.passRetained(Entry(object, base, member, isFlattened))
    let isFirst = place(base, member).pointee.compareExchange(
      expected: 0, desired: UInt(bitPattern: entry.toOpaque()), ordering: .acquiringAndReleasing
    ).exchanged
    if !isFirst { entry.release() }
  }

  @inline(__always)
  private func place(
    _ base: ObjectIdentifier?, _ member: ObjectIdentifier
  ) -> UnsafeMutablePointer<Atomic<UInt>> {
    let address = UInt(bitPattern: member) ^ (base.map { UInt(bitPattern: $0) } ?? 0) << 5
    let hash = address &* 0x9E37_79B9_7F4A_7C15 >> 40
    return places + Int(hash % UInt(FieldShortcuts.count))
  }
}
