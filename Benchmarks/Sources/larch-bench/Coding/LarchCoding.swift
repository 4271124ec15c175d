@_spi(Benchmark) import Larch
import Workload

var larchCodingPeers: [any CodingPeer.Type] {
  [LarchCoding.self, MemberwiseLarchCoding.self]
}

/// Larch's own coder without a store, which is no public API.
final class LarchCoding: CodingPeer {
  static let name = "larch"
  static var limits: CodingLimits? {
    CodingLimits(
      encode: .init(must: 12, aim: 6),
      decode: .init(must: 5.6, aim: 3.3))
  }

  private let people: [Person]
  private let encoded: EncodedRecords
  private let probe: RecordCodingProbe

  init(_ records: [WorkloadPerson]) throws {
    (people, encoded, probe) = try CodingRun.prepare(Person.self, records)
  }

  func encodeAll() throws -> Int {
    try CodingRun.encodeAll(people, probe)
  }

  func decodeAll() throws -> UInt64 {
    try CodingRun.decodeAll(Person.self, encoded, probe)
  }
}

/// The same, memberwise.
final class MemberwiseLarchCoding: CodingPeer {
  static let name = "larch-m"
  static var limits: CodingLimits? {
    CodingLimits(
      encode: .init(must: 1.7, aim: 1.5),
      decode: .init(must: 1.3, aim: 1.15))
  }

  private let people: [MemberwisePerson]
  private let encoded: EncodedRecords
  private let probe: RecordCodingProbe

  init(_ records: [WorkloadPerson]) throws {
    (people, encoded, probe) = try CodingRun.prepare(MemberwisePerson.self, records)
  }

  func encodeAll() throws -> Int {
    try CodingRun.encodeAll(people, probe)
  }

  func decodeAll() throws -> UInt64 {
    try CodingRun.decodeAll(MemberwisePerson.self, encoded, probe)
  }
}

/// Inlined into the peers, whose record types are concrete as a user's are.
private enum CodingRun {
  static func prepare<R: BenchmarkRecord>(
    _ type: R.Type, _ records: [WorkloadPerson]
  ) throws -> ([R], EncodedRecords, RecordCodingProbe) {
    let probe = RecordCodingProbe()
    let people = records.map { record in
      var person = R(record)
      person.id = RecordID(record.id)
      return person
    }
    return (people, EncodedRecords(try people.map { Array(try probe.encode($0)) }), probe)
  }

  @inline(__always)
  static func encodeAll<R: BenchmarkRecord>(
    _ people: [R], _ probe: RecordCodingProbe
  ) throws -> Int {
    var total = 0
    try people.withUnsafeBufferPointer { people in
      guard let first = people.baseAddress else { return }
      for index in people.indices { total += try probe.encode(first[index]).count }
    }
    return total
  }

  @inline(__always)
  static func decodeAll<R: BenchmarkRecord>(
    _ type: R.Type, _ encoded: EncodedRecords, _ probe: RecordCodingProbe
  ) throws -> UInt64 {
    var sum: UInt64 = 0
    for bytes in encoded.records { sum &+= try probe.decode(type, from: bytes).checksum }
    return sum
  }
}
