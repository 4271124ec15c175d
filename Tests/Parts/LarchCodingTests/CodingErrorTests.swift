import Foundation
import Testing

@testable import Larch

@Suite("Errors of coding, and versions of types")
struct CodingErrorTests {
  struct Chain: Codable { var next: [Chain] }
  struct Link: Codable { var next: [String: Link] }
  struct Chains: Codable {
    var next: Box?
    final class Box: Codable { var v: Chains; init(_ v: Chains) { self.v = v } }
  }
  struct Boom: Error {}
  struct Thrower: Codable {
    init() {}
    func encode(to encoder: any Encoder) throws { throw Boom() }
    init(from decoder: any Decoder) throws { throw Boom() }
  }

  func larch(_ body: () throws -> Void) -> LarchError? {
    do {
      try body()
      return nil
    } catch { return error as? LarchError }
  }

  @Test("Values nest 64 levels and more, and too deep ones are an error in both directions")
  func depth() throws {
    let bench = CodingBench()
    func chain(_ depth: Int) -> Chain {
      depth == 0 ? Chain(next: []) : Chain(next: [chain(depth - 1)])
    }
    var bytes: [UInt8] = []
    for _ in 0..<2 { bytes = try bench.bytes(chain(62)) }
    _ = try bench.decode(Chain.self, bytes)
    let error = larch { _ = try bench.bytes(chain(70)) }
    #expect(error?.code == .encodingFailed)
    #expect(error?.context.field?.hasPrefix("next[0].next[0]") == true)
    // Also in one pass, when every type is known, and after the error.
    #expect(larch { _ = try bench.bytes(chain(5000)) }?.code == .encodingFailed)
    _ = try bench.decode(Chain.self, bench.bytes(chain(62)))

    func link(_ depth: Int) -> Link {
      depth == 0 ? Link(next: [:]) : Link(next: ["k": link(depth - 1)])
    }
    _ = try bench.decode(Link.self, bench.bytes(link(62)))
    #expect(larch { _ = try bench.bytes(link(70)) }?.code == .encodingFailed)
    var deep = Chains(next: nil)
    for _ in 0..<60 { deep = Chains(next: .init(deep)) }
    _ = try bench.decode(Chains.self, bench.bytes(deep))
    for _ in 0..<60 { deep = Chains(next: .init(deep)) }
    #expect(larch { _ = try bench.bytes(deep) }?.code == .encodingFailed)

    // Bytes that are nested deeper than anything that was written: lists in lists.
    var nested: [UInt8] = [0x24, 0]
    nested = [0, 0]
    for _ in 0..<3000 {
      let length = UInt32(nested.count)
      nested = [36, 1] + withUnsafeBytes(of: length.littleEndian, Array.init) + nested
    }
    let length = UInt32(nested.count)
    let record = [0, 0, 36] + withUnsafeBytes(of: length.littleEndian, Array.init) + nested
    #expect(larch { _ = try bench.decode(Chain.self, record) }?.code == .decodingFailed)
    struct Deep: Decodable {
      var inner: [Deep]
      init(from decoder: any Decoder) throws { inner = try [Deep](from: decoder) }
    }
    #expect(larch { _ = try bench.decode(Deep.self, record) }?.code == .corrupted)
    #expect(
      larch { try record.withUnsafeBytes { _ = try RawRecord($0, shapes: bench.shapes).json() } }?
        .code == .corrupted)
  }

  @Test("Errors of user code become the underlying error")
  func thrown() throws {
    let bench = CodingBench()
    for value in 0..<3 {
      let error = larch { _ = try bench.bytes(["k": [Thrower()]]) }
      #expect(error?.code == .encodingFailed, "\(value)")
      #expect(error?.underlying is Boom)
    }
    let bytes = try bench.bytes(["k": [1]])
    let error = larch { _ = try bench.decode([String: [Thrower]].self, bytes) }
    #expect(error?.code == .decodingFailed)
    #expect(error?.underlying is Boom)
  }

  struct V1: Codable, Equatable {
    var name: String
    var age: Int32
    var ratio: Float
    var gone: [Int]
    var address: A1
    struct A1: Codable, Equatable { var street: String; var number: Int16 }
  }
  struct V2: Codable, Equatable {
    var address: A2
    var added: Int?
    var ratio: Double
    var age: Int64
    var title: String
    var level: Level
    var tags: [String]
    struct A2: Codable, Equatable { var number: Int?; var street: String?; var city: String? }
  }

  @Test("Fields added, removed, reordered, widened, renamed and made optional")
  func evolution() throws {
    let bench = CodingBench()
    let old = V1(
      name: "n", age: 41, ratio: 0.5, gone: [1], address: .init(street: "s", number: 7))
    for _ in 0..<2 {
      let bytes = try bench.bytes(old)
      let missing = larch { _ = try bench.decode(V2.self, bytes) }
      #expect(missing?.code == .decodingFailed)
      #expect(missing?.context.field == "title")
    }
    let bytes = try bench.bytes(old)
    bench.coder.setAliases(for: V2.self, ["title": ["caption", "name"]])
    #expect(larch { _ = try bench.decode(V2.self, bytes) }?.context.field == "level")
    try bench.coder.setDefaults(for: V2.self, ["level": Level.high, "tags": ["x", "y"]])
    for _ in 0..<3 {
      let new = try bench.decode(V2.self, bytes)
      #expect(
        new
          == V2(
            address: .init(number: 7, street: "s", city: nil), added: nil, ratio: 0.5, age: 41,
            title: "n", level: .high, tags: ["x", "y"]))
    }
    // The new version's own records, among the old ones.
    let new = V2(
      address: .init(number: nil, street: nil, city: "c"), added: 1, ratio: .pi, age: .max,
      title: "t", level: .low, tags: [])
    let newBytes = try bench.bytes(new)
    for _ in 0..<3 {
      #expect(try bench.decode(V2.self, newBytes) == new)
      _ = try bench.decode(V2.self, bytes)
    }
    // Narrowing is checked.
    struct Narrow: Decodable { var age: Int8 }
    #expect(try bench.decode(Narrow.self, bytes).age == 41)
    let error = larch { _ = try bench.decode(Narrow.self, newBytes) }
    #expect(error?.code == .decodingFailed && error?.context.field == "age")
    // Another type.
    struct Other: Decodable { var address: Inner; struct Inner: Decodable { var street: Int } }
    let mismatch = larch { _ = try bench.decode(Other.self, bytes) }
    #expect(mismatch?.context.field == "address.street")
    #expect(mismatch?.context.detail == "expected Int, found string")
    #expect(mismatch?.code == .decodingFailed)
    struct Wrong: Decodable { var name: Date }
    #expect(larch { _ = try bench.decode(Wrong.self, bytes) }?.context.field == "name")
  }

  @Test("The error for a value that a type refuses recommends no default, which would not help")
  func refusedValues() throws {
    struct Old: Codable { var level: Int; var age: Int64; var name: String; var color: String }
    struct RemovedCase: Decodable { var level: Level }
    struct RemovedOptional: Decodable { var color: Color? }
    struct Narrow: Decodable { var age: Int8 }
    struct OtherType: Decodable { var name: Int }
    struct Added: Decodable { var added: Int }
    let bench = CodingBench()
    let bytes = try bench.bytes(Old(level: 9, age: 1000, name: "n", color: "violet"))
    func failure<T: Decodable>(_ type: T.Type) -> LarchError? {
      larch { _ = try bench.decode(type, bytes) }
    }
    let refused = [
      ("level", failure(RemovedCase.self)), ("color", failure(RemovedOptional.self)),
      ("age", failure(Narrow.self)), ("name", failure(OtherType.self)),
    ]
    for (field, error) in refused {
      #expect(error?.code == .decodingFailed && error?.context.field == field)
      #expect(error?.message.contains("migration") == true, "\(field)")
      #expect(error?.message.contains("default") == false, "\(field)")
      #expect(error?.context.detail?.isEmpty == false, "\(field)")
    }
    #expect(refused[2].1?.context.detail?.contains("out of range") == true)
    #expect(failure(Added.self)?.message.contains("declare a default") == true)
  }

  @Test("Shapes that were rolled back are created again, without traces of the old ones")
  func rollback() throws {
    struct A: Codable, Equatable { var x: Int }
    struct B: Codable, Equatable { var y: String }
    let bench = CodingBench()
    let first = try bench.bytes(A(x: 1))
    #expect(try bench.decode(A.self, first) == A(x: 1))
    let path = FieldPath(["x"])
    _ = try first.withUnsafeBytes { try path.read(in: $0, shapes: bench.shapes) }
    bench.shapes.truncate(to: 0)
    let second = try bench.bytes(B(y: "b"))
    #expect(try bench.decode(B.self, second) == B(y: "b"))
    guard
      case .missing = try second.withUnsafeBytes({
        try path.read(in: $0, shapes: bench.shapes)
      })
    else { return #expect(Bool(false), "the path remembers a shape that is gone") }
    let third = try bench.bytes(A(x: 2))
    #expect(try bench.decode(A.self, third) == A(x: 2))
    #expect(bench.shapes.count == 2)
    #expect(try bench.shapes.shape(1).typeName == "B")
  }

  @Test("A coder of another process finds the shapes")
  func sameShapes() throws {
    let bench = CodingBench()
    var rich = Rich.sample
    _ = try bench.bytes(rich)
    rich.second = rich.address
    _ = try bench.bytes(rich)
    let count = bench.shapes.count
    let copies = try (1...count).map { id in
      try bench.shapes.shape(UInt16(id)).encoded().withUnsafeBytes {
        try Shape(id: UInt16(id), decoding: $0)
      }
    }
    let table = ShapeTable(count: count)
    table.loader = { copies[Int($0) - 1] }
    let other = RecordCoder(shapes: table)
    let bytes = try Array(other.encode(rich))
    #expect(try bytes == bench.bytes(rich))
    #expect(try Array(other.encode(Rich.sample)) == bench.bytes(Rich.sample))
    #expect(table.count == count)
  }

  @Test("A type with ever new keys stops creating shapes")
  func shapeCap() throws {
    struct Many: Codable {
      enum Keys: String, CodingKey, CaseIterable {
        case k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12
      }
      var bits: Int
      init(_ bits: Int) { self.bits = bits }
      func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        for (i, key) in Keys.allCases.enumerated() where bits & (1 << i) != 0 {
          try c.encode(i, forKey: key)
        }
      }
      init(from decoder: any Decoder) throws {
        let c = try decoder.container(keyedBy: Keys.self)
        bits = c.allKeys.reduce(0) { $0 | 1 << Keys.allCases.firstIndex(of: $1)! }
      }
    }
    let shapes = ShapeTable()
    for bits in 0..<200 {
      // Each coder learns again, as each process would.
      let coder = RecordCoder(shapes: shapes)
      let bytes = try Array(coder.encode(Many(bits)))
      let again = try bytes.withUnsafeBytes { try coder.decode(Many.self, from: $0) }
      #expect(again.bits == bits)
    }
    #expect(shapes.count == RecordFormat.shapesPerTypeLimit)
  }

  @Test("JSON without the type is stable")
  func json() throws {
    let bench = CodingBench()
    let bytes = try bench.bytes(Rich.sample)
    let json = try bytes.withUnsafeBytes { try RawRecord($0, shapes: bench.shapes).json() }
    #expect(
      json
        == #"{"address":{"city":"Köln","lines":["a","b"],"street":"Main"},"addresses":[{"city":"2","lines":[],"street":"1","zip":3},{"city":"","lines":[""],"street":""}],"blob":"AQID/w==","byLevel":{"-1":["d","e"],"10":[],"3":["c"]},"color":"grün","counts":{"a":2,"x":1,"zz":-3},"dates":["2001-01-01T00:00:01.5Z"],"doubles":[3.141592653589793,-0.0],"flags":[true,false],"id":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","level":2,"numbers":[1,-2,9223372036854775807],"price":12.34,"ratio":0.5,"small":200,"tags":["a","b","c"],"url":"https://example.com/a?b=c"}"#
    )
    func date(_ seconds: Double) throws -> String {
      let bytes = try bench.bytes(Date(timeIntervalSinceReferenceDate: seconds))
      return try bytes.withUnsafeBytes { try RawRecord($0, shapes: bench.shapes).json() }
    }
    #expect(try date(0) == #""2001-01-01T00:00:00Z""#)
    #expect(try date(-0.25) == #""2000-12-31T23:59:59.75Z""#)
    #expect(try date(-63_113_904_000) == #""0001-01-01T00:00:00Z""#)
    #expect(try date(1e300) == #"{"$date":1e+300}"#)
    #expect(try date(.nan) == #"{"$date":"nan"}"#)
    #expect(try date(0.1) == #""2001-01-01T00:00:00.1Z""#)
    let formatter = ISO8601DateFormatter()
    for seconds in stride(from: -4e9, to: 4e9, by: 9_876_543) {
      let text = formatter.string(from: Date(timeIntervalSinceReferenceDate: seconds))
      #expect(try date(seconds) == "\"\(text)\"")
    }
  }

  @Test("Field paths read what decoding reads")
  func paths() throws {
    let bench = CodingBench()
    func read(_ path: String, _ bytes: [UInt8]) throws -> String {
      let path = FieldPath(path.split(separator: ".").map(String.init))
      return try bytes.withUnsafeBytes { bytes in
        var answers: Set<String> = []
        for _ in 0..<2 {
          switch try path.read(in: bytes, shapes: bench.shapes) {
          case .missing: answers.insert("missing")
          case .absent: answers.insert("absent")
          case .value(let kind, let bytes): answers.insert("\(kind) \(Array(bytes))")
          }
        }
        return answers.sorted().joined(separator: "|")
      }
    }
    var rich = Rich.sample
    for _ in 0..<2 {
      let bytes = try bench.bytes(rich)
      #expect(try read("small", bytes) == "uint8 [200]")
      #expect(try read("title", bytes) == "absent")
      #expect(try read("level", bytes) == "int64 [2, 0, 0, 0, 0, 0, 0, 0]")
      #expect(try read("address.city", bytes) == "string \(Array("Köln".utf8))")
      #expect(try read("address.zip", bytes) == "absent")
      #expect(try read("address.none", bytes) == "missing")
      #expect(try read("counts.a", bytes) == "int64 [2, 0, 0, 0, 0, 0, 0, 0]")
      #expect(try read("counts.b", bytes) == "missing")
      #expect(try read("small.x", bytes) == "missing")
    }
    rich.second = rich.address
    #expect(try read("second.street", bench.bytes(rich)) == "string \(Array("Main".utf8))")
    let wild = try bench.bytes(CodableFeatureTests.Wild())
    #expect(try read("left.y", wild) == "string \(Array("y".utf8))")
    let enums = try bench.bytes(["e": CodableFeatureTests.Shape2.circle(radius: 1)])
    #expect(
      try read("e.circle.radius", enums) == "double \(Array(repeating: 0, count: 6) + [240, 63])")
  }
}
