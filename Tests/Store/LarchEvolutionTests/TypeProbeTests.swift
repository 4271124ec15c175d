import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The facts that the probe finds without an instance, against the records that instances write.
@Suite struct TypeProbeTests {
  enum Plain: String, Codable, CaseIterable { case one, two }
  enum Numbered: UInt8, Codable { case first = 3, second }
  enum Payload: Codable, Hashable { case text(String), pair(a: Int, b: Double), none }
  struct Flags: OptionSet, Codable, Hashable { let rawValue: Int16 }
  struct Wrapper: Codable, Hashable {
    var value: String
    init(_ value: String) { self.value = value }
    init(from decoder: any Decoder) throws {
      value = try decoder.singleValueContainer().decode(String.self)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }
  @propertyWrapper struct Clamped: Codable, Hashable {
    var wrappedValue: Int32
    init(wrappedValue: Int32) { self.wrappedValue = min(wrappedValue, 9) }
  }
  struct Inner: Codable, Hashable {
    var a: Int16
    var b: String?
    var deeper: [Deeper]
    struct Deeper: Codable, Hashable { var date: Date; var link: URL? }
  }
  final class Node: Codable, Sendable {
    let name: String
    let children: [Node]
    init(_ name: String, _ children: [Node] = []) {
      self.name = name
      self.children = children
    }
  }

  struct Everything: Record {
    var id = RecordID<Everything>()
    var bool = true, int = -4, int8 = Int8(-1), int16 = Int16(2), int32 = Int32(3)
    var int64 = Int64.max, uint = UInt(7), uint8 = UInt8(8), uint16 = UInt16(9)
    var uint32 = UInt32(10), uint64 = UInt64.max, wide = Int128(5), wider = UInt128(6)
    var float = Float(1.5), double = 2.5, text = "t", date = Date(), uuid = UUID()
    var decimal = Decimal(3), data = Data([1, 2]), url = URL(filePath: "/x")
    var plain = Plain.two, numbered = Numbered.second, flags = Flags(rawValue: 3)
    var payload = Payload.pair(a: 1, b: 2), wrapper = Wrapper("w")
    @Clamped var clamped: Int32 = 5
    var inner = Inner(a: 1, b: nil, deeper: [.init(date: Date(), link: nil)])
    var optionalInner: Inner? = Inner(a: 2, b: "b", deeper: [])
    var texts = ["a", "b"], numbers: Set<Int> = [3, 1], inners = [Inner(a: 1, b: "x", deeper: [])]
    var optionals: [Int?] = [1, nil], map = ["k": 1.5], inMap = [3: Inner(a: 1, b: nil, deeper: [])]
    var byEnum: [Plain: Int] = [.one: 4]
    var nested = [[1, 2], [3]], range = 1...5
    var node = Node("root", [Node("leaf")])
    var maybe: Int?, maybeText: String? = "there", maybePlain: Plain?, maybeTexts: [String]? = ["x"]
    var twice: Int?? = .some(nil)
  }

  /// Reads one field in two ways, and another with a value for a missing one.
  struct ByHand: Record {
    var id: Int
    var size: Int
    var height: Int
    var url: URL

    enum CodingKeys: CodingKey { case id, size, height, url }
    init(id: Int, size: Int, height: Int, url: URL) {
      (self.id, self.size, self.height, self.url) = (id, size, height, url)
    }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(Int.self, forKey: .id)
      if let text = try? container.decode(String.self, forKey: .size) {
        size = text.count
      } else {
        size = try container.decode(Int.self, forKey: .size)
      }
      height = try container.decodeIfPresent(Int.self, forKey: .height) ?? 5
      // A sample value of the probe must never reach this.
      url = URL(string: try container.decode(String.self, forKey: .url).uppercased())!
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(size, forKey: .size)
      try container.encode(height, forKey: .height)
      try container.encode(url.absoluteString, forKey: .url)
    }
  }

  private func check<R: Record>(_ records: R...) throws {
    let form = TypeProbe.facts(of: R.self).form
    let coder = RecordCoder(shapes: ShapeTable())
    for record in records {
      let written = try FieldForm(of: try coder.encode(record), coder.shapes)
      #expect(form.isForm(of: written), "\(R.self)")
      guard case .record(let found) = form, case .record(let real) = written else {
        Issue.record("\(R.self) is no record")
        continue
      }
      // If both know a field, they agree.
      for field in real.fields {
        guard let mine = found.field(field.name) else {
          #expect(!found.isComplete, "\(R.self).\(field.name)")
          continue
        }
        #expect(mine.form.isForm(of: field.form), "\(R.self).\(field.name)")
      }
    }
  }

  @Test func `The probe finds the kinds that a save writes`() throws {
    try check(Everything())
    try check(ByHand(id: 1, size: 2, height: 3, url: URL(filePath: "/")))
    for id in 1...50 {
      let model = PersonModel(id)
      try check(V1.Person(model, writtenBy: 1))
      try check(V2.Person(model, writtenBy: 2))
      try check(V3.Person(model, writtenBy: 3))
      try check(V4.Person(model, writtenBy: 4))
    }
    try check(RefusedChangeTests.Stored.some)
  }

  @Test func `All fields of a type with the compiler's coding are known`() throws {
    guard case .record(let form) = TypeProbe.facts(of: V1.Person.self).form else {
      Issue.record("no record")
      return
    }
    #expect(form.isComplete)
    let text = form.fields.map { "\($0.name): \($0.form)\($0.isOptional ? "?" : "")" }
    #expect(
      text == [
        "age: int32", "home: record", "id: int64", "lastName: string", "level: string",
        "nick: string?", "score: float", "tags: list of string", "teamID: int64?",
      ])
    guard case .record(let all) = TypeProbe.facts(of: Everything.self).form else {
      Issue.record("no record")
      return
    }
    let known: [String: FieldForm] = [
      "numbered": .scalar(.uint8), "flags": .scalar(.int16), "wrapper": .scalar(.string),
      "map": .map(.scalar(.double)), "numbers": .list(.scalar(.int64)), "uuid": .scalar(.uuid),
      "optionals": .list(.unknown), "nested": .list(.list(.scalar(.int64))), "id": .scalar(.int64),
    ]
    for (name, form) in known { #expect(all.field(name)?.form == form, "\(name)") }
  }

  @Test func `Fields that a type reads in its own way are unknown`() throws {
    guard case .record(let form) = TypeProbe.facts(of: ByHand.self).form else {
      Issue.record("no record")
      return
    }
    #expect(form.field("id")?.form == .scalar(.int64))
    #expect(form.field("size")?.form == .unknown)
    #expect(!form.isComplete)
  }

  struct Tolerant: Codable {
    var a: Int
    var b: Int
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      a = (try? container.decode(Int.self, forKey: .a)) ?? 0
      b = try container.decodeIfPresent(Int.self, forKey: .b) ?? 5
    }
  }
  @Test func `A field whose absence is tolerated is optional`() throws {
    guard case .record(let form) = TypeProbe.facts(of: Tolerant.self).form else {
      Issue.record("no record")
      return
    }
    #expect(form.field("a") == .init(name: "a", form: .unknown, isOptional: true))
    #expect(form.field("b") == .init(name: "b", form: .scalar(.int64), isOptional: true))
  }

  @Test func `A form is read as it was written, and any bytes give a form or an error`() throws {
    let form = TypeProbe.facts(of: Everything.self).form
    var writer = StoredWriter()
    form.write(to: &writer)
    let bytes = writer.bytes
    let read = try bytes.withUnsafeBytes { bytes in
      var reader = StoredReader(bytes)
      let form = try FieldForm(reading: &reader)
      try reader.expectEnd()
      return form
    }
    #expect(read == form)
    let history = FieldHistory([form, .unknown]).encoded()
    var random = SeededGenerator(seed: 5)
    for _ in 0..<20_000 {
      var damaged = history
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        damaged[Int.random(in: 0..<damaged.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      if Bool.random(using: &random) {
        damaged.removeLast(Int.random(in: 0..<damaged.count, using: &random))
      }
      do {
        let history = try damaged.withUnsafeBytes { try FieldHistory(decoding: $0) }
        #expect(!history.encoded().isEmpty)
      } catch let error as LarchError { #expect(error.code == .corrupted) }
    }
    let deep = [UInt8](repeating: 36, count: 5000)
    #expect(throws: LarchError.self) {
      try deep.withUnsafeBytes { try FieldHistory(decoding: $0) }
    }
  }

  @Test func `A history of many versions stays short, and checks less`() {
    var history = FieldHistory([])
    for number in 0..<100 {
      history.add(
        .record(
          RecordForm(
            [.init(name: "f\(number)", form: .scalar(.bool), isOptional: false)], isComplete: true))
      )
    }
    #expect(history.versions.count <= FieldHistory.versionLimit)
    var evolution = FieldEvolution(aliases: FieldAliases(), defaults: [])
    evolution.compare(
      stored: history.versions[0],
      declared: .record(
        RecordForm(
          [.init(name: "f0", form: .scalar(.string), isOptional: true)], isComplete: true)))
    #expect(evolution.mismatches.map(\.detail) == ["stored bool, declared string"])
  }
}
