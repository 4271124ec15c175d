/// Checks a store file without its types: a backup must pass before it is used.
enum BackupCheck {
  /// The number of entries between two calls that may stop the check.
  private static let interval = 4096

  static func check(_ path: String, tick: () throws -> Void) throws {
    _ = try FileCheck.verify(path: path)
    let tree = try PageTree(path: path)
    var fault: LarchError?
    // The pages were valid, so the disk returns other data now.
    let note: PageTree.Damage = { page, reason in
      if fault != nil { return }
      fault = LarchError(.corrupted, "The backup is damaged; use another one.") {
        $0.path = path
        $0.page = page
        $0.detail = reason.description
      }
    }
    var isStore = false
    var count = 0
    for database in tree.states.first.map({ tree.databases(in: $0, onDamage: note) }) ?? [] {
      if database.name == CatalogStorage.databaseName { isStore = true }
      guard let isSound = check(of: database.name) else { continue }
      try tree.forEachEntry(of: database, onDamage: note) { key, value in
        guard isSound(key, value) else {
          throw LarchError(
            .checksumMismatch, "A record of the backup is damaged; use another one, or salvage it."
          ) {
            $0.path = path
            $0.detail = database.name
          }
        }
        count += 1
        if count % interval == 0 { try tick() }
      }
    }
    if let fault { throw fault }
    guard isStore else {
      throw LarchError(
        .notAStore, "The file is an LMDB file, but not one that Larch made; choose another path."
      ) { $0.path = path }
    }
    try tick()
  }

  private typealias Proof = (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool

  /// How to check the entries of a database; nil if they have no checksums, like indexes.
  private static func check(of name: String) -> Proof? {
    if name == CatalogStorage.databaseName || name == CatalogStorage.shapesName {
      return { key, value in (try? CatalogStorage.checked(value, key: key)) != nil }
    }
    guard let number = CatalogStorage.collection(ofRecordsName: name) else { return nil }
    return { RecordEnvelope.open($1, id: $0, collection: number) != nil }
  }
}
