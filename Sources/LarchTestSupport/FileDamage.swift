/// A kind of damage to a copy of a store file, with a seed, for tests that open it.
///
/// ```swift
/// var generator = SeededGenerator(seed: 7)
/// FileDamage.zeroedPage.apply(to: &bytes, pageSize: 4096, using: &generator)
/// ```
public enum FileDamage: String, CaseIterable, Sendable {
  /// The file is cut at a random length.
  case truncated
  /// One to eight bytes anywhere in the file are changed.
  case randomBytes
  /// One to four bytes in the header of a page, or among its first node offsets, are changed.
  case pageHeader
  /// A whole page is zero.
  case zeroedPage
  /// Two pages are exchanged.
  case swappedPages
  /// A run of 1 to 64 random bytes is written somewhere in a page.
  case byteRun

  /// Damages bytes in place; files of less than two pages are only cut or changed by bytes.
  public func apply(
    to bytes: inout [UInt8], pageSize: Int, using generator: inout SeededGenerator
  ) {
    guard !bytes.isEmpty else { return }
    let pages = bytes.count / pageSize
    func change(_ position: Int) {
      guard bytes.indices.contains(position) else { return }
      bytes[position] ^= UInt8.random(in: 1...255, using: &generator)
    }
    switch self {
    case .truncated:
      bytes.removeLast(Int.random(in: 1...bytes.count, using: &generator))
    case .randomBytes:
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        change(Int.random(in: 0..<bytes.count, using: &generator))
      }
    case .pageHeader:
      let page = Int.random(in: 0..<max(1, pages), using: &generator)
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        change(page * pageSize + Int.random(in: 0..<32, using: &generator))
      }
    case .zeroedPage:
      let page = Int.random(in: 0..<max(1, pages), using: &generator)
      for position in page * pageSize..<min(bytes.count, (page + 1) * pageSize) {
        bytes[position] = 0
      }
    case .swappedPages:
      guard pages >= 2 else { return }
      let first = Int.random(in: 0..<pages, using: &generator)
      var second = Int.random(in: 0..<pages - 1, using: &generator)
      if second >= first { second += 1 }
      for offset in 0..<pageSize {
        bytes.swapAt(first * pageSize + offset, second * pageSize + offset)
      }
    case .byteRun:
      let start = Int.random(in: 0..<bytes.count, using: &generator)
      let length = Int.random(in: 1...64, using: &generator)
      for position in start..<min(bytes.count, start + length) {
        bytes[position] = UInt8.random(in: 0...255, using: &generator)
      }
    }
  }
}
