/// Looks at a store file before LMDB maps it.
///
/// LMDB trusts its file: a damaged one ends the process by a signal. These checks read the file
/// themselves, so that any bytes at all give an error instead.
package enum FileCheck {
  /// Checks what can be checked without walking the file: both meta pages and the length.
  ///
  /// LMDB itself looks only at the flag, the magic and the version of both meta pages and takes
  /// the one with the higher transaction number.
  package static func checkHeader(path: String) throws {
    _ = try header(PageFile(path: path))
  }

  /// The number of the last commit, from the header alone.
  package static func lastTransaction(path: String) throws -> UInt64 {
    try header(PageFile(path: path)).transaction
  }

  /// How many named databases the header says that there are; at most so many as a program can
  /// have handles for, since nothing has proved the number.
  static func databaseCount(path: String) throws -> Int {
    let count = try header(PageFile(path: path)).main.entries
    return Int(min(count, 1 << 14))
  }

  /// Whether the newest state of a file has a database of this name. Others may write meanwhile.
  static func hasDatabase(_ name: String, path: String) throws -> Bool {
    let tree = try PageTree(path: path)
    guard let state = tree.states.first else { return false }
    return tree.databases(in: state) { _, _ in }.contains { $0.name == name }
  }

  /// Walks the whole file and refuses whatever LMDB could stumble over, in reads and in writes.
  package static func verify(path: String) throws -> PageReport {
    let file = try PageFile(path: path)
    for _ in 0..<8 {
      let meta = try header(file)
      let walk = try PageWalk(file: file, meta: meta)
      do throws(PageFault) {
        return try walk.run()
      } catch {
        // A page may have been overwritten since the walk began, if another process commits.
        try file.refreshLength()
        guard try newest(file) != meta else { throw corrupted(path, error) }
      }
    }
    throw LarchError(
      .storage, "The file changes too fast to be checked; verify a copy of it."
    ) { $0.path = path }
  }

  /// Whether the file is a store, sound or damaged, or of another program that uses LMDB.
  static func looksLikeStore(path: String) -> Bool {
    guard let file = try? PageFile(path: path), let pair = try? MetaPage.readPair(file) else {
      return false
    }
    return pair.first.isMeta || pair.second?.isMeta == true
  }

  /// Whether the file is a store of Larch, sound or damaged, as far as that can be read.
  static func isLarchStore(path: String) -> Bool {
    guard looksLikeStore(path: path), let tree = try? PageTree(path: path) else { return false }
    return tree.states.contains { state in
      tree.databases(in: state) { _, _ in }.contains { $0.name.hasPrefix("larch.") }
    }
  }

  private static func newest(_ file: PageFile) throws -> MetaPage? {
    guard let pair = try MetaPage.readPair(file), let second = pair.second else { return nil }
    return pair.first.transaction < second.transaction ? second : pair.first
  }

  /// The meta page that LMDB will use, after all checks that need no walk.
  static func header(_ file: PageFile) throws -> MetaPage {
    // Another process may be writing a meta page at this moment; a torn view does not stay.
    for _ in 0..<3 {
      if let meta = try? headerOnce(file) { return meta }
      try file.refreshLength()
    }
    return try headerOnce(file)
  }

  private static func headerOnce(_ file: PageFile) throws -> MetaPage {
    let path = file.path
    if file.length == 0 {
      throw LarchError(
        .notAStore, "The file is empty; delete it to create a new store, or restore a backup."
      ) { $0.path = path }
    }
    guard let (first, second) = try MetaPage.readPair(file) else { throw notAStore(path) }
    for meta in [first, second].compactMap({ $0 }) where meta.isMeta {
      if meta.version > PageLayout.version { throw newerFormat(path, meta.version) }
    }
    if !first.isMeta, second?.isMeta != true {
      if first.magic == PageLayout.magic.byteSwapped {
        throw LarchError(
          .notAStore,
          "The file was written on a machine with the other byte order; export it there, then import it here."
        ) { $0.path = path }
      }
      throw notAStore(path)
    }
    guard let second else {
      throw LarchError(
        .truncated, "The file ends inside its header; restore a backup."
      ) { $0.path = path }
    }
    for meta in [first, second] {
      let page = UInt64(meta.slot)
      guard meta.isMeta, meta.version == PageLayout.version else {
        throw corrupted(path, PageFault(page, "a header page is destroyed"))
      }
      if let reason = meta.fault { throw corrupted(path, PageFault(page, reason)) }
    }
    if first.pageSize != second.pageSize {
      throw corrupted(path, PageFault(1, "the header pages name different page sizes"))
    }
    let newest = first.transaction < second.transaction ? second : first
    let other = newest.slot == 0 ? second : first
    // Each commit writes the other page, so the numbers follow each other: this notices most
    // changes of a number, which would bring back an older state of the store.
    let isFresh = newest.transaction == 0 && other.transaction == 0
    if !isFresh, newest.transaction != other.transaction &+ 1 {
      throw corrupted(path, PageFault(1, "the transaction numbers are not consecutive"))
    }
    // Nobody follows the roots of the other page, and they may lead behind its last page: when the
    // write of a header fails, LMDB puts the number and the last page back that were there before,
    // but not the roots.
    for tree in [newest.freeList, newest.main]
    where tree.root != PageLayout.noPage && tree.root > newest.lastPage {
      throw corrupted(
        path, PageFault(UInt64(newest.slot), "the root of a tree is not in the file"))
    }
    try checkLength(file, newest)
    return newest
  }

  private static func checkLength(_ file: PageFile, _ meta: MetaPage) throws {
    let pages = file.length / UInt64(meta.pageSize)
    if pages >= meta.lastPage + 1 { return }
    // LMDB does not write a page that a transaction took from the end and gave back: the file may
    // be shorter than the header says where the free list has all of the missing pages.
    if let walk = try? PageWalk(file: file, meta: meta), walk.freeListCoversMissingPages() {
      return
    }
    throw LarchError(
      .truncated, "The file is shorter than its header says; restore a backup, or salvage it."
    ) {
      $0.path = file.path
      $0.detail = "\(pages) of \(meta.lastPage + 1) pages"
    }
  }

  private static func notAStore(_ path: String) -> LarchError {
    LarchError(.notAStore, "The file is not a Larch store; check the path, or choose another.") {
      $0.path = path
    }
  }

  private static func newerFormat(_ path: String, _ version: UInt32) -> LarchError {
    LarchError(
      .newerFormat, "The file was written by a newer version of LMDB; open it with a newer Larch."
    ) {
      $0.path = path
      $0.detail = "data format \(version)"
    }
  }

  private static func corrupted(_ path: String, _ fault: PageFault) -> LarchError {
    LarchError(
      .corrupted, "The file is damaged; restore a backup, or salvage the readable records."
    ) {
      $0.path = path
      $0.page = fault.page
      $0.detail = fault.reason.description
    }
  }
}

/// What a whole walk of a file found.
package struct PageReport: Sendable, Equatable {
  /// The size of a page in bytes.
  package var pageSize = 0
  /// The number of the transaction whose state was walked.
  package var transaction: UInt64 = 0
  /// All pages, with both meta pages.
  package var pages: UInt64 = 0
  /// Pages that a tree or an overflow run uses.
  package var usedPages: UInt64 = 0
  /// Pages in the free list.
  package var freePages: UInt64 = 0
  /// Named databases.
  package var databases: UInt64 = 0
  /// Entries of all named databases and of the main tree.
  package var entries: UInt64 = 0

  /// Pages that nothing uses and the free list does not have: space lost, not a danger.
  package var lostPages: UInt64 { pages &- 2 &- usedPages &- freePages }
}
