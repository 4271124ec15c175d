import LarchCrashSupport
import LarchTestSupport
import Testing

/// The rules by which images are made, on recordings of a few events.
@Suite("What a power failure leaves")
struct PowerDiskTests {
  /// A recording as the recorder writes it.
  private struct Tape {
    var bytes: [UInt8] = []

    mutating func add(_ event: UInt32, _ file: UInt32, _ offset: Int = 0, _ content: [UInt8] = []) {
      withUnsafeBytes(of: event) { bytes += $0 }
      withUnsafeBytes(of: file) { bytes += $0 }
      withUnsafeBytes(of: UInt64(offset)) { bytes += $0 }
      withUnsafeBytes(of: UInt64(content.count)) { bytes += $0 }
      bytes += content
    }

    mutating func create(_ name: String, _ file: UInt32) { add(2, file, 0, Array(name.utf8)) }
    mutating func data(_ file: UInt32, _ offset: Int, _ byte: UInt8, _ count: Int) {
      add(3, file, offset, Array(repeating: byte, count: count))
    }
    mutating func meta(_ file: UInt32, _ offset: Int, _ byte: UInt8, _ count: Int) {
      add(4, file, offset, Array(repeating: byte, count: count))
    }
    mutating func flush(_ file: UInt32) { add(6, file) }
    mutating func flushDirectory() { add(7, 0) }
  }

  private func disk(_ tape: Tape, lies: PowerDisk.Lies = []) throws -> PowerDisk {
    let log = try PowerLog(tape.bytes)
    var disk = PowerDisk(log, lies: lies)
    for event in log.events {
      disk.begin(event)
      disk.finish(event)
    }
    return disk
  }

  private func files(_ disk: PowerDisk, _ shape: PowerShape) -> [String: [UInt8]] {
    var random = SeededGenerator(seed: 1)
    return disk.image(shape, &random).files
  }

  @Test("A new file is certain to exist only after it and its directory were flushed")
  func names() throws {
    var tape = Tape()
    tape.create("a", 1)
    tape.data(1, 0, 7, 10)
    #expect(files(try disk(tape), .nothing).isEmpty)
    #expect(files(try disk(tape), .everything) == ["a": Array(repeating: 7, count: 10)])
    tape.flush(1)
    #expect(files(try disk(tape), .nothing).isEmpty)
    tape.flushDirectory()
    #expect(files(try disk(tape), .nothing) == ["a": Array(repeating: 7, count: 10)])
    #expect(try disk(tape).isSettled)
    #expect(files(try disk(tape, lies: .flushes), .nothing).isEmpty)
  }

  @Test("A directory that was flushed alone may have a name for an empty file")
  func emptyFile() throws {
    var tape = Tape()
    tape.create("a", 1)
    tape.data(1, 0, 7, 10)
    tape.flushDirectory()
    #expect(files(try disk(tape), .nothing) == ["a": []])
  }

  @Test("A durable write takes nothing else of the file with it, a flush takes everything")
  func durableWrites() throws {
    var tape = Tape()
    tape.create("a", 1)
    tape.flushDirectory()
    tape.data(1, 0, 1, 512)
    tape.meta(1, 512, 2, 512)
    let zeros = [UInt8](repeating: 0, count: 512)
    let (ones, twos) = (zeros.map { _ in UInt8(1) }, zeros.map { _ in UInt8(2) })
    #expect(files(try disk(tape), .nothing) == ["a": zeros + twos])
    #expect(files(try disk(tape, lies: .meta), .nothing) == ["a": []])
    tape.flush(1)
    #expect(files(try disk(tape), .nothing) == ["a": ones + twos])
    #expect(files(try disk(tape, lies: .meta), .nothing) == ["a": ones + twos])
  }

  @Test("What is not flushed is torn at sectors, never within one")
  func sectors() throws {
    var tape = Tape()
    tape.create("a", 1)
    tape.data(1, 0, 1, 8192)
    tape.flush(1)
    tape.flushDirectory()
    tape.data(1, 0, 2, 8192)
    let disk = try disk(tape)
    var mixed = 0
    for seed in 0..<40 {
      var random = SeededGenerator(seed: UInt64(seed))
      let isByPage = seed % 2 == 0
      let file = try #require(
        disk.image(.random(percent: 50, isByPage: isByPage), &random).files["a"])
      // One number for each sector: the byte that all of it has, or none.
      let sectors = stride(from: 0, to: file.count, by: 512).map { start in
        file[start..<(start + 512)].elementsEqual(repeatElement(file[start], count: 512))
          ? file[start] : 0
      }
      #expect(sectors.count == 16)
      #expect(Set(sectors).isSubset(of: [1, 2]))
      if isByPage { #expect(Set(sectors[..<8]).count == 1 && Set(sectors[8...]).count == 1) }
      if Set(sectors).count == 2 { mixed += 1 }
    }
    #expect(mixed > 20)
  }

  @Test("The length of a file follows the data that was kept, or is known before it")
  func lengths() throws {
    var tape = Tape()
    tape.create("a", 1)
    tape.flushDirectory()
    tape.data(1, 0, 1, 2048)
    let disk = try disk(tape)
    var lengths: Set<Int> = []
    for seed in 0..<200 {
      var random = SeededGenerator(seed: UInt64(seed))
      let file = try #require(
        disk.image(.random(percent: 50, isByPage: false), &random).files["a"])
      lengths.insert(file.count)
    }
    #expect(lengths == [0, 512, 1024, 1536, 2048])
  }

  @Test("A rename that is not flushed leaves the old name or the new one")
  func renames() throws {
    var tape = Tape()
    tape.create("a", 1)
    tape.create("b", 2)
    tape.data(1, 0, 1, 5)
    tape.flush(1)
    tape.flush(2)
    tape.flushDirectory()
    tape.add(8, 1, 0, Array("a\0b".utf8))
    let ones = [UInt8](repeating: 1, count: 5)
    #expect(files(try disk(tape), .nothing) == ["a": ones, "b": []])
    #expect(files(try disk(tape), .everything) == ["b": ones])
    tape.flushDirectory()
    #expect(files(try disk(tape), .nothing) == ["b": ones])
    tape.add(10, 0, 0, Array("b".utf8))
    #expect(files(try disk(tape), .nothing) == ["b": ones])
    #expect(files(try disk(tape), .everything).isEmpty)
  }

  @Test("A recording that is cut is refused")
  func cut() throws {
    var tape = Tape()
    tape.create("a", 1)
    tape.data(1, 0, 1, 64)
    for length in 1..<tape.bytes.count where length != 25 {
      #expect(throws: Mismatch.self) { try PowerLog(Array(tape.bytes.prefix(length))) }
    }
    #expect(try PowerLog(Array(tape.bytes.prefix(25))).events.count == 1)
    #expect(try PowerLog([]).events.isEmpty)
  }
}
