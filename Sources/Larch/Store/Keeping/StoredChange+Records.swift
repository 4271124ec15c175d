extension StoredChange {
  /// Calls with the stored records before and after the change, not verified, and the id.
  func withRecords(
    _ body: (
      _ before: UnsafeRawBufferPointer?, _ after: UnsafeRawBufferPointer?,
      _ id: UnsafeRawBufferPointer
    ) throws -> Void
  ) rethrows {
    func open(
      _ stored: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws -> Void
    ) rethrows {
      guard let stored else { return try body(nil) }
      try stored.withUnsafeBytes { try body(RecordEnvelope.unverified($0)) }
    }
    try id.withUnsafeBytes { id in
      try open(before) { before in try open(after) { try body(before, $0, id) } }
    }
  }
}
