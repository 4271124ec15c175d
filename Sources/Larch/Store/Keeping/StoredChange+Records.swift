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

  /// Whether a filter lets the record pass, before and after the change.
  func passes(_ filter: FilterProgram?) throws -> (before: Bool, after: Bool) {
    guard let filter else { return (before != nil, after != nil) }
    var isRow = (before: false, after: false)
    try withRecords { old, new, id in
      if let old { isRow.before = try filter.matches(old, id: id) }
      if let new { isRow.after = try filter.matches(new, id: id) }
    }
    return isRow
  }
}
