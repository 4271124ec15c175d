/// Checks a store file before LMDB maps it.
///
/// LMDB trusts its file: a damaged one ends the process with a signal. These checks read the file
/// themselves, so that arbitrary bytes give an error instead.
package enum FileCheck {
  /// Checks both meta pages and the length, without reading the other pages.
  ///
  /// LMDB itself checks only the flag, the magic and the version of both meta pages, and uses the
  /// one with the higher transaction number.
  package static func checkHeader(path: String) throws {
    _ = try header(PageFile(path: path))
  }

  /// The number of the last commit, from the header.
  package static func lastTransaction(path: String) throws -> UInt64 {
    try header(PageFile(path: path)).transaction
  }

  /// The number of named databases in the header, limited to the number of handles that a program
  /// can have, since the header may be damaged.
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

  /// Reads the whole file and refuses anything that could crash LMDB in reads or writes.
  package static func verify(path: String) throws -> PageReport {
    let file = try PageFile(path: path)
    for _ in 0..<8 {
      let meta = try header(file)
      let walk = try PageWalk(file: file, meta: meta)
      do throws(PageFault) {
        return try walk.run()
      } catch {
        // If another process commits, a page may have been overwritten since the check began.
        try file.refreshLength()
        guard try newest(file) != meta else { throw corrupted(path, error) }
      }
    }
    throw LarchError(
      .storage, "The file changes too fast to be checked; verify a copy of it."
    ) { $0.path = path }
  }

  /// Whether the file is a store, valid or damaged, or a file of another program with LMDB.
  static func looksLikeStore(path: String) -> Bool {
    guard let file = try? PageFile(path: path), let pair = try? MetaPage.readPair(file) else {
      return false
    }
    return pair.first.isMeta || pair.second?.isMeta == true
  }

  /// Whether the file is a store of Larch, valid or damaged, as far as it is readable.
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

  /// The meta page that LMDB will use, after all checks of the header.
  static func header(_ file: PageFile) throws -> MetaPage {
    // Another process may be writing a meta page; a torn page does not persist.
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
    for meta in [first, second].compactMap({ $0 }) where meta.isMeta && !meta.isMarked {
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
      guard meta.isMeta, meta.version == PageLayout.version || meta.isMarked else {
        throw corrupted(path, PageFault(page, "a header page is destroyed"))
      }
      if let reason = meta.fault { throw corrupted(path, PageFault(page, reason)) }
    }
    if first.pageSize != second.pageSize {
      throw corrupted(path, PageFault(1, "the header pages name different page sizes"))
    }
    let newest = first.transaction < second.transaction ? second : first
    let other = newest.slot == 0 ? second : first
    // Each commit writes the other page, so the numbers are consecutive: this detects most changes
    // of a number, which would restore an older state of the store.
    let isFresh = newest.transaction == 0 && other.transaction == 0
    if !isFresh, newest.transaction != other.transaction &+ 1 {
      throw corrupted(path, PageFault(1, "the transaction numbers are not consecutive"))
    }
    // Nothing uses the roots of the other page, and they may be beyond its last page: if writing a
    // header fails, LMDB restores the old number and the old last page, but not the roots.
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
    // be shorter than the header says if the free list has all missing pages.
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

/// The result of a check of the whole file.
package struct PageReport: Sendable, Equatable {
  /// The size of a page in bytes.
  package var pageSize = 0
  /// The transaction whose state was checked.
  package var transaction: UInt64 = 0
  /// The number of pages, including both meta pages.
  package var pages: UInt64 = 0
  /// The number of pages in trees and overflow runs.
  package var usedPages: UInt64 = 0
  /// The number of pages in the free list.
  package var freePages: UInt64 = 0
  /// The number of named databases.
  package var databases: UInt64 = 0
  /// The number of entries of all named databases and of the main tree.
  package var entries: UInt64 = 0

  /// The number of pages that are neither used nor free: lost space, but no danger.
  package var lostPages: UInt64 { pages &- 2 &- usedPages &- freePages }
}
