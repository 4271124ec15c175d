import Foundation
import LarchCrashSupport
import LarchTestSupport

@testable import Larch

/// The bytes of a store and of its log.
struct StoreImage {
  var data: [UInt8]
  var log: [UInt8]?

  /// Copies the files while nobody commits. A checkpoint may be under way, so the log comes first: the
  /// state that it names stays whole.
  init(of path: String) throws {
    log = try? Self.bytes(path + CommitLogFile.suffix)
    data = try Self.bytes(path)
  }

  private static func bytes(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  func write(to path: String) throws {
    try remove(from: path)
    try Data(data).write(to: URL(fileURLWithPath: path))
    if let log { try Data(log).write(to: URL(fileURLWithPath: path + CommitLogFile.suffix)) }
  }

  func remove(from path: String) throws {
    for suffix in ["", "-lock", CommitLogFile.suffix] { unlink(path + suffix) }
  }

  /// The header of the log that counts.
  var header: CommitLogHeader? { headers.max { $0.number < $1.number } }

  /// The headers that are whole.
  var headers: [CommitLogHeader] {
    guard let log else { return [] }
    return [0, CommitLogFormat.headerDistance].compactMap { place in
      log[place..<place + CommitLogFormat.headerSize].withUnsafeBytes { CommitLogHeader($0) }
    }
  }

  /// The number of the newest commit whose meta page is in the file.
  var newest: UInt64 { Self.newest(data) }

  static func newest(_ data: [UInt8]) -> UInt64 {
    data.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, bytes.count >= 2 * PageLayout.metaEnd else { return 0 }
      let first = MetaPage(slot: 0, base)
      guard first.hasUsablePageSize, bytes.count >= first.pageSize + PageLayout.metaEnd else {
        return 0
      }
      return max(first.transaction, MetaPage(slot: 1, base + first.pageSize).transaction)
    }
  }
}
