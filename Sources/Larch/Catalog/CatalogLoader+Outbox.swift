extension LMDBEnvironment {
  /// Begins to record all commits of the store, by whichever program: see `makeOutbox`. An older Larch,
  /// which would not record its own, refuses the store from here on.
  ///
  /// - Throws: `.readOnly`, `.notAStore`, and what a write throws.
  /// - Complexity: one small write.
  package func beginOutbox(
    role: OutboxRole, identity: [UInt8]? = nil, place: LogPlace, isOwnPlace: Bool = false
  ) throws {
    try makeOutbox(role: role, identity: identity, place: place, isOwnPlace: isOwnPlace) {
      try setFormat(hasOutbox: true, in: $0)
    }
  }

  /// Ends the outbox; what was not shipped is dropped. An older Larch may open the store again.
  ///
  /// - Throws: `.unsuitableFile` if there is none, and what a write throws.
  /// - Complexity: O(bytes that were not shipped).
  package func endOutbox() throws {
    try removeOutbox { try setFormat(hasOutbox: false, in: $0) }
  }

  private func setFormat(hasOutbox: Bool, in transaction: LMDBTransaction) throws {
    let loader = CatalogLoader(self, StoreSchema())
    let storage = try loader.openStorage(in: transaction)
    try storage.setFormat(hasOutbox: hasOutbox, in: transaction)
    // Programs that have the store open read the format again.
    try loader.raiseGeneration(in: transaction)
  }
}

extension CatalogStorage {
  /// Says which programs may use the file. What a newer program has added behind stays.
  fileprivate func setFormat(hasOutbox: Bool, in transaction: LMDBTransaction) throws {
    guard var format = try value(.format, in: transaction), format.count >= 4 else { return }
    // A program that knows searches knows outboxes too.
    if oldestReader(format) >= StoredFormat.withSearch { return }
    let oldest = hasOutbox ? StoredFormat.withOutbox : StoredFormat.current
    try set(&format, oldest: oldest, in: transaction)
  }

  private func set(
    _ format: inout [UInt8], oldest: UInt16, in transaction: LMDBTransaction
  ) throws {
    withUnsafeBytes(of: oldest.littleEndian) { format.replaceSubrange(2..<4, with: $0) }
    try set(.format, to: format, in: transaction)
  }

  private func oldestReader(_ format: [UInt8]) -> UInt16 {
    format.count < 4 ? 0 : UInt16(format[2]) | UInt16(format[3]) << 8
  }

  /// Whether only programs that know the pending entries of searches use the file.
  func allowsPendingWords(in transaction: LMDBTransaction) throws -> Bool {
    oldestReader(try value(.format, in: transaction) ?? []) >= StoredFormat.withPendingWords
  }

  /// Says that a program must know searches and their pending entries to use the file: from the first search on, and
  /// from the first change of an older one.
  func requirePendingWords(in transaction: LMDBTransaction) throws {
    guard var format = try value(.format, in: transaction), format.count >= 4,
      oldestReader(format) < StoredFormat.withPendingWords
    else { return }
    try set(&format, oldest: StoredFormat.withPendingWords, in: transaction)
  }
}

extension StateFile {
  /// Completes a store from all its pairs: see `finish`.
  ///
  /// - Parameter header: what its outbox begins with; nil for a store that is not mirrored.
  /// - Throws: `.damagedLog` if there is no catalog among the pairs; `.newerFormat`, `.fileExists`,
  ///   `.diskFull`, `.ioFailure`.
  package func complete(_ header: OutboxHeader?) throws {
    try finish(header) { try StateFile.setFormat(hasOutbox: header != nil, in: $0) }
  }

  /// Gives a file that nobody has open another outbox, without entries.
  package static func replaceOutbox(ofFileAt path: String, with header: OutboxHeader) throws {
    try change(path) { transaction in
      try setOutbox(header, in: transaction, path: path)
      try setFormat(hasOutbox: true, in: transaction)
    }
  }

  private static func setFormat(hasOutbox: Bool, in transaction: LMDBTransaction) throws {
    guard let entries = try LMDBDatabase.open(CatalogStorage.databaseName, in: transaction),
      let shapes = try LMDBDatabase.open(CatalogStorage.shapesName, in: transaction)
    else {
      throw LarchError(
        .damagedLog, "What the log sent has no catalog; check the server, then retry.")
    }
    let storage = CatalogStorage(entries: entries, shapes: shapes)
    guard let format = try storage.value(.format, in: transaction) else { return }
    _ = try format.withUnsafeBytes { try StoredFormat(decoding: $0) }
    try storage.setFormat(hasOutbox: hasOutbox, in: transaction)
  }
}
