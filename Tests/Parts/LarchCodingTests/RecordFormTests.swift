import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("One writer and one reader of records")
struct RecordFormTests {
  struct Texts: Codable, Equatable {
    var number: Int16
    var first: String
    var maybe: Int64?
    var second: String?
    var key: UUID
    var list: [Int]
    var last: String?
  }

  final class Link: Codable, Equatable {
    let number: Int
    let next: Link?
    init(_ number: Int, _ next: Link?) { (self.number, self.next) = (number, next) }
    static func == (a: Link, b: Link) -> Bool { a.number == b.number && a.next == b.next }
  }

  /// A chain was refused at the deepest level until a shorter one had taught the coder its shape: the
  /// writer of trees counted its numbers as one level more.
  @Test("Records may be nested to the last level, even the first one that a coder sees")
  func deepest() throws {
    func chain(_ count: Int) -> Link? { (0..<count).reduce(nil) { Link($1, $0) } }
    try CodingBench().roundTrip(try #require(chain(RecordFormat.depthLimit)))
    let bench = CodingBench()
    for _ in 0..<2 {
      #expect(throws: LarchError.self) { try bench.bytes(chain(RecordFormat.depthLimit + 1)) }
    }
  }

  @Test("The builder restores a record from the fields of the reader, narrow and wide")
  func rebuilding() throws {
    var random = SeededGenerator(seed: 11)
    let bench = CodingBench()
    for round in 0..<300 {
      // Around the longest narrow record, and far from it.
      let longest = round % 3 == 0 ? 40 : round % 3 == 1 ? 66_000 : 32_800
      func text() -> String {
        String(repeating: "x", count: Int.random(in: longest / 2...longest, using: &random))
      }
      let value = Texts(
        number: .random(in: .min ... .max, using: &random), first: text(),
        maybe: round % 5 == 0 ? nil : .random(in: .min ... .max, using: &random),
        second: round % 4 == 0 ? nil : text(), key: UUID(),
        list: (0..<Int.random(in: 0..<200, using: &random)).map { $0 },
        last: round % 7 == 0 ? nil : text())
      // The first value of a coder goes through a tree, all others do not.
      let bytes = try (round % 2 == 0 ? bench : CodingBench()).bytes(value)
      let shapes = ShapeTable()
      let shape = try shapes.intern(
        typeName: "Texts",
        fields: [
          ("number", .int16), ("first", .string), ("maybe", .int64), ("second", .string),
          ("key", .uuid), ("list", .list), ("last", .string),
        ].map { ShapeField(name: $0, kind: $1) })
      try bytes.withUnsafeBytes { bytes in
        let view = try RecordView(bytes)
        let fields = Dictionary(uniqueKeysWithValues: try view.fields(shapes))
        let isWide = bytes.count > RecordFormat.narrowLimit
        #expect(view.isWide == isWide)
        var output = RecordOutput()
        defer { output.deallocate() }
        // Wherever it begins.
        output.append(fixed: UInt16(7))
        var record = RecordBuilder(shape, in: &output)
        for (slot, field) in shape.fields.enumerated() {
          if let value = fields[field.name] { output.append(value.bytes) }
          record.end(slot, isPresent: fields[field.name] != nil, in: &output)
        }
        #expect(output.bytes.dropFirst(2).elementsEqual(bytes))
        for slot in shape.fields.indices {
          let place = FieldPlace(slot, in: shape, isWide: isWide)
          let found = try view.value(at: place, slotsEnd: try view.slotsEnd(shape))
          #expect(found.isNil == (fields[shape.fields[slot].name] == nil))
        }
      }
    }
  }

  @Test("Numbers of every length are written in the shortest form and read back")
  func varints() throws {
    for shift in 0..<64 {
      for value in [UInt64(1) << shift, (UInt64(1) << shift) - 1] {
        var bytes: [UInt8] = []
        Varint.write(value) { bytes.append($0) }
        #expect(bytes.count == Varint.width(value))
        let stored = try bytes.withUnsafeBytes { bytes in
          var reader = StoredReader(bytes)
          return try reader.varint()
        }
        #expect(stored == value)
        guard value <= UInt64(UInt32.max) else { continue }
        let short = try bytes.withUnsafeBytes { bytes in
          var reader = ByteReader(bytes)
          return try reader.varint()
        }
        #expect(UInt64(short) == value)
      }
    }
  }
}
