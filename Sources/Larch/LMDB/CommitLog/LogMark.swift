internal import CLMDB

internal import Foundation

/// The mark in both meta pages of a store whose commits are logged.
///
/// After a power failure the pages of such a store are whole only together with its log. So as long as
/// the log is in use, the meta pages have a foreign number of the format, which LMDB reads only when it
/// opens a file: it refuses the store, as does a Larch that does not know the log. The number of the
/// log is kept where LMDB keeps the address of a fixed map, which Larch never asks for. LMDB writes
/// neither of them again.
struct LogMark {
  /// The format's number while the log is in use.
  static let version = PageLayout.markedVersion

  let descriptor: Int32
  let pageSize: Int

  static let versionPlace = PageLayout.headerSize + 4
  static let identityPlace = PageLayout.headerSize + 8

  // A marked store always has the number of its log: that comes to the disk before the mark, and goes
  // after it.

  /// Puts the number of the log into both meta pages, on the disk.
  func name(_ identity: UInt64) throws(LMDBError) {
    try write(identity: identity)
    try flush()
  }

  /// Marks the store, on the disk.
  func set() throws(LMDBError) {
    try write(version: Self.version)
    try flush()
  }

  /// Removes the mark and then the number of the log, on the disk.
  func remove() throws(LMDBError) {
    try write(version: PageLayout.version)
    try flush()
    try name(0)
    // Whoever opens the store at this moment may have put it back; see `putBack`.
    guard try isSet() else { return }
    try write(version: PageLayout.version)
    try flush()
  }

  /// Marks the store again that was opened without its mark, unless the writer needs none any more: its number is gone
  /// then. Of the two, at least the one who looks last sees what the other has written.
  private func putBack() throws(LMDBError) {
    guard try identity() != 0 else { return }
    try write(version: Self.version)
    if try identity() == 0 { try write(version: PageLayout.version) }
  }

  private func write(version: UInt32) throws(LMDBError) {
    for slot in 0..<2 {
      // The byte in which the two versions differ.
      var last = UInt8(truncatingIfNeeded: version >> 24)
      try write(&last, 1, at: slot * pageSize + Self.versionPlace + 3)
    }
  }

  private func write(identity: UInt64) throws(LMDBError) {
    for slot in 0..<2 {
      var word = identity
      try write(&word, 8, at: slot * pageSize + Self.identityPlace)
    }
  }

  func flush() throws(LMDBError) {
    let code = larch_flush_data(descriptor)
    if code != 0 { throw LMDBError(code, "fdatasync") }
  }

  /// The number of the log, if both meta pages agree on one; 0 for none.
  func identity() throws(LMDBError) -> UInt64 {
    let (first, second) = (try identity(of: 0), try identity(of: 1))
    return first == second ? first : 0
  }

  private func identity(of slot: Int) throws(LMDBError) -> UInt64 {
    var word: UInt64 = 0
    let got = try Self.read(&word, descriptor, slot * pageSize + Self.identityPlace)
    return got == 8 ? word : 0
  }

  /// Whether a log is that of this store, which has lost its mark since: a close was cut before it removed the log.
  func hasLeft(_ header: CommitLogHeader) throws(LMDBError) -> Bool {
    guard header.state == .clean, try identity() == 0 else { return false }
    return try newestTransaction() == header.checkpoint
  }

  /// Whether one of the meta pages is marked.
  func isSet() throws(LMDBError) -> Bool {
    for slot in 0..<2 {
      var words: (UInt32, UInt32) = (0, 0)
      _ = try Self.read(&words, descriptor, slot * pageSize + PageLayout.headerSize)
      if words.1 == Self.version { return true }
    }
    return false
  }

  /// The greater number of a transaction in the meta pages.
  func newestTransaction() throws(LMDBError) -> UInt64 {
    var newest: UInt64 = 0
    for slot in 0..<2 {
      var number: UInt64 = 0
      let got = try Self.read(
        &number, descriptor, slot * pageSize + PageLayout.transactionOffset)
      if got == 8 { newest = max(newest, number) }
    }
    return newest
  }

  /// Whether the store at a path is marked.
  static func isSet(path: String) throws(LMDBError) -> Bool {
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { throw LMDBError(errno, "open") }
    defer { Foundation.close(descriptor) }
    guard let pageSize = try pageSize(descriptor) else { return false }
    return try LogMark(descriptor: descriptor, pageSize: pageSize).isSet()
  }

  private static func read<T>(
    _ value: inout T, _ descriptor: Int32, _ place: Int
  ) throws(LMDBError) -> Int {
    let result = withUnsafeMutableBytes(of: &value) { bytes in
      Result { () throws(LMDBError) -> Int in
        try CommitLogFile.read(descriptor, bytes, at: place)
      }
    }
    return try result.get()
  }

  private func write<T>(_ value: inout T, _ count: Int, at place: Int) throws(LMDBError) {
    let written = withUnsafeBytes(of: &value) { bytes in
      pwrite(descriptor, bytes.baseAddress, count, off_t(place))
    }
    // A write that was cut has come to the end of the disk.
    if written != count { throw LMDBError(written < 0 ? errno : ENOSPC, "pwrite") }
  }

  /// Lets `body` open a marked store with LMDB, which checks the number of the format.
  ///
  /// The number is changed for a moment, and only in the memory of the system: nothing is flushed. The writer marks the
  /// store with its first commit and at each checkpoint, which may come at this moment: then it is done again.
  static func withoutMark<T>(
    path: String, _ body: () throws(LMDBError) -> T
  ) throws(LMDBError) -> T {
    let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { throw LMDBError(errno, "open") }
    defer { Foundation.close(descriptor) }
    guard let pageSize = try pageSize(descriptor) else { throw LMDBError(EINVAL, "pread") }
    let mark = LogMark(descriptor: descriptor, pageSize: pageSize)
    var attempts = 0
    while true {
      let isMarked = try mark.isSet()
      do throws(LMDBError) {
        if isMarked { try mark.write(version: PageLayout.version) }
        let value = try body()
        if isMarked { try mark.putBack() }
        return value
      } catch {
        if isMarked { try? mark.putBack() }
        attempts += 1
        guard error.kind == .versionMismatch, attempts < 100 else { throw error }
      }
    }
  }

  /// Removes what a copy has from a store whose commits are logged: the copy is whole by itself.
  ///
  /// - Parameter start: the beginning of the copy, with both meta pages.
  static func remove(fromCopy start: UnsafeMutableRawBufferPointer) {
    guard let base = start.baseAddress, start.count >= PageLayout.metaEnd else { return }
    let first = MetaPage(slot: 0, base)
    guard first.isMeta, first.hasUsablePageSize,
      start.count >= first.pageSize + PageLayout.metaEnd
    else { return }
    for slot in 0..<2 {
      let page = base + slot * first.pageSize
      page.storeBytes(of: PageLayout.version, toByteOffset: versionPlace, as: UInt32.self)
      page.storeBytes(of: 0, toByteOffset: identityPlace, as: UInt64.self)
    }
  }

  /// The same in a file.
  static func remove(fromCopyIn descriptor: Int32) throws(LMDBError) {
    guard let pageSize = try pageSize(descriptor) else { return }
    let mark = LogMark(descriptor: descriptor, pageSize: pageSize)
    try mark.write(version: PageLayout.version)
    try mark.write(identity: 0)
  }

  /// The page size of a store, as its first meta page says; nil if that is impossible.
  static func pageSize(_ descriptor: Int32) throws(LMDBError) -> Int? {
    var bytes = [UInt8](repeating: 0, count: PageLayout.metaEnd)
    let result = bytes.withUnsafeMutableBytes { bytes in
      Result { () throws(LMDBError) -> Int in
        try CommitLogFile.read(descriptor, bytes, at: 0)
      }
    }
    guard try result.get() == bytes.count else { return nil }
    return bytes.withUnsafeBytes { bytes -> Int? in
      guard let base = bytes.baseAddress else { return nil }
      let meta = MetaPage(slot: 0, base)
      return meta.isMeta && meta.hasUsablePageSize ? meta.pageSize : nil
    }
  }
}
