import BenchmarkFigures
import Workload

/// One coder on the same thousand people: encodes all, decodes all.
protocol CodingPeer: AnyObject {
  static var name: String { get }
  /// Limits and aims as multiples of the hand-written coder, or nil for that one itself.
  static var limits: CodingLimits? { get }

  init(_ records: [WorkloadPerson]) throws
  /// Returns the number of bytes, so that the work has a result.
  func encodeAll() throws -> Int
  /// Returns a sum over what was decoded.
  func decodeAll() throws -> UInt64
}

/// What is asked of a coder, as multiples of the hand-written one.
struct CodingLimits {
  struct Limit {
    var must: Double
    var aim: Double
  }

  var encode: Limit
  var decode: Limit

  init(encode: Limit, decode: Limit) {
    self.encode = encode
    self.decode = decode
  }
}

final class HandWrittenCoding: CodingPeer {
  static let name = "hand-written"
  static var limits: CodingLimits? { nil }

  private let people: [CodedPerson]
  private let encoded: EncodedRecords
  private var coder = HandCoder()

  init(_ records: [WorkloadPerson]) throws {
    people = records.map(CodedPerson.init)
    var coder = HandCoder()
    encoded = EncodedRecords(people.map { Array(coder.encode($0)) })
    coder.deallocate()
    for (person, bytes) in zip(people, encoded.records) {
      guard self.coder.decode(bytes) == person else {
        throw BenchmarkError("the hand-written coder does not return what it was given")
      }
    }
  }

  deinit {
    coder.deallocate()
  }

  func encodeAll() throws -> Int {
    var total = 0
    var coder = self.coder
    defer { self.coder = coder }
    people.withUnsafeBufferPointer { people in
      guard let first = people.baseAddress else { return }
      for index in people.indices { total += coder.encode(first[index]).count }
    }
    return total
  }

  func decodeAll() throws -> UInt64 {
    var sum: UInt64 = 0
    let coder = self.coder
    for bytes in encoded.records {
      guard let person = coder.decode(bytes) else {
        throw BenchmarkError("the hand-written coder refuses its own bytes")
      }
      sum &+= personChecksum(
        id: person.id, name: person.name, email: person.email, age: person.age,
        score: person.score, active: person.active, createdAt: person.createdAt,
        city: person.city, companyID: person.companyID)
    }
    return sum
  }
}

/// Records one after the other in memory, as a page holds them: no array is retained for each.
final class EncodedRecords {
  let records: [UnsafeRawBufferPointer]
  private let memory: UnsafeMutableRawBufferPointer

  init(_ encoded: [[UInt8]]) {
    memory = .allocate(byteCount: encoded.reduce(0) { $0 + $1.count }, alignment: 16)
    var start = 0
    var records: [UnsafeRawBufferPointer] = []
    for bytes in encoded {
      let slice = UnsafeMutableRawBufferPointer(rebasing: memory[start..<(start + bytes.count)])
      slice.copyBytes(from: bytes)
      records.append(UnsafeRawBufferPointer(slice))
      start += bytes.count
    }
    self.records = records
  }

  deinit {
    memory.deallocate()
  }
}

/// Coding alone, without a store: nanoseconds a field, and multiples of the hand-written coder.
func runCoding() throws {
  let records = WorkloadPerson.records(1...1_000, size: 100_000)
  let expected = records.reduce(0) { $0 &+ $1.checksum }
  let types: [any CodingPeer.Type] = [HandWrittenCoding.self] + larchCodingPeers
  let peers = try types.map { try $0.init(records) }
  var encode = Array(repeating: [Double](), count: peers.count)
  var decode = encode
  let stopwatch = Stopwatch()
  // Short regions: on a shared machine a long one loses its processor somewhere inside.
  let repetitions = 2
  let fields = Double(repetitions * records.count * CodedPerson.fieldCount)
  for round in 0..<302 {
    for (index, peer) in peers.enumerated() {
      var bytes = 0
      let encoding = try stopwatch.time {
        for _ in 0..<repetitions { bytes += try peer.encodeAll() }
      }
      var sum: UInt64 = 0
      let decoding = try stopwatch.time {
        for _ in 0..<repetitions { sum = try peer.decodeAll() }
      }
      guard bytes > 0, sum == expected else {
        throw BenchmarkError("\(types[index].name) decodes other people than it encoded")
      }
      // The first round warms up.
      guard round > 0 else { continue }
      encode[index].append(encoding / fields)
      decode[index].append(decoding / fields)
    }
  }
  print(
    "coding alone: ns a field of Person, median of 301 rounds, ratios to the hand-written coder")
  print(
    "coder".padded(to: 16) + "encode".aligned(to: 10) + "x".aligned(to: 8)
      + "decode".aligned(to: 10) + "x".aligned(to: 8))
  for (index, type) in types.enumerated() {
    let encodeRatio = medianRatio(encode[index], encode[0])
    let decodeRatio = medianRatio(decode[index], decode[0])
    var line = type.name.padded(to: 16) + decimal(median(encode[index]), 2).aligned(to: 10)
    line += decimal(encodeRatio, 2).aligned(to: 8)
    line += decimal(median(decode[index]), 2).aligned(to: 10)
    line += decimal(decodeRatio, 2).aligned(to: 8)
    if let limits = type.limits {
      line += "  encode " + verdict(encodeRatio, limits.encode)
      line += ", decode " + verdict(decodeRatio, limits.decode)
    }
    print(line)
  }
}

private func verdict(_ reached: Double, _ limit: CodingLimits.Limit) -> String {
  let word = reached > limit.must ? "MISSED" : reached > limit.aim ? "ok" : "ok, aim reached"
  return "\(word) (limit \(decimal(limit.must, 1)), aim \(decimal(limit.aim, 2)))"
}
