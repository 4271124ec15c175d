import Testing

@testable import Larch

@Suite("Shapes and their table")
struct ShapeTableTests {
  let fields = [ShapeField(name: "a", kind: .int64), ShapeField(name: "b", kind: .string)]

  @Test("Equal content is one shape; different content gets the next id")
  func intern() throws {
    let table = ShapeTable()
    let first = try table.intern(typeName: "A", fields: fields)
    #expect(try table.intern(typeName: "A", fields: fields) === first)
    #expect(try table.intern(typeName: "B", fields: fields).id == 2)
    #expect(try table.intern(typeName: "A", fields: fields.reversed()).id == 3)
    #expect(table.count == 3)
  }

  @Test("The loader loads a shape that is not in memory, and only once")
  func loader() throws {
    let table = ShapeTable(count: 2)
    var asked: [UInt16] = []
    table.loader = { id in
      asked.append(id)
      return id == 1 ? Shape(id: id, typeName: "A", fields: fields) : nil
    }
    #expect(try table.shape(1) === table.shape(1))
    #expect(throws: LarchError.self) { try table.shape(2) }
    #expect(throws: LarchError.self) { try table.shape(0) }
    #expect(throws: LarchError.self) { try table.shape(3) }
    #expect(asked == [1, 2, 3])
  }

  @Test("Truncating frees the ids, and equal content is a new shape after that")
  func truncate() throws {
    let table = ShapeTable()
    let first = try table.intern(typeName: "A", fields: fields)
    _ = try table.intern(typeName: "B", fields: fields)
    table.truncate(to: 1)
    #expect(throws: LarchError.self) { try table.shape(2) }
    #expect(try table.intern(typeName: "C", fields: []).id == 2)
    #expect(try table.intern(typeName: "A", fields: fields) === first)
  }

  @Test("A shape reads back from its bytes, with every kind")
  func encoded() throws {
    let shape = Shape(
      id: 9, typeName: "Tür<Int>",
      fields: FieldKind.allCases.map { ShapeField(name: "f\($0.rawValue)", kind: $0) })
    let again = try shape.encoded().withUnsafeBytes { try Shape(id: 9, decoding: $0) }
    #expect(again.fields == shape.fields && again.typeName == shape.typeName)
    #expect(again.slotsEnd == shape.slotsEnd && again.wideSlotsEnd == shape.wideSlotsEnd)
  }

  /// 300 cases do not fit a byte, so the keys are compared by name.
  struct Huge: Codable, Equatable {
    struct Key: CodingKey {
      let number: UInt16
      var stringValue: String { "k\(number)" }
      var intValue: Int? { nil }
      init(_ number: Int) { self.number = UInt16(number) }
      init?(stringValue: String) {
        guard let number = UInt16(stringValue.dropFirst()) else { return nil }
        self.number = number
      }
      init?(intValue: Int) { nil }
    }
    var values: [String]
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      for (index, value) in values.enumerated() where index % 7 != 3 {
        if index % 2 == 0 {
          try container.encode(value, forKey: Key(index))
        } else {
          try container.encode(value.utf8.count, forKey: Key(index))
        }
      }
    }
    init(_ values: [String]) { self.values = values }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      values = []
      for index in 0..<300 {
        if index % 7 == 3 {
          #expect(!container.contains(Key(index)))
          values.append("v\(index)")
        } else if index % 2 == 0 {
          values.append(try container.decode(String.self, forKey: Key(index)))
        } else {
          let count = try container.decode(Int.self, forKey: Key(index))
          #expect(count == "v\(index)".utf8.count)
          values.append("v\(index)")
        }
      }
    }
  }

  @Test("Records of more than 64 fields, and keys of more than one byte")
  func manyFields() throws {
    let bench = CodingBench()
    try bench.roundTrip(Huge((0..<300).map { "v\($0)" }))
    #expect(bench.shapes.count == 1)
    let shape = try bench.shapes.shape(1)
    #expect(shape.fields.count == 300 - 43)
  }

  @Test("Keys that are created at run time make a map, not a shape")
  func dynamicKeys() throws {
    struct Dynamic: Encodable {
      struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(2, forKey: Key(stringValue: "b"))
        try container.encode(1, forKey: Key(stringValue: "a"))
      }
    }
    let bench = CodingBench()
    for _ in 0..<3 {
      #expect(try bench.decode([String: Int].self, bench.bytes(Dynamic())) == ["a": 1, "b": 2])
      #expect(try bench.bytes(Dynamic()) == bench.bytes(["b": 2, "a": 1]))
    }
    #expect(bench.shapes.count == 0)
  }
}
