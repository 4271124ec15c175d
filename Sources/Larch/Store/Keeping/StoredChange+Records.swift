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

/// A change of a record that a filter lets pass before the change, after it, or both times.
struct PassingChange {
  var change: StoredChange
  var isRow: (before: Bool, after: Bool)
}

extension [RecordChanges] {
  /// The changes of records that pass a filter, by several commits in a row, each id once.
  ///
  /// Most changes concern other observers. So the bytes are compared with the filter where they lie,
  /// and only what passes is copied and folded. What passes neither before nor after a commit is the
  /// same as nothing for all that a filter lets pass.
  ///
  /// - Parameter most: one commit may have so many; nil for more.
  func passing(_ filter: FilterProgram?, most: Int) throws -> [PassingChange]? {
    var all: [PassingChange] = []
    var areTooMany = false
    for commit in self {
      try commit.forEach { id, before, after in
        if areTooMany { return }
        var isRow = (before: before != nil, after: after != nil)
        if let filter {
          if let before {
            isRow.before = try filter.matches(RecordEnvelope.unverified(before), id: id)
          }
          if let after {
            isRow.after = try filter.matches(RecordEnvelope.unverified(after), id: id)
          }
        }
        guard isRow.before || isRow.after else { return }
        if count == 1, all.count == most {
          areTooMany = true
          return
        }
        let change = StoredChange(
          id: [UInt8](id), before: before.map { [UInt8]($0) }, after: after.map { [UInt8]($0) })
        all.append(PassingChange(change: change, isRow: isRow))
      }
    }
    if areTooMany { return nil }
    return count > 1 ? all.folded() : all
  }
}

extension [PassingChange] {
  private func folded() -> [PassingChange] {
    var places: [[UInt8]: Int] = [:]
    var all: [PassingChange] = []
    for item in self {
      guard let place = places.updateValue(all.count, forKey: item.change.id) else {
        all.append(item)
        continue
      }
      places[item.change.id] = place
      let first = all[place]
      all[place] = PassingChange(
        change: StoredChange(
          id: item.change.id, before: first.change.before, after: item.change.after),
        isRow: (first.isRow.before, item.isRow.after))
    }
    return all.filter {
      $0.change.before != $0.change.after && ($0.isRow.before || $0.isRow.after)
    }
  }
}
