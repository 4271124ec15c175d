package import Larch

/// The result of a check without the types of the program.
package struct TypelessReport: Sendable {
  /// An index whose keys, or a reference whose ids, cannot be determined from stored records.
  package struct Unproved: Sendable {
    package let collection: String
    /// Nil for a reference.
    package let index: String?
    /// The key of the association; nil for an index.
    package let association: String?
    /// Whether the index is complete; one that is being built is not checked.
    package let isReady: Bool
    /// The number of records whose values only the program can determine; nil for all.
    package let records: Int?
  }

  package fileprivate(set) var report: VerificationReport
  /// Indexes of which it was only checked that each entry leads to a record, and references that
  /// were not checked. Sorted by collection and name, indexes first.
  package fileprivate(set) var unproved: [Unproved] = []
}

extension Store {
  /// Checks the file like ``verify()``, but for all collections in the catalog and without their
  /// types.
  ///
  /// Records are read but not decoded. If only the program can make the keys of an index, each
  /// entry must lead to a record, and its references are not checked.
  ///
  /// - Parameter progress: called from time to time with the number of records read.
  /// - Throws: the errors of ``verify()``, and the errors of `progress`.
  /// - Complexity: that of ``verify()``.
  package func verifyWithoutTypes(
    progress: (Int) throws -> Void = { _ in }
  ) throws -> TypelessReport {
    try environment.withSteadyHandles { check in
      if let report = try damagedPages() { return TypelessReport(report: report) }
      let catalog = try CatalogLoader.typelessCatalog(of: environment)
      var unproved: [TypelessReport.Unproved] = []
      var silent: [String: [Int]] = [:]
      let report = try prove(check) { _, lmdb, report in
        try catalog.run(in: lmdb, of: environment) { context in
          var verifier = RecordVerifier(context)
          for collection in catalog.collections {
            let found = try verifier.verify(collection, into: &report, progress: progress)
            unproved += TypelessReport.unproved(in: collection, found)
            silent[collection.stored.name] = found
          }
        }
        for association in try catalog.storage.associations(in: lmdb)
        where association.kind == .reference {
          unproved += [TypelessReport.unproved(association, in: catalog, silent, &report)]
            .compactMap(\.self)
        }
      }
      return TypelessReport(report: report, unproved: unproved)
    }
  }
}

extension TypelessReport {
  /// - Parameter silent: for each index, the number of records whose keys cannot be determined.
  fileprivate static func unproved(
    in collection: CollectionHandle, _ silent: [Int]
  ) -> [Unproved] {
    zip(collection.allIndexes, silent).filter { index, silent in
      !index.isReady || index.schema.isDecoded || silent > 0
    }.map { index, silent in
      Unproved(
        collection: collection.stored.name, index: index.stored.name, association: nil,
        isReady: index.isReady,
        records: index.isReady && !index.schema.isDecoded ? silent : nil)
    }.sorted { $0.index ?? "" < $1.index ?? "" }
  }

  /// The same for references. It is a fault if the catalog does not have the collection at all.
  fileprivate static func unproved(
    _ association: StoredAssociation, in catalog: Catalog, _ silent: [String: [Int]],
    _ report: inout VerificationReport
  ) -> Unproved? {
    guard let handle = catalog.association(association.key), let holder = handle.first,
      handle.second != nil
    else {
      report.add(
        .init(
          .page, association: association.key,
          detail: "its collections are missing in the file"))
      return nil
    }
    let number = holder.indexes.firstIndex { $0.position == handle.reference?.index }
    let records = number.flatMap { silent[association.first]?[$0] }
    guard records != 0 else { return nil }
    return Unproved(
      collection: association.first, index: nil, association: association.key, isReady: true,
      records: records)
  }
}
