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
    let databases = tree.states.first.map { tree.databases(in: $0, onDamage: note) } ?? []
    let names = Set(databases.map(\.name))
    let isStore = names.isSuperset(of: [CatalogStorage.databaseName, CatalogStorage.shapesName])
    var count = 0
    for database in databases {
      let isCatalog = database.name == CatalogStorage.databaseName
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
        if isCatalog { try expectDatabases(of: key, value, among: names, path) }
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

  /// A page of names has no checksum: a changed letter in it takes a whole database away.
  private static func expectDatabases(
    of key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, among names: Set<String>,
    _ path: String
  ) throws {
    let needed = try CatalogStorage.databases(for: key, CatalogStorage.checked(value, key: key))
    guard let missing = needed.first(where: { !names.contains($0) }) else { return }
    throw LarchError(.corrupted, "The backup lacks data that its catalog names; use another one.") {
      $0.path = path
      $0.detail = missing
    }
  }

  private typealias Proof = (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool

  /// How to check the entries of a database; nil if they have no checksums, like indexes.
  private static func check(of name: String) -> Proof? {
    if name == CatalogStorage.databaseName || name == CatalogStorage.shapesName {
      return { key, value in (try? CatalogStorage.checked(value, key: key)) != nil }
    }
    if name == OutboxTree.name { return { OutboxTree.isPossible($0, $1) } }
    guard let number = CatalogStorage.collection(ofRecordsName: name) else { return nil }
    return { RecordEnvelope.open($1, id: $0, collection: number) != nil }
  }
}
