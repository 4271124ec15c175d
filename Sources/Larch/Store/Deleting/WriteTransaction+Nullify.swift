internal import Foundation

/// Removes references to deleted records from the records that stay.
extension WriteTransaction {
  /// Saves the records that stay without their references to deleted records.
  func nullify(_ planner: DeletionPlanner) throws {
    for records in planner.nullified {
      try nullify(records, records.collection.schema.type, planner)
    }
  }

  private func nullify<R: Record>(
    _ records: NullifiedRecords, _ type: R.Type, _ planner: DeletionPlanner
  ) throws {
    let collection = records.collection
    var references: [(reference: TypedReference<R>, target: CollectionHandle)] = []
    for end in context.catalog.ends(of: collection) where end.isFirst {
      guard end.opposite.removesReferences, let target = end.other,
        let reference = end.association.reference?.declaration as? TypedReference<R>
      else { continue }
      references.append((reference, target))
    }
    var bytes = KeyWriter()
    for place in 0..<records.count {
      let key = records[place]
      let found: R?
      do {
        found = try storage { transaction in
          guard let stored = try collection.records.get(key, in: transaction) else { return nil }
          return try context.decode(type, stored, id: key, in: collection)
        }
      } catch let error as LarchError where error.code == .decodingFailed {
        try nullifyStored(key, references, in: collection, planner, because: error)
        continue
      }
      guard var record = found else {
        // The hook of another record may have deleted it.
        if context.catalog.hasHooks { continue }
        throw RecordEnvelope.missing(key, collection.stored)
      }
      if !referenceChanges.isEmpty {
        referenceChanges.forget(.init(place: collection.place, id: [UInt8](key)))
      }
      for (reference, target) in references {
        _ = try reference.removeAll(&record, &bytes) { planner.contains($0, in: target) }
      }
      try update(record)
    }
  }
}

// MARK: - Bytes

/// Changes records that their type cannot decode any more, for example because a case of an enum
/// was removed. The fields are changed in the stored bytes. Code of the type does not run, since
/// there is no value.
extension WriteTransaction {
  /// Removes the references to deleted records from a stored record.
  ///
  /// - Throws: `.decodingFailed` if the references, or all their index entries, cannot be read from
  ///   the bytes.
  func nullifyStored<R: Record>(
    _ key: UnsafeRawBufferPointer,
    _ references: [(reference: TypedReference<R>, target: CollectionHandle)],
    in collection: CollectionHandle, _ planner: DeletionPlanner, because error: LarchError
  ) throws {
    try storage { transaction in
      guard let stored = try collection.records.get(key, in: transaction) else { return }
      let before = [UInt8](try RecordEnvelope.open(stored, id: key, in: collection))
      var after = before
      var changed: [FieldIdentity] = []
      var ids = KeyWriter()
      for (reference, target) in references {
        guard let stored = reference.stored(collection.reading) else { continue }
        let rest = try after.withUnsafeBytes { bytes in
          if case .missing = try stored.path.read(in: bytes, shapes: context.shapes) {
            return after
          }
          return try stored.removing(from: bytes, context.shapes, &ids) {
            planner.contains($0, in: target)
          } ?? []
        }
        if rest == after { continue }
        if rest.isEmpty { throw irremovable(error) }
        after = rest
        changed.append(reference.identity)
      }
      // An index entry led to this record, so it has a reference.
      if changed.isEmpty { throw irremovable(error) }
      try replaceStored(R.self, key, before, after, changed, in: collection, transaction)
    }
  }

  private func irremovable(_ error: LarchError) -> LarchError {
    LarchError(
      .decodingFailed,
      "The record cannot be decoded, so the reference in it cannot be removed; delete the record by its id first, or save another one under its id."
    ) { $0 = error.context }
  }

  /// Stores changed bytes of a record, with a new version and time if its type has them.
  private func replaceStored<R: Record>(
    _ type: R.Type, _ key: UnsafeRawBufferPointer, _ before: [UInt8], _ after: [UInt8],
    _ changed: [FieldIdentity], in collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws {
    var after = after
    let declarations = collection.declarations(of: type)
    if declarations.timestamped != nil { try stamp(&after, as: type, in: collection) }
    var raised: (number: Int128, base: Int128)?
    let versionKey = AssignedVersions.Key(collection: collection.stored.id, id: [UInt8](key))
    if let version = declarations.version,
      let number = try before.withUnsafeBytes({
        try storedVersion(version, in: $0, of: collection)
      })
    {
      let next = version.next(after: number, besides: versions.taken(versionKey))
      try set(version, next, in: &after, of: collection)
      raised = (next, number)
    }
    try before.withUnsafeBytes { before in
      try after.withUnsafeBytes { after in
        try writer.maintainer.updateUndecodable(
          id: key, before: before, after: after, changed: changed, in: collection
        ) {
          try RecordEnvelope.put(
            after, id: key, collection: collection.number, into: collection.records,
            in: transaction)
        }
      }
    }
    writer.noteWrite(in: collection)
    changeCount &+= 1
    if let raised { versions.note(raised.number, versionKey, base: raised.base, outcome) }
  }

  // MARK: Versions

  /// The version of a stored record, from its bytes; nil if they do not contain it.
  func storedVersion<R: Record>(
    _ version: VersionDeclaration<R>, in record: UnsafeRawBufferPointer,
    of collection: CollectionHandle
  ) throws -> Int128? {
    guard case .stored(let names, _) = version.resolve() else { return nil }
    let field = try context.path(names, collection.reading)
      .read(in: record, shapes: context.shapes)
    guard case .value(let kind, _) = field, kind.isInteger else { return nil }
    switch try FieldValue(field, shapes: context.shapes) {
    case .int(let number): return Int128(number)
    case .bigInt(let number): return number
    case .bigUInt(let number): return Int128(truncatingIfNeeded: number)
    default: return nil
    }
  }

  private func set<R: Record>(
    _ version: VersionDeclaration<R>, _ number: Int128, in record: inout [UInt8],
    of collection: CollectionHandle
  ) throws {
    guard case .stored(let names, _) = version.resolve() else { return }
    try rewrite(names, in: &record, of: collection) { field in
      guard case .value(let kind, _) = field, kind.isInteger else { return .same }
      let bytes = withUnsafeBytes(of: number.littleEndian) { [UInt8]($0.prefix(kind.width)) }
      return .value(kind, bytes)
    }
  }

  // MARK: Times

  private func stamp<R: Record>(
    _ record: inout [UInt8], as type: R.Type, in collection: CollectionHandle
  ) throws {
    guard let name = TypeProbe.keys(of: type)?.codingName(ofProperty: "updatedAt") else {
      return
    }
    let seconds = now.timeIntervalSinceReferenceDate.bitPattern.littleEndian
    try rewrite([name], in: &record, of: collection) { field in
      switch field {
      case .absent, .value(.date, _):
        .value(.date, withUnsafeBytes(of: seconds) { [UInt8]($0) })
      case .missing, .value: .same
      }
    }
  }

  /// Changes a field in the bytes of a record, unless they have no place for it.
  private func rewrite(
    _ names: [String], in record: inout [UInt8], of collection: CollectionHandle,
    _ change: (RawField) throws -> FieldReplacement
  ) throws {
    let path = context.path(names, collection.reading)
    let new = try record.withUnsafeBytes {
      try path.rewritten($0, shapes: context.shapes, change)
    }
    if let new { record = new }
  }
}
