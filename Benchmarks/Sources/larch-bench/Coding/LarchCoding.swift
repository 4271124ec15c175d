#if LARCH_STORE
  @_spi(Benchmark) import Larch
  import Workload

  /// What the coding benchmark needs of a record type.
  protocol CodedRecord: Codable {
    static var coderName: String { get }
    static var limits: (encode: (must: Double, aim: Double), decode: (must: Double, aim: Double)) {
      get
    }
    var checksum: UInt64 { get }
    init(_ person: CodedPerson)
  }

  extension CodedPerson: CodedRecord {
    static let coderName = "larch"
    static var limits: (encode: (must: Double, aim: Double), decode: (must: Double, aim: Double)) {
      (encode: (must: 12, aim: 6), decode: (must: 5.6, aim: 3.3))
    }
    var checksum: UInt64 {
      personChecksum(
        id: id, name: name, email: email, age: age, score: score, active: active,
        createdAt: createdAt, city: city, companyID: companyID)
    }
    init(_ person: CodedPerson) { self = person }
  }

  /// The same fields, coded memberwise.
  struct MemberwiseCodedPerson: CodedRecord, MemberwiseCoded {
    static let coderName = "larch-m"
    static var limits: (encode: (must: Double, aim: Double), decode: (must: Double, aim: Double)) {
      (encode: (must: 1.7, aim: 1.5), decode: (must: 1.3, aim: 1.15))
    }

    var id: Int64
    var name: String
    var email: String
    var age: Int
    var score: Double
    var active: Bool
    var createdAt: Double
    var city: String
    var companyID: Int64

    var checksum: UInt64 {
      personChecksum(
        id: id, name: name, email: email, age: age, score: score, active: active,
        createdAt: createdAt, city: city, companyID: companyID)
    }

    init(_ person: CodedPerson) {
      id = person.id
      name = person.name
      email = person.email
      age = person.age
      score = person.score
      active = person.active
      createdAt = person.createdAt
      city = person.city
      companyID = person.companyID
    }
  }

  final class LarchCoding<Person: CodedRecord>: CodingPeer {
    static var name: String { Person.coderName }
    static var limits: (encode: (must: Double, aim: Double), decode: (must: Double, aim: Double))? {
      Person.limits
    }

    private let people: [Person]
    private let encoded: EncodedRecords
    private let coder = RecordCodingProbe()

    init(_ records: [WorkloadPerson]) throws {
      people = records.map { Person(CodedPerson($0)) }
      let coder = coder
      encoded = EncodedRecords(try people.map { Array(try coder.encode($0)) })
    }

    func encodeAll() throws -> Int {
      var total = 0
      try people.withUnsafeBufferPointer { people in
        guard let first = people.baseAddress else { return }
        for index in people.indices { total += try coder.encode(first[index]).count }
      }
      return total
    }

    func decodeAll() throws -> UInt64 {
      var sum: UInt64 = 0
      for bytes in encoded.records {
        sum &+= try coder.decode(Person.self, from: bytes).checksum
      }
      return sum
    }
  }

  var larchCodingPeers: [any CodingPeer.Type] {
    [LarchCoding<CodedPerson>.self, LarchCoding<MemberwiseCodedPerson>.self]
  }
#endif
