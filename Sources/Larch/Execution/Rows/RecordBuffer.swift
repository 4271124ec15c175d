/// A buffer of records that becomes an array.
///
/// In code that is compiled once for all record types, each `append` to an array looks up its type
/// in the runtime and copies the record, which costs half as much as decoding it. So does each call
/// of a generic structure; a method of a class has its type at hand.
final class RecordBuffer<R> {
  @exclusivity(unchecked) private var start: UnsafeMutablePointer<R>?
  @exclusivity(unchecked) private var capacity = 0
  @exclusivity(unchecked) private(set) var count = 0
  /// The number of records for which memory is allocated at first.
  private let expected: Int

  /// - Parameter limit: the maximum number of records.
  init(limit: Int? = nil) { expected = min(max(limit ?? 8, 1), 64) }

  deinit {
    start?.deinitialize(count: count)
    start?.deallocate()
  }

  /// The address for the next record; call `filled()` once it is there.
  @inline(__always)
  func next() -> UnsafeMutablePointer<R> {
    if count < capacity, let start { return start + count }
    return grow()
  }

  @inline(__always)
  func filled() { count &+= 1 }

  /// Makes a copy of one of the records.
  func copy(_ place: Int, to target: UnsafeMutablePointer<R>) {
    // There is memory as soon as there is a record.
    target.initialize(from: start! + place, count: 1)
  }

  /// Makes room for so many more.
  func reserve(_ more: Int) {
    if count &+ more > capacity { _ = grow(to: max(count &+ more, capacity * 2)) }
  }

  @inline(never)
  private func grow() -> UnsafeMutablePointer<R> { grow(to: max(expected, capacity * 2)) }

  private func grow(to wanted: Int) -> UnsafeMutablePointer<R> {
    capacity = wanted
    let larger = UnsafeMutablePointer<R>.allocate(capacity: capacity)
    if let start {
      larger.moveInitialize(from: start, count: count)
      start.deallocate()
    }
    start = larger
    return larger + count
  }

  /// Moves the records out.
  func takeArray() -> [R] {
    guard let start, count > 0 else { return [] }
    let count = count
    self.count = 0
    return Array(unsafeUninitializedCapacity: count) { buffer, initialized in
      buffer.baseAddress?.moveInitialize(from: start, count: count)
      initialized = count
    }
  }
}
