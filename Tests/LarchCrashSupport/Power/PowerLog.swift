internal import Foundation

/// What the recorder has written down of a run: each change of a watched file, in order.
package struct PowerLog: Sendable {
  package enum Event: Sendable {
    /// A new entry of the directory, for a file that is new or was there before the recording.
    case name(String, file: UInt32, isOld: Bool)
    case data(file: UInt32, offset: Int, bytes: Range<Int>)
    /// Written through a descriptor with O_DSYNC: durable when it has returned.
    case meta(file: UInt32, offset: Int, bytes: Range<Int>)
    case length(file: UInt32, Int)
    case flush(file: UInt32)
    case directoryFlush
    case rename(String, to: String)
    case remove(String)
    case mark(PowerMark)
  }

  /// The bytes that events refer to.
  package let bytes: [UInt8]
  package private(set) var events: [Event] = []

  package init(path: String) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Mismatch("there is no recording at \(path)")
    }
    try self.init([UInt8](data))
  }

  package init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    var place = 0
    while place < bytes.count {
      guard place + 24 <= bytes.count else { throw Mismatch("the recording is cut") }
      let (kind, file) = (Int(number(place, 4)), UInt32(number(place + 4, 4)))
      let (offset, length) = (number(place + 8, 8), Int(number(place + 16, 8)))
      place += 24
      guard length <= bytes.count - place else { throw Mismatch("the recording is cut") }
      let range = place..<(place + length)
      place += length
      events.append(try event(kind, file, offset, range))
    }
  }

  private func event(
    _ kind: Int, _ file: UInt32, _ offset: UInt64, _ range: Range<Int>
  ) throws -> Event {
    let text = { String(decoding: bytes[range], as: UTF8.self) }
    switch kind {
    case 1, 2, 9: return .name(text(), file: file, isOld: kind == 1)
    case 3: return .data(file: file, offset: Int(offset), bytes: range)
    case 4: return .meta(file: file, offset: Int(offset), bytes: range)
    case 5: return .length(file: file, Int(offset))
    case 6: return .flush(file: file)
    case 7: return .directoryFlush
    case 8:
      let names = text().split(separator: "\0", omittingEmptySubsequences: false)
      guard names.count == 2 else { throw Mismatch("the recording has a rename of \(names)") }
      return .rename(String(names[0]), to: String(names[1]))
    case 10: return .remove(text())
    case 11:
      let detail = Int(Int64(bitPattern: number(range.lowerBound, 8)))
      return .mark(
        PowerMark(kind: file, number: Int(Int64(bitPattern: offset)), detail: detail))
    default: throw Mismatch("the recording has an event \(kind)")
    }
  }

  /// Numbers are those of this machine, which also wrote them.
  private func number(_ place: Int, _ size: Int) -> UInt64 {
    var result: UInt64 = 0
    for index in (0..<size).reversed() { result = result << 8 | UInt64(bytes[place + index]) }
    return result
  }
}

/// An event that the recorded program reported: above all that a write was acknowledged.
package struct PowerMark: Sendable, Equatable {
  package let kind: UInt32
  package let number: Int
  package let detail: Int

  package init(kind: UInt32, number: Int, detail: Int = 0) {
    self.kind = kind
    self.number = number
    self.detail = detail
  }
}
