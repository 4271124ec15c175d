/// How a declaration reads its field: a stored property of a struct is read at its offset, which
/// costs a tenth of a key path.
struct FieldAccess<R: Record, Value>: Sendable {
  private let keyPath: any KeyPath<R, Value> & Sendable
  /// The offset of the value in the record, if it is stored without a property wrapper or observer.
  private let offset: Int?

  init(_ keyPath: any KeyPath<R, Value> & Sendable) {
    self.keyPath = keyPath
    offset = MemoryLayout<R>.offset(of: keyPath)
  }

  /// Calls with the address of the value in the record at an address, which must be that of an `R`.
  @inline(__always)
  func withValue<T>(
    at record: UnsafeRawPointer, _ body: (UnsafePointer<Value>) throws -> T
  ) rethrows -> T {
    // The offset comes from the key path and its types.
    if let offset { return try body((record + offset).assumingMemoryBound(to: Value.self)) }
    let value = record.assumingMemoryBound(to: R.self).pointee[keyPath: keyPath]
    return try withUnsafePointer(to: value) { try body($0) }
  }

  /// Writes the key of the value in the record at an address, which must be that of an `R`. Without
  /// a closure, which would retain what it captures for each key.
  @inline(__always)
  func writeKey(
    _ key: KeyCoding<Value>, of record: UnsafeRawPointer, to writer: inout KeyWriter, isLast: Bool
  ) {
    guard let offset else {
      let value = record.assumingMemoryBound(to: R.self).pointee[keyPath: keyPath]
      return key.write(value, to: &writer, isLast: isLast)
    }
    // As above.
    key.write(
      (record + offset).assumingMemoryBound(to: Value.self).pointee, to: &writer, isLast: isLast)
  }
}
