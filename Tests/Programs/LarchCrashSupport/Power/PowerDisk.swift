internal import Foundation
package import LarchTestSupport

/// A disk while a program writes to it: the durable data, and the data that the system may still
/// delay.
///
/// Only flushed data is certain, and writes with O_DSYNC once they have returned. A new, renamed or
/// removed name is certain when the directory was flushed. For other data the only promise is that
/// a sector of 512 bytes is old or new as a whole.
package struct PowerDisk {
  /// Ways in which the disk breaks its promises, for the controls of the tests.
  package struct Lies: OptionSet, Codable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A flush does nothing.
    package static let flushes = Lies(rawValue: 1)
    /// O_DSYNC does nothing; a later flush does.
    package static let meta = Lies(rawValue: 2)
  }

  private enum Change {
    case bytes(offset: Int, Range<Int>)
    case length(Int)
  }

  private enum NameChange {
    case name(String, file: UInt32)
    case rename(String, to: String)
    case remove(String)
  }

  private struct File {
    var durable: [UInt8] = []
    var pending: [Change] = []
  }

  static let sector = 512

  private let log: PowerLog
  private let lies: Lies
  private var files: [UInt32: File] = [:]
  private var names: [String: UInt32] = [:]
  private var pendingNames: [NameChange] = []

  package init(_ log: PowerLog, lies: Lies = []) {
    self.log = log
    self.lies = lies
  }

  /// Adds an event, as the newest change that may or may not have reached the disk.
  package mutating func begin(_ event: PowerLog.Event) {
    switch event {
    case .name(let name, let file, let isOld):
      if files[file] == nil { files[file] = File() }
      if isOld {
        names[name] = file
      } else {
        pendingNames.append(.name(name, file: file))
      }
    case .data(let file, let offset, let bytes), .meta(let file, let offset, let bytes):
      files[file, default: File()].pending.append(.bytes(offset: offset, bytes))
    case .length(let file, let length):
      files[file, default: File()].pending.append(.length(length))
    case .rename(let name, let new): pendingNames.append(.rename(name, to: new))
    case .remove(let name): pendingNames.append(.remove(name))
    case .flush, .directoryFlush, .mark: break
    }
  }

  /// The event has returned, so the data that it promises to be durable is durable.
  package mutating func finish(_ event: PowerLog.Event) {
    switch event {
    case .flush(let file) where !lies.contains(.flushes):
      settle(file)
    case .directoryFlush where !lies.contains(.flushes):
      for change in pendingNames { Self.apply(change, to: &names) }
      pendingNames = []
    case .meta(let file, let offset, let bytes) where !lies.contains(.meta):
      // Only this write: others of the file stay uncertain.
      files[file]?.pending.removeLast()
      apply(.bytes(offset: offset, bytes), file)
    default: break
    }
  }

  /// Whether every image of this moment is the same.
  package var isSettled: Bool {
    pendingNames.isEmpty && files.values.allSatisfy(\.pending.isEmpty)
  }

  private mutating func settle(_ number: UInt32) {
    guard let pending = files[number]?.pending else { return }
    files[number]?.pending = []
    for change in pending { apply(change, number) }
  }

  private mutating func apply(_ change: Change, _ number: UInt32) {
    switch change {
    case .bytes(let offset, let range):
      Self.write(log.bytes, range, at: offset, to: &files[number, default: File()].durable)
    case .length(let length):
      Self.cut(&files[number, default: File()].durable, to: length)
    }
  }

  private static func apply(_ change: NameChange, to names: inout [String: UInt32]) {
    switch change {
    case .name(let name, let file): names[name] = file
    case .rename(let name, let new):
      guard let file = names.removeValue(forKey: name) else { return }
      names[new] = file
    case .remove(let name): names[name] = nil
    }
  }

  private static func write(
    _ source: [UInt8], _ range: Range<Int>, at offset: Int, to file: inout [UInt8]
  ) {
    let end = offset + range.count
    if range.isEmpty { return }
    if file.count < end { lengthen(&file, to: end) }
    file.withUnsafeMutableBytes { target in
      source.withUnsafeBytes { bytes in
        // Both ranges are inside: the log was measured, the file has just been made long enough.
        UnsafeMutableRawBufferPointer(rebasing: target[offset..<end])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
      }
    }
  }

  private static func cut(_ file: inout [UInt8], to length: Int) {
    if file.count > length {
      file.removeLast(file.count - length)
    } else {
      lengthen(&file, to: length)
    }
  }

  /// Adds zeros. A sequence of them would be appended one by one in a build that is not optimized.
  private static func lengthen(_ file: inout [UInt8], to length: Int) {
    let count = length - file.count
    file += [UInt8](unsafeUninitializedCapacity: count) { zeros, filled in
      if let start = zeros.baseAddress { memset(start, 0, count) }
      filled = count
    }
  }
}

/// The part of the unflushed writes that survives a power failure.
package enum PowerShape: Sendable, CustomStringConvertible {
  case nothing
  case everything
  /// Each sector, or each page of 4 KiB, independently, with this probability in per cent.
  case random(percent: Int, isByPage: Bool)

  /// The shapes that are tried at each moment, in this order.
  package static func number(_ index: Int, _ random: inout SeededGenerator) -> PowerShape {
    switch index {
    case 0: .nothing
    case 1: .everything
    case 2: .random(percent: 50, isByPage: false)
    case 3: .random(percent: 85 + random.below(14), isByPage: false)
    case 4: .random(percent: 50, isByPage: true)
    default:
      .random(
        percent: [2, 10, 50, 90, 98][random.below(5)], isByPage: random.below(3) == 0)
    }
  }

  package var description: String {
    switch self {
    case .nothing: "nothing"
    case .everything: "everything"
    case .random(let percent, let isByPage): "\(percent) % of the \(isByPage ? "pages" : "sectors")"
    }
  }

  fileprivate func keeps(_ random: inout SeededGenerator) -> Bool {
    switch self {
    case .nothing: false
    case .everything: true
    case .random(let percent, _): random.below(100) < percent
    }
  }
}

/// The files of a directory after a power failure.
package struct PowerImage {
  package fileprivate(set) var files: [String: [UInt8]] = [:]
  /// A hash of the writes that were kept: images of one moment with equal hashes are equal.
  package fileprivate(set) var choices: UInt64 = 0xCBF2_9CE4_8422_2325

  fileprivate mutating func note(_ choice: Bool) {
    choices = (choices ^ (choice ? 1 : 2)) &* 0x100_0000_01B3
  }
}

extension PowerDisk {
  /// The directory as a power failure at this moment may leave it.
  package func image(_ shape: PowerShape, _ random: inout SeededGenerator) -> PowerImage {
    var image = PowerImage()
    // Names and contents reach a disk independently, so each may be ahead of the other.
    var nameShape = shape
    if case .random = shape {
      nameShape = [.nothing, .everything, shape][random.below(3)]
    }
    var kept = names
    for change in pendingNames {
      let isKept = nameShape.keeps(&random)
      image.note(isKept)
      if isKept { Self.apply(change, to: &kept) }
    }
    for (name, number) in kept.sorted(by: { $0.key < $1.key }) {
      image.files[name] = content(number, shape, &random, &image)
    }
    return image
  }

  private func content(
    _ number: UInt32, _ shape: PowerShape, _ random: inout SeededGenerator,
    _ image: inout PowerImage
  ) -> [UInt8] {
    guard let file = files[number] else { return [] }
    var result = file.durable
    var longest = result.count
    var isByPage = false
    if case .random(_, let pages) = shape { isByPage = pages }
    for change in file.pending {
      switch change {
      case .length(let length):
        let isKept = shape.keeps(&random)
        image.note(isKept)
        if isKept { Self.cut(&result, to: length) }
        longest = length
      case .bytes(let offset, let range):
        longest = max(longest, offset + range.count)
        let unit = isByPage ? 4096 : Self.sector
        var place = offset
        // Adjacent writes that are kept are written at once.
        var run = place..<place
        func finish() {
          let start = range.lowerBound + run.lowerBound - offset
          Self.write(log.bytes, start..<(start + run.count), at: run.lowerBound, to: &result)
        }
        while place < offset + range.count {
          let end = min((place / unit + 1) * unit, offset + range.count)
          let isKept = shape.keeps(&random)
          image.note(isKept)
          if isKept, run.upperBound == place {
            run = run.lowerBound..<end
          } else if isKept {
            finish()
            run = place..<end
          }
          place = end
        }
        finish()
      }
    }
    // A file system may know the new length before it has the bytes.
    if case .random = shape, longest > result.count, random.below(4) == 0 {
      image.note(true)
      Self.cut(&result, to: longest)
    }
    return result
  }
}
