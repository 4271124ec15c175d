/// The data file format of LMDB 0.9, as far as needed for reading.
///
/// All numbers are native-endian and 64-bit page numbers are assumed: LMDB files do not move
/// between byte orders or word sizes.
enum PageLayout {
  static let magic: UInt32 = 0xBEEF_C0DE
  static let version: UInt32 = 1
  /// The version in the header of a store while its commits are logged, so that nobody opens it without
  /// the log. It differs from the other one in its last byte only: the write of one byte is there or
  /// not, and no third version comes of one that failed.
  static let markedVersion: UInt32 = 0x4C00_0001
  static let headerSize = 16
  static let nodeHeaderSize = 8
  static let databaseRecordSize = 48
  /// The page header, and the fields of the meta page from the magic to the transaction id.
  static let metaEnd = headerSize + 136
  /// The offset of the transaction number in a meta page.
  static let transactionOffset = headerSize + 32 + 2 * databaseRecordSize
  static let maximumKeySize = 511
  /// LMDB uses the page size of the operating system, at most 32 KiB, since the upper bound of a
  /// page's free space must fit 16 bits; below 4 KiB its longest keys would not fit a page.
  static let pageSizes = 4_096...32_768
  /// LMDB's cursors have room for 32 pages, and a split in a write adds a level without a check.
  static let maximumDepth = 30
  static let noPage = UInt64.max
  /// More than any current 64-bit processor lets a process map.
  static let maximumMapSize: UInt64 = 1 << 48

  static let branch: UInt16 = 0x01
  static let leaf: UInt16 = 0x02
  static let overflow: UInt16 = 0x04
  static let meta: UInt16 = 0x08
  static let dirty: UInt16 = 0x10
  static let fixedLeaf: UInt16 = 0x22
  /// LMDB writes inner pages with the dirty bit set, and would copy a page without it.
  static let innerLeaf: UInt16 = 0x52
  static let innerFixedLeaf: UInt16 = 0x72

  static let bigData: UInt16 = 0x01
  static let subData: UInt16 = 0x02
  static let duplicateData: UInt16 = 0x04
  /// The flag of a tree whose keys may have several values.
  static let sortedDuplicates: UInt16 = 0x04

  /// The largest node that LMDB stores in a page; a larger value goes to an overflow run.
  static func maximumNodeSize(pageSize: Int) -> Int {
    (((pageSize &- headerSize) / 2) & ~1) &- 2
  }

  /// The number of pages of an overflow run for a value.
  static func overflowPages(valueSize: Int, pageSize: Int) -> UInt64 {
    UInt64((headerSize &- 1 &+ valueSize) / pageSize &+ 1)
  }

  /// LMDB's order of keys and of duplicates: bytes first, then length.
  @inline(__always)
  static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let a = left.baseAddress, let b = right.baseAddress {
      let result = memcmp(a, b, common)
      if result != 0 { return Int(result) }
    }
    return left.count &- right.count
  }
}

/// A fault in a page.
struct PageFault: Error {
  let page: UInt64
  let reason: StaticString

  init(_ page: UInt64, _ reason: StaticString) {
    self.page = page
    self.reason = reason
  }
}

extension UnsafeRawPointer {
  @inline(__always)
  func uint16(_ offset: Int) -> UInt16 { loadUnaligned(fromByteOffset: offset, as: UInt16.self) }
  @inline(__always)
  func uint32(_ offset: Int) -> UInt32 { loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
  @inline(__always)
  func uint64(_ offset: Int) -> UInt64 { loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
}

/// The header of a page or of a page inside a node.
struct PageHeader {
  let base: UnsafeRawPointer

  @inline(__always) var number: UInt64 { base.uint64(0) }
  @inline(__always) var pad: Int { Int(base.uint16(8)) }
  @inline(__always) var flags: UInt16 { base.uint16(10) }
  @inline(__always) var lower: Int { Int(base.uint16(12)) }
  @inline(__always) var upper: Int { Int(base.uint16(14)) }
  @inline(__always) var overflowPages: UInt64 { UInt64(base.uint32(12)) }
  @inline(__always) var count: Int { (lower &- PageLayout.headerSize) / 2 }
  @inline(__always)
  func offset(_ index: Int) -> Int {
    Int(base.uint16(PageLayout.headerSize &+ 2 &* index))
  }
}

/// The header of a node; the caller has checked its place in the page.
struct PageNode {
  let base: UnsafeRawPointer

  @inline(__always) var low: UInt64 { UInt64(base.uint16(0)) }
  @inline(__always) var high: UInt64 { UInt64(base.uint16(2)) }
  @inline(__always) var flags: UInt16 { base.uint16(4) }
  @inline(__always) var keySize: Int { Int(base.uint16(6)) }
  #if _endian(little)
    @inline(__always) var valueSize: Int { Int(low | high << 16) }
    @inline(__always) var child: UInt64 { low | high << 16 | UInt64(flags) << 32 }
  #else
    @inline(__always) var valueSize: Int { Int(high | low << 16) }
    @inline(__always) var child: UInt64 { high | low << 16 | UInt64(flags) << 32 }
  #endif
  @inline(__always) var key: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + PageLayout.nodeHeaderSize, count: keySize)
  }
  @inline(__always) var value: UnsafeRawPointer { base + (PageLayout.nodeHeaderSize &+ keySize) }
}

/// The header of a tree: in a meta page, in the main tree, or at a key with many duplicates.
struct DatabaseRecord: Equatable {
  let pad: UInt32
  let flags: UInt16
  let depth: Int
  let branchPages: UInt64
  let leafPages: UInt64
  let overflowPages: UInt64
  let entries: UInt64
  let root: UInt64

  init(_ bytes: UnsafeRawPointer) {
    pad = bytes.uint32(0)
    flags = bytes.uint16(4)
    depth = Int(bytes.uint16(6))
    branchPages = bytes.uint64(8)
    leafPages = bytes.uint64(16)
    overflowPages = bytes.uint64(24)
    entries = bytes.uint64(32)
    root = bytes.uint64(40)
  }

  /// That of a tree without entries, which has no page.
  static var empty: DatabaseRecord {
    var words = [UInt64](repeating: 0, count: PageLayout.databaseRecordSize / 8)
    words[words.count - 1] = PageLayout.noPage
    return words.withUnsafeBytes { DatabaseRecord($0.baseAddress.unsafelyUnwrapped) }
  }

  /// Whether a key may have several values.
  var hasDuplicates: Bool { flags & PageLayout.sortedDuplicates != 0 }
}

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif
