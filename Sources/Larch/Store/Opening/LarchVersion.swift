/// The versions that a program uses, for the tool and for bug reports.
package enum LarchVersion {
  /// The version of Larch; `docs/releasing.md` says when it changes.
  package static let library = "0.1.0"

  /// The format of new files.
  package static var format: Int { Int(StoredFormat.current) }

  /// The version of LMDB that the program uses.
  package static var lmdb: String {
    let found = LMDBEnvironment.library
    return "\(found.major).\(found.minor).\(found.patch)"
  }
}

/// The format information of a file.
package struct FileFormat: Sendable, Hashable {
  /// The format in which it was written.
  package let version: Int
  /// The oldest format whose programs can read it.
  package let oldestReader: Int
  /// The version of Unicode for the normal form of text keys.
  package let unicode: String
}

extension Store {
  /// The format information of the file.
  ///
  /// - Throws: the errors of ``read(_:)``.
  package func fileFormat() throws -> FileFormat {
    try readCommitted { transaction in
      try transaction.storage { lmdb in
        guard let bytes = try transaction.context.catalog.storage.value(.format, in: lmdb) else {
          throw LarchError(
            .corrupted,
            "The store does not record its format version; restore a backup, or salvage it.")
        }
        let stored = try bytes.withUnsafeBytes { try StoredFormat(decoding: $0) }
        return FileFormat(
          version: Int(stored.version), oldestReader: Int(stored.minimumReader),
          unicode: stored.unicodeVersion)
      }
    }
  }
}
