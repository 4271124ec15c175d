import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A key without a property was ignored, and a nested object under a misspelt name vanished. The
/// report did not mention it.
@Suite("The report of an import names the keys that the type does not know")
struct UnknownKeyTests {
  enum Shape: Codable, Hashable, Sendable {
    case point
    case circle(radius: Double)
  }

  struct Place: Codable, Hashable, Sendable {
    var city: String
    var more: [String: Int]?
  }

  /// Reads other keys, depending on the value of one.
  struct Event: Codable, Hashable, Sendable {
    var kind: String
    var value: Int

    enum CodingKeys: String, CodingKey { case kind, small, large }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      kind = try container.decode(String.self, forKey: .kind)
      value = try container.decode(Int.self, forKey: kind == "small" ? .small : .large)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(kind, forKey: .kind)
      try container.encode(value, forKey: kind == "small" ? .small : .large)
    }
  }

  /// A number or an object: tried one after the other.
  enum Either: Codable, Hashable, Sendable {
    case number(Int)
    case place(Place)
    case deep(Deep)

    struct Deep: Codable, Hashable, Sendable {
      var place: Place
      var missing: Int
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int.self) {
        self = .number(number)
      } else if let deep = try? container.decode(Deep.self) {
        self = .deep(deep)
      } else {
        self = .place(try container.decode(Place.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .number(let number): try container.encode(number)
      case .place(let place): try container.encode(place)
      case .deep(let deep): try container.encode(deep)
      }
    }
  }

  /// Reads a list that skips what it cannot read, through containers in containers.
  struct Lossy: Codable, Hashable, Sendable {
    var numbers: [Int] = []
    var inner = 0

    enum CodingKeys: String, CodingKey { case numbers, box }
    enum BoxKeys: String, CodingKey { case inner }
    private struct Skip: Codable {}

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      var list = try container.nestedUnkeyedContainer(forKey: .numbers)
      while !list.isAtEnd {
        if let number = try? list.decode(Int.self) {
          numbers.append(number)
        } else if let pair = try? list.decode([String: Int].self) {
          numbers.append(contentsOf: pair.values)
        } else if let box = try? list.nestedContainer(keyedBy: BoxKeys.self) {
          numbers.append(try box.decode(Int.self, forKey: .inner))
        } else {
          _ = try list.decode(Skip.self)
        }
      }
      inner = try container.nestedContainer(keyedBy: BoxKeys.self, forKey: .box)
        .decode(Int.self, forKey: .inner)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(numbers, forKey: .numbers)
      var box = container.nestedContainer(keyedBy: BoxKeys.self, forKey: .box)
      try box.encode(inner, forKey: .inner)
    }
  }

  struct Thing: Record, Equatable {
    var id: Int
    var name: String?
    var place: Place?
    var places: [Place]?
    var table: [String: Place]?
    var byNumber: [Int: Place]?
    var shape: Shape?
    var shapes: [Shape]?
    var event: Event?
    var events: [Event]?
    var either: [Either]?
    var lossy: Lossy?
    var wrapped: Wrapped?
    var maybe: [Place?]?

    struct Wrapped: Codable, Hashable, Sendable {
      var place: Place

      init(from decoder: any Decoder) throws {
        place = try decoder.singleValueContainer().decode(Place.self)
      }

      func encode(to encoder: any Encoder) throws { try place.encode(to: encoder) }
    }
  }

  @Test(
    "At any depth",
    arguments: [
      (#""nmae":"x""#, ["nmae"]),
      (#""plaec":{"city":"x"}"#, ["plaec"]),
      (#""place":{"city":"x","zip":1}"#, ["place.zip"]),
      (
        #""places":[{"city":"x","zip":1},{"city":"x","zap":null}]"#,
        ["places[].zip", "places[].zap"]
      ),
      (#""place":{"city":"x","more":{"a":1,"b":2}}"#, []),
      (#""table":{"a_b":{"city":"x","zip":{"deep":[1]}}}"#, ["table.a_b.zip"]),
      (#""byNumber":{"5":{"city":"x","zip":1}}"#, ["byNumber.5.zip"]),
      (#""shape":{"circle":{"radius":1}},"shapes":[{"point":{}}]"#, []),
      (
        #""shape":{"circle":{"radius":1,"unit":"m"},"note":1}"#,
        ["shape.circle.unit", "shape.note"]
      ),
      (#""event":{"kind":"small","small":1},"events":[{"kind":"x","large":1}]"#, []),
      (#""event":{"kind":"small","small":1,"large":2}"#, ["event.large"]),
      (#""either":[1,{"city":"x","zip":1}]"#, ["either[].zip"]),
      (#""either":[{"place":{"city":"x","zip":1},"missing":1}]"#, ["either[].place.zip"]),
      (
        #""lossy":{"numbers":[1,"x",{"a":2,"b":2},{"inner":3,"c":"x"}],"box":{"inner":1,"x":1},"y":1}"#,
        ["lossy.box.x", "lossy.numbers[].c", "lossy.y"]
      ),
      (#""wrapped":{"city":"x","zip":1}"#, ["wrapped.zip"]),
      (#""maybe":[null,{"city":"x","zip":1}]"#, ["maybe[].zip"]),
    ])
  func everywhere(_ fields: String, _ unknown: [String]) throws {
    try Store.scratch(Thing.self) { store throws in
      let text = "{\"id\":1,\(fields)}"
      let plain = try JSONDecoder().decode(Thing.self, from: Data(text.utf8))
      for existing in [ImportExisting.replace, .merge] {
        let report = try store.importJSON(Thing.self, from: .text(text), existing: existing)
        #expect(report.unknownKeys == Dictionary(unknown.map { ($0, 1) }) { $0 + $1 })
        #expect(report.unknownKeyCount == unknown.count)
        #expect(try store.find(Thing.self, 1) == plain)
      }
      var options = ImportOptions()
      options.unknownKeys = .refuse
      let text2 = "{\"id\":2,\(fields)}\n{\"id\":3}"
      let report = try store.importJSON(
        Thing.self, from: .text(text2), onError: .skip, options: options)
      #expect(report.skipped == (unknown.isEmpty ? 0 : 1) && report.unknownKeys.isEmpty)
      #expect(
        report.failures.allSatisfy {
          $0.keyword == "unknown_key" && unknown.contains($0.field ?? "")
        })
      let detail = (report.failures.first?.reason as? LarchError)?.context.detail ?? ""
      #expect(unknown.allSatisfy { detail.contains($0) })
    }
  }

  @Test("Each is counted once, however the element is imported")
  func counts() throws {
    try Store.scratch(Guest.self, Branch.self, Tree.self) { store throws in
      let text = (0..<40).map {
        "{\"name\":\"n\",\"age\":1,\"email\":\"e\($0)\",\"x\":1,\"y\($0 % 3)\":2}\n"
      }.joined()
      for policy in [ImportErrorPolicy.stop, .skip] {
        for existing in [ImportExisting.replace, .merge] {
          let report = try store.importJSON(
            Guest.self, from: .text(text), matching: \.email, existing: existing, onError: policy,
            batchSize: 7)
          #expect(report.unknownKeys == ["x": 40, "y0": 14, "y1": 13, "y2": 13])
          #expect(report.unknownKeyCount == 80)
          #expect("\(report)".contains("80 values under unknown keys (x, y0, y1, y2)"))
        }
      }
      // Elements that wait for others are read again.
      let chain = (0..<20).map { "{\"id\":\($0),\"parentID\":\(($0 + 1) % 20),\"x\":1}\n" }.joined()
      let report = try store.importJSON(
        Branch.self, from: .text(chain), onError: .skip, batchSize: 3)
      #expect(report.inserted == 20 && report.unknownKeys == ["x": 20])
      // Elements that are not imported lose no keys.
      let bad = try store.importJSON(
        Guest.self, from: .text(#"[{"name":"x","y":1}]"#), onError: .skip)
      #expect(bad.skipped == 1 && bad.unknownKeyCount == 0)
      var options = ImportOptions()
      options.failureLimit = 2
      let few = try store.importJSON(
        Guest.self, from: .text(text), matching: \.email, onError: .skip, options: options)
      #expect(few.unknownKeys.count == 2 && few.unknownKeyCount == 80)
    }
  }

  @Test("Imports may share a decoder, and key strategies give the names of the type")
  func sharedDecoder() throws {
    struct Visit: Record {
      var id: Int
      var firstDay: String?
      var table: [String: Place]?
    }
    let decoder = ImportOptions.defaultDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let shared = SharedDecoder(decoder: decoder)
    var options = ImportOptions()
    options.makeDecoder = { shared.decoder }
    try Store.scratch(Visit.self) { store throws in
      let text = #"{"id":1,"first_day":"x","last_day":1,"table":{"a_b":{"city":"x"}}}"#
      let report = try store.importJSON(Visit.self, from: .text(text), options: options)
      #expect(report.unknownKeys == ["lastDay": 1])
      #expect(try store.find(Visit.self, 1)?.table?.keys.sorted() == ["a_b"])
      #expect(decoder.userInfo.isEmpty)
    }
  }

  private struct SharedDecoder: @unchecked Sendable { let decoder: JSONDecoder }

  @Test("Random keys, put anywhere into random elements, are all named")
  func randomKeys() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    var expected: [String: Int] = [:]
    /// Puts keys into an object and the objects that are its values.
    func salted(_ value: Any, _ path: String, isTable: Bool = false) -> Any {
      if let list = value as? [Any] { return list.map { salted($0, path + "[]") } }
      guard var object = value as? [String: Any] else { return value }
      for (key, inner) in object {
        object[key] = salted(
          inner, path.isEmpty ? key : path + "." + key, isTable: key == "table")
      }
      while !isTable, Int.random(in: 0..<3, using: &generator) == 0 {
        let name = "u\(Int.random(in: 0..<20, using: &generator))"
        guard object[name] == nil else { continue }
        object[name] = [1, "x", ["city": "y"], [1, 2], NSNull()].randomElement(using: &generator)
        expected[path.isEmpty ? name : path + "." + name, default: 0] += 1
      }
      return object
    }
    try Store.scratch(Thing.self) { store throws in
      var text = Data()
      var plain = Data()
      for id in 1...400 {
        func place() -> [String: Any] { ["city": "c\(id)"] }
        var object: [String: Any] = ["id": id, "name": "n"]
        if Bool.random(using: &generator) { object["place"] = place() }
        if Bool.random(using: &generator) { object["places"] = [place(), place()] }
        if Bool.random(using: &generator) { object["table"] = ["a": place(), "b": place()] }
        if Bool.random(using: &generator) { object["shape"] = ["circle": ["radius": 2]] }
        if Bool.random(using: &generator) { object["either"] = [1, place()] as [Any] }
        if Bool.random(using: &generator) { object["wrapped"] = place() }
        plain += try JSONSerialization.data(withJSONObject: object) + Data("\n".utf8)
        text += try JSONSerialization.data(withJSONObject: salted(object, "")) + Data("\n".utf8)
      }
      let clean = try store.importJSON(Thing.self, from: .data(plain))
      #expect(clean.inserted == 400 && clean.unknownKeyCount == 0, "seed \(seed)")
      let report = try store.importJSON(Thing.self, from: .data(text))
      #expect(report.unchanged == 400, "seed \(seed)")
      #expect(report.unknownKeys == expected, "seed \(seed)")
    }
  }
}
