/// Which versions of what a program was built with: for the tool, and for reports of faults.
package enum LarchVersion {
  /// The version of Larch; `docs/releasing.md` says when it changes.
  package static let library = "0.1.0"

  /// The format of the files that it makes.
  package static var format: Int { Int(StoredFormat.current) }

  /// The version of LMDB that the program found.
  package static var lmdb: String {
    let found = LMDBEnvironment.library
    return "\(found.major).\(found.minor).\(found.patch)"
  }
}

/// What a file says of its format.
package struct FileFormat: Sendable, Hashable {
  /// The format it was written in.
  package let version: Int
  /// The oldest format that a program must know to read it.
  package let oldestReader: Int
  /// The version of Unicode whose normal form the keys of texts are in.
  package let unicode: String
}

extension Store {
  /// What the file says of its format.
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
