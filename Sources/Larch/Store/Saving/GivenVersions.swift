/// The versions that saves gave to records and that may be undone, or were.
///
/// A record in memory keeps a version that was undone: the closure of a write threw, or ran again.
/// Another save must not be given the same number, or the two could not be distinguished; and the
/// record may still be saved where nobody else saved it meanwhile. It belongs to the store, and is
/// only used by the thread that has the write lock.
final class GivenVersions: @unchecked Sendable {
  struct Key: Hashable {
    let collection: UInt32
    let id: [UInt8]
  }

  /// The numbers that a record was given one after the other, with the same end.
  private struct Given {
    /// What was stored before the first; nil for an insert.
    let base: Int128?
    var numbers: ClosedRange<Int128>
    let outcome: TransactionOutcome
  }

  private var given: [Key: [Given]] = [:]
  /// Those that were kept are forgotten when there are so many.
  private var limit = 1024
  /// More that were undone than this are not remembered.
  private static let hardLimit = 1 << 17

  /// The numbers that are not to be given again for a record.
  func taken(_ key: Key) -> [ClosedRange<Int128>] {
    guard let known = given[key] else { return [] }
    let open = known.filter { $0.outcome.verdict != .kept }
    given[key] = open.isEmpty ? nil : open
    return open.map(\.numbers)
  }

  /// Takes note of a number that is given.
  func note(_ number: Int128, _ key: Key, base: Int128?, _ outcome: TransactionOutcome) {
    if given.count >= limit { forget() }
    var known = given[key] ?? []
    if let last = known.last, last.outcome === outcome, last.numbers.upperBound == base,
      number > last.numbers.upperBound
    {
      known[known.count - 1].numbers = last.numbers.lowerBound...number
    } else {
      known.append(Given(base: base, numbers: number...number, outcome: outcome))
    }
    given[key] = known
  }

  /// Whether a record with this version was made of the stored one.
  func isCurrent(_ number: Int128, stored: Int128, _ key: Key) -> Bool {
    guard let known = given[key] else { return number == stored }
    let undone = known.filter { $0.outcome.verdict == .undone }
    var base = Int128?.some(number)
    // Saved several times in what was undone: each led to the next.
    for _ in undone {
      guard let number = base, let last = undone.last(where: { $0.numbers.contains(number) })
      else { break }
      base = last.base
    }
    if base == stored { return true }
    if number == stored {
      // Another program gave the number too. It is refused once, since nobody can tell whether the
      // record is the stored one; the one that is fetched then is.
      let open = known.filter { $0.outcome.verdict == .pending }
      given[key] = open.isEmpty ? nil : open
    }
    return false
  }

  private func forget() {
    given = given.compactMapValues { known in
      let open = known.filter { $0.outcome.verdict != .kept }
      return open.isEmpty ? nil : open
    }
    if given.count > GivenVersions.hardLimit { given = [:] }
    limit = max(1024, given.count * 2)
  }
}

extension WriteTransaction {
  /// Whether updates of the type compare versions.
  func isVersioned<R: Record>(_ type: R.Type) throws -> Bool {
    try context.collection(of: type).declarations(of: type).version != nil
  }

  /// Throws `.conflict` for a record that was not made of the stored one, and gives the others the
  /// version of that, so that it is no change by itself.
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

  /// Gives the record the version after the stored one.
  func raiseVersion<R: Record>(
    of record: inout R, _ stored: Int128?, in collection: CollectionHandle,
    _ version: VersionDeclaration<R>
  ) throws {
    let taken = versions.taken(try versionKey(record, in: collection))
    version.set(&record, version.next(after: stored ?? version.number(record), besides: taken))
  }

  /// Takes note of the version of a record that was written.
  func noteVersion<R: Record>(
    of record: R, _ stored: Int128?, in collection: CollectionHandle,
    _ version: VersionDeclaration<R>
  ) throws {
    versions.note(
      version.number(record), try versionKey(record, in: collection), base: stored, outcome)
  }

  /// Gives a record that replaces what is stored, whatever that is, the version of it.
  func takeStoredVersion<R: Record>(into record: inout R) throws {
    let collection = try context.collection(of: R.self)
    guard let version = collection.declarations(of: R.self).version else { return }
    let number: Int128? = try storage { transaction in
      let key = try context.key(of: record.id)
      guard let stored = try collection.records.get(key, in: transaction) else { return nil }
      let bytes = try RecordEnvelope.open(stored, id: key, in: collection)
      if let number = try storedVersion(version, in: bytes, of: collection) { return number }
      // A record that was stored before its type had a version. Where its type cannot decode it, the
      // update compares none.
      return try readable(R.self, stored, id: key, in: collection).map(version.number)
    }
    guard let number else { return }
    version.set(&record, number)
  }

  private func versionKey<R: Record>(
    _ record: R, in collection: CollectionHandle
  ) throws -> GivenVersions.Key {
    GivenVersions.Key(
      collection: collection.stored.id, id: [UInt8](try context.key(of: record.id)))
  }
}
