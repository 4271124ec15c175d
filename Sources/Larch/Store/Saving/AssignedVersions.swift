/// The versions that saves assigned to records and that were undone or may still be undone.
///
/// A record in memory keeps its version even if the save was undone, because the closure of the
/// write threw or ran again. No other save may get the same number, or the two records could not be
/// distinguished. But that record can still be saved if nobody else has saved it in the meantime.
///
/// Unchecked, since only the thread that has the write lock uses it.
final class AssignedVersions: @unchecked Sendable {
  struct Key: Hashable {
    let collection: UInt32
    let id: [UInt8]
  }

  /// Consecutive versions of one record, which are kept or undone together.
  private struct Assigned {
    /// The stored version before the first of them; nil for an insert.
    let base: Int128?
    var numbers: ClosedRange<Int128>
    let outcome: TransactionOutcome
  }

  private var assigned: [Key: [Assigned]] = [:]
  /// With so many entries, those of committed versions are removed.
  private var limit = 1024
  /// With more undone entries than this, all are removed.
  private static let hardLimit = 1 << 17

  /// The numbers that must not be assigned to the record again.
  func taken(_ key: Key) -> [ClosedRange<Int128>] {
    guard let known = assigned[key] else { return [] }
    let open = known.filter { $0.outcome.verdict != .kept }
    assigned[key] = open.isEmpty ? nil : open
    return open.map(\.numbers)
  }

  /// Remembers a number that a save assigns.
  func note(_ number: Int128, _ key: Key, base: Int128?, _ outcome: TransactionOutcome) {
    if assigned.count >= limit { forget() }
    var known = assigned[key] ?? []
    if let last = known.last, last.outcome === outcome, last.numbers.upperBound == base,
      number > last.numbers.upperBound
    {
      known[known.count - 1].numbers = last.numbers.lowerBound...number
    } else {
      known.append(Assigned(base: base, numbers: number...number, outcome: outcome))
    }
    assigned[key] = known
  }

  /// Whether a record with this version is based on the stored one.
  func isCurrent(_ number: Int128, stored: Int128, _ key: Key) -> Bool {
    guard let known = assigned[key] else { return number == stored }
    let undone = known.filter { $0.outcome.verdict == .undone }
    var base = Int128?.some(number)
    // The undone part may have saved the record several times: each version is based on the
    // previous one.
    for _ in undone {
      guard let number = base, let last = undone.last(where: { $0.numbers.contains(number) })
      else { break }
      base = last.base
    }
    if base == stored { return true }
    if number == stored {
      // Another program has assigned the same number. This record may or may not be the stored one,
      // so it is refused once. After that, the number means the stored record.
      let open = known.filter { $0.outcome.verdict == .pending }
      assigned[key] = open.isEmpty ? nil : open
    }
    return false
  }

  private func forget() {
    assigned = assigned.compactMapValues { known in
      let open = known.filter { $0.outcome.verdict != .kept }
      return open.isEmpty ? nil : open
    }
    if assigned.count > AssignedVersions.hardLimit { assigned = [:] }
    limit = max(1024, assigned.count * 2)
  }
}

extension WriteTransaction {
  /// Whether updates of the type compare versions.
  func isVersioned<R: Record>(_ type: R.Type) throws -> Bool {
    try context.collection(of: type).declarations(of: type).version != nil
  }

  /// Throws `.conflict` if the record is not based on the stored one. Otherwise it sets the stored
  /// version, so that the version alone is not a change.
  func checkVersion<R: Record>(
    of record: inout R, _ current: Int128, in collection: CollectionHandle,
    _ version: VersionDeclaration<R>
  ) throws {
    let number = version.number(record)
    let key = try versionKey(record, in: collection)
    guard versions.isCurrent(number, stored: current, key) else {
      throw LarchError(
        .conflict,
        "The record was saved by someone else after it was read; fetch it again, then repeat the change."
      ) {
        $0.collection = collection.stored.name
        $0.id = key.id.withUnsafeBytes { collection.stored.idKind.text(of: $0) }
        $0.detail = "version \(number), stored \(current)"
      }
    }
    version.set(&record, current)
  }

  /// Sets the version to the one after the stored version.
  func raiseVersion<R: Record>(
    of record: inout R, _ stored: Int128?, in collection: CollectionHandle,
    _ version: VersionDeclaration<R>
  ) throws {
    let taken = versions.taken(try versionKey(record, in: collection))
    version.set(&record, version.next(after: stored ?? version.number(record), besides: taken))
  }

  /// Remembers the version of a record that was written.
  func noteVersion<R: Record>(
    of record: R, _ stored: Int128?, in collection: CollectionHandle,
    _ version: VersionDeclaration<R>
  ) throws {
    versions.note(
      version.number(record), try versionKey(record, in: collection), base: stored, outcome)
  }

  /// Sets the stored version in a record that replaces the stored one without a comparison.
  func takeStoredVersion<R: Record>(into record: inout R) throws {
    let collection = try context.collection(of: R.self)
    guard let version = collection.declarations(of: R.self).version else { return }
    let number: Int128? = try storage { transaction in
      let key = try context.key(of: record.id)
      guard let stored = try collection.records.get(key, in: transaction) else { return nil }
      let bytes = try RecordEnvelope.open(stored, id: key, in: collection)
      if let number = try storedVersion(version, in: bytes, of: collection) { return number }
      // The record was stored before its type had a version. If the type cannot decode it, there is
      // no version to compare.
      return try readable(R.self, stored, id: key, in: collection).map(version.number)
    }
    guard let number else { return }
    version.set(&record, number)
  }

  private func versionKey<R: Record>(
    _ record: R, in collection: CollectionHandle
  ) throws -> AssignedVersions.Key {
    AssignedVersions.Key(
      collection: collection.stored.id, id: [UInt8](try context.key(of: record.id)))
  }
}
