import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private enum Rank: Int8, IndexKey { case low = -1, high = 1 }

private struct Money: IndexKey {
  var cents: Int64
  var indexValue: Int64 { cents }
}

private struct Version: IndexKey {
  var major: Int
  var name: String?
  var indexValue: CompositeKey<Int, String?> { CompositeKey(major, name) }
}

@Suite("Keys are read by their form")
struct KeyReaderTests {
  private func text<K: IndexKey>(_ value: K) throws -> String {
    try SampleKey(value).bytes.withUnsafeBytes {
      try KeyReader.read($0, as: K.keyCoding.form).description
    }
  }

  @Test func `keys have a readable text`() throws {
    #expect(try text(CompositeKey("London", 18)) == #"["London", 18]"#)
    #expect(try text("a\"\\\n\0e\u{301}\u{200D}") == #"["a\"\\\n\u{0}é\u{200D}"]"#)
    #expect(try text(Rank.low) == "[-1]")
    #expect(try text(Money(cents: 5)) == "[5]")
    #expect(try text(Version(major: 2, name: nil)) == "[2, nil]")
    #expect(try text(Optional<Version>.none) == "[nil]")
    #expect(try text(Data([0, 255])) == "[0x00ff]")
    #expect(try text(Character("é")) == #"["é"]"#)
    #expect(try text(try #require(URL(string: "https://a.b/c"))) == #"["https://a.b/c"]"#)
    #expect(try text(String(repeating: "é", count: 64)).hasSuffix("é\"…]"))
    let id = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
    #expect(try text(id) == "[00112233-4455-6677-8899-AABBCCDDEEFF]")
  }

  @Test(arguments: [
    ("int64?", "int64?"), ("(string,int64)", "string,int64"),
    ("(string,int64)?", "(string,int64)?"),
    ("string", "string"), ("date??,(uuid)", "date??,uuid"),
  ])
  func `forms have a text that can be read again`(text: String, expected: String) throws {
    let form = try #require(KeyForm(text))
    #expect(form.description == expected)
    #expect(KeyForm(expected) == form)
  }

  @Test(arguments: [
    "", ",", "int", "int64,", "(int64", "int64)", "?", "int64 ", "()",
    String(repeating: "(", count: 5000), "int64" + String(repeating: "?", count: 5000),
  ])
  func `text that is not a form is refused`(text: String) { #expect(KeyForm(text) == nil) }

  @Test(
    arguments: [
      ("bool", [2]), ("bool", []), ("int8", [1, 2]), ("int64", [0, 1]), ("string", []),
      ("string", [0]), ("string", [1, 0xFF]), ("string", [1, 0x65, 0xCC, 0x81]),
      ("string,bool", [1, 65]), ("string,bool", [1, 65, 0, 1, 0]), ("string,bool", [1, 0, 0]),
      ("int8?", [2, 0]), ("float", [0x7F, 0xFF, 0xFF, 0xFF]), ("float", [0xFF, 0xFF, 0xFF, 0xFE]),
      ("uuid", [1, 2, 3]), ("data", [1] + [UInt8](repeating: 7, count: 129)),
      ("data,bool", [1] + [UInt8](repeating: 7, count: 128) + [0, 0, 1]),
      ("data,bool", [1] + [UInt8](repeating: 7, count: 127) + [0]),
    ] as [(String, [UInt8])])
  func `bytes that the writer never writes are refused`(form: String, bytes: [UInt8]) throws {
    let form = try #require(KeyForm(form))
    #expect(throws: LarchError.self) {
      try bytes.withUnsafeBytes { _ = try KeyReader.read($0, as: form) }
    }
  }

  @Test func `any bytes are refused, or the writer writes the same bytes`() throws {
    var random = SeededGenerator(seed: 41)
    let forms = [
      "string,int8", "data?,string", "float?", "double", "bool,string?,data", "(int16,url)?",
    ]
    .compactMap { KeyForm($0) }
    var accepted = 0
    for _ in 0..<100_000 {
      let form = forms[Int(random.next() % UInt64(forms.count))]
      let likely: [UInt8] = [0, 0, 1, 1, 0xFF, 65, 0xCC, 0x81]
      let bytes = (0..<(random.next() % 10)).map { _ in likely[Int(random.next() % 8)] }
      guard let key = try? bytes.withUnsafeBytes({ try KeyReader.read($0, as: form) }) else {
        continue
      }
      accepted += 1
      var writer = KeyWriter()
      let isOfForm = writer.append(key.values, as: form)
      #expect(isOfForm && [UInt8](writer.bytes) == bytes, "\(form): \(bytes)")
    }
    #expect(accepted > 1000)
  }

  private func entries<F: IndexableField>(_ value: F) -> [[UInt8]] {
    var writer = KeyWriter()
    var keys: [[UInt8]] = []
    F.fieldCoding.forEachKey(of: value, to: &writer, isLast: true) {
      keys.append([UInt8]($0.bytes))
    }
    return keys
  }

  @Test func `arrays and sets have an entry for each element, and none when empty or nil`() {
    #expect(entries(["a", "b"]) == [[1, 97], [1, 98]])
    #expect(entries([] as [String]).isEmpty)
    #expect(entries(Optional<[Int8]>.none).isEmpty)
    #expect(entries([Int8(1)] as [Int8]?) == [[0x81]])
    #expect(entries(Set([UInt8(7)])) == [[7]])
    #expect(entries([nil, 1] as [Int8?]) == [[0], [1, 0x81]])
    #expect(entries(Optional<Int8>.none) == [[0]])
    #expect(Optional<[Int8]>.fieldCoding.form.description == "int8")
    #expect(Optional<Int8>.fieldCoding.form.description == "int8?")
  }

  @Test func `a nil is noted until it is taken back`() {
    var writer = KeyWriter()
    let mark = writer.mark
    writer.appendNil()
    let noted = writer.hasNil
    writer.rewind(to: mark)
    let after = writer.hasNil
    #expect(noted && !after)
  }

  @Test(arguments: [(500, true), (501, false), (2000, false)])
  func `ids are whole, and of a text that is too long there is more than any id has`(
    length: Int, fits: Bool
  ) {
    var writer = KeyWriter()
    let isWritten = writer.append(idString: String(repeating: "i", count: length))
    let count = writer.bytes.count
    #expect(isWritten == fits && count == (fits ? 501 : 502))
  }
}
