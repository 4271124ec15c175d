package import Larch

/// What was proved of a store without the types of the program.
package struct TypelessReport: Sendable {
  /// An index that the records in the file do not tell the keys of, or a reference whose ids they do
  /// not tell.
  package struct Unproved: Sendable {
    package let collection: String
    /// Nil for a reference.
    package let index: String?
    /// The key of the association; nil for an index.
    package let association: String?
    /// Whether the index is complete; one that is being built is not looked at.
    package let isReady: Bool
    /// How many records have values that only the program can tell; nil where all have.
    package let records: Int?
  }

  package fileprivate(set) var report: VerificationReport
  /// Indexes whose entries were only looked at for the records that they lead to, and references
  /// that were not looked up. In the order of their collections and names, indexes first.
  package fileprivate(set) var unproved: [Unproved] = []
}

extension Store {
  /// Proves the file as ``verify()`` does, by what it says of itself: the records, indexes and
  /// references of all collections that the catalog names.
  ///
  /// A record is only read, not decoded. Where only the program can make the keys of an index, each
  /// entry must lead to a record, and references that the index is of are not looked up.
  ///
  /// - Parameter progress: is called now and then with the number of records that were read.
  /// - Throws: the errors of ``verify()``, and what `progress` throws.
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
  /// - Parameter silent: for each index how many records do not tell their keys.
  fileprivate static func unproved(
    in collection: CollectionHandle, _ silent: [Int]
  ) -> [Unproved] {
    zip(collection.indexes, silent).filter { index, silent in
      !index.isReady || index.schema.isDecoded || silent > 0
    }.map { index, silent in
      Unproved(
        collection: collection.stored.name, index: index.stored.name, association: nil,
        isReady: index.isReady,
        records: index.isReady && !index.schema.isDecoded ? silent : nil)
    }.sorted { $0.index ?? "" < $1.index ?? "" }
  }

  /// The same for references. One whose records the catalog does not name at all is a fault.
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
