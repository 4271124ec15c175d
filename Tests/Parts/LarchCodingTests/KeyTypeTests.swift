import Foundation
import Testing

@testable import Larch

@Suite("Types with several types of keys")
struct KeyTypeTests {
  /// All orders in which values of two cases can come.
  private static let orders: [[Bool]] = (0..<64).map { (bits: Int) in
    (0..<6).map { (place: Int) in bits & (1 << place) == 0 }
  }

  /// Writes the values with one coder, each as a record, and reads each back.
  private func check<Value: Codable & Equatable>(_ values: [Value]) throws {
    let bench = CodingBench()
    for value in values { #expect(try bench.decode(Value.self, bench.bytes(value)) == value) }
  }

  /// The same for the values in each kind of container.
  private func checkAll<Value: Codable & Equatable>(_ values: [Value]) throws {
    try check(values)
    try check([values, values])
    try check(values.map { ["a": $0, "b": $0] })
    try check(values.map { Holder(title: "t", value: $0) })
    try check([Feed(values: values)])
    try check(values.map { Superior(title: "t", value: $0) })
  }

  @Test("A case is written with the keys of its own payload, whatever cases came before")
  func payloads() throws {
    for order in Self.orders {
      try checkAll(
        order.enumerated().map { number, isText -> Content in
          isText
            ? .text(.init(body: "body \(number)", author: "author"))
            : .image(.init(url: "url \(number)", caption: "caption"))
        })
    }
  }

  @Test("A case is written with its own keys, of which some are those of another case")
  func sharedKeys() throws {
    for order in Self.orders {
      try checkAll(
        order.enumerated().map { number, isCircle -> Figure in
          isCircle
            ? .circle(radius: Double(number)) : .rectangle(width: Double(number), height: 0.5)
        })
    }
  }

  @Test("A value inside another one of its type has its own keys")
  func recursion() throws {
    for order in Self.orders {
      var outline = Outline.item(text: "first", note: "note")
      var outlines = [outline]
      for (number, isItem) in order.enumerated() {
        outline =
          isItem
          ? .item(text: "text \(number)", note: "note")
          : .group(title: "title \(number)", label: "label", parts: [outline, outlines[0]])
        outlines.append(outline)
      }
      try checkAll(outlines)
    }
  }

  @Test("A wrapper of values of any type writes the keys of each")
  func wrapper() throws {
    let bench = CodingBench()
    for _ in 0..<3 {
      for _ in 0..<2 {
        let text = Content.Text(body: "body", author: "author")
        #expect(try bench.decode(Content.Text.self, bench.bytes(Wrapper(value: text))) == text)
      }
      for _ in 0..<2 {
        let image = Content.Image(url: "url", caption: "caption")
        #expect(try bench.decode(Content.Image.self, bench.bytes(Wrapper(value: image))) == image)
      }
    }
  }

  @Test("A nested container leaves no plan behind when the coder forgets its plans")
  func nestedContainer() throws {
    let bench = CodingBench()
    let pin = Pin(x: 1, y: 2)
    let bytes = try bench.bytes(pin)
    for _ in 0..<3 {
      #expect(try bench.decode(Pin.self, bytes) == pin)
      #expect(bench.coder.decodeState.pointee.noCache.pointee.plan == nil)
      // As when a declaration is added: all plans are made again.
      bench.coder.setAliases(for: Pin.self, ["place": ["position"]])
    }
  }
}

private struct Holder<Value: Codable & Equatable>: Codable, Equatable {
  var title: String
  var value: Value
}

/// Writes its values one by one.
private struct Feed<Value: Codable & Equatable>: Codable, Equatable {
  var values: [Value]

  init(values: [Value]) { self.values = values }

  init(from decoder: any Decoder) throws {
    var list = try decoder.unkeyedContainer()
    values = []
    while !list.isAtEnd { values.append(try list.decode(Value.self)) }
  }

  func encode(to encoder: any Encoder) throws {
    var list = encoder.unkeyedContainer()
    for value in values { try list.encode(value) }
  }
}

/// Writes its value with a super encoder.
private struct Superior<Value: Codable & Equatable>: Codable, Equatable {
  var title: String
  var value: Value

  private enum Keys: String, CodingKey { case title, value }

  init(title: String, value: Value) { (self.title, self.value) = (title, value) }

  init(from decoder: any Decoder) throws {
    let keyed = try decoder.container(keyedBy: Keys.self)
    title = try keyed.decode(String.self, forKey: .title)
    value = try Value(from: keyed.superDecoder(forKey: .value))
  }

  func encode(to encoder: any Encoder) throws {
    var keyed = encoder.container(keyedBy: Keys.self)
    try keyed.encode(title, forKey: .title)
    try value.encode(to: keyed.superEncoder(forKey: .value))
  }
}

/// One of two values, written as that value alone. All fields have one kind.
private enum Content: Codable, Equatable {
  case text(Text)
  case image(Image)

  struct Text: Codable, Equatable { var body, author: String }
  struct Image: Codable, Equatable { var url, caption: String }

  init(from decoder: any Decoder) throws {
    if let text = try? Text(from: decoder) {
      self = .text(text)
    } else {
      self = .image(try Image(from: decoder))
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .text(let text): try text.encode(to: encoder)
    case .image(let image): try image.encode(to: encoder)
    }
  }
}

private enum Figure: Codable, Equatable {
  case circle(radius: Double)
  case rectangle(width: Double, height: Double)

  private enum CircleKeys: String, CodingKey { case type, radius }
  private enum RectangleKeys: String, CodingKey { case type, width, height }

  init(from decoder: any Decoder) throws {
    let circle = try decoder.container(keyedBy: CircleKeys.self)
    if try circle.decode(String.self, forKey: .type) == "circle" {
      self = .circle(radius: try circle.decode(Double.self, forKey: .radius))
    } else {
      let rectangle = try decoder.container(keyedBy: RectangleKeys.self)
      self = .rectangle(
        width: try rectangle.decode(Double.self, forKey: .width),
        height: try rectangle.decode(Double.self, forKey: .height))
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .circle(let radius):
      var circle = encoder.container(keyedBy: CircleKeys.self)
      try circle.encode("circle", forKey: .type)
      try circle.encode(radius, forKey: .radius)
    case .rectangle(let width, let height):
      var rectangle = encoder.container(keyedBy: RectangleKeys.self)
      try rectangle.encode("rectangle", forKey: .type)
      try rectangle.encode(width, forKey: .width)
      try rectangle.encode(height, forKey: .height)
    }
  }
}

private indirect enum Outline: Codable, Equatable {
  case item(text: String, note: String)
  case group(title: String, label: String, parts: [Outline])

  private enum ItemKeys: String, CodingKey { case text, note }
  private enum GroupKeys: String, CodingKey { case title, label, parts }

  init(from decoder: any Decoder) throws {
    let group = try decoder.container(keyedBy: GroupKeys.self)
    if let title = try group.decodeIfPresent(String.self, forKey: .title) {
      self = .group(
        title: title, label: try group.decode(String.self, forKey: .label),
        parts: try group.decode([Outline].self, forKey: .parts))
    } else {
      let item = try decoder.container(keyedBy: ItemKeys.self)
      self = .item(
        text: try item.decode(String.self, forKey: .text),
        note: try item.decode(String.self, forKey: .note))
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .item(let text, let note):
      var item = encoder.container(keyedBy: ItemKeys.self)
      try item.encode(text, forKey: .text)
      try item.encode(note, forKey: .note)
    case .group(let title, let label, let parts):
      var group = encoder.container(keyedBy: GroupKeys.self)
      try group.encode(title, forKey: .title)
      // Between two fields, so that the type learns while this value is being written.
      try group.encode(parts, forKey: .parts)
      try group.encode(label, forKey: .label)
    }
  }
}

private struct Wrapper: Encodable {
  var value: any Encodable

  func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// Writes its place as a value of another type, and reads it with a nested container.
private struct Pin: Codable, Equatable {
  var x: Int
  var y: Int

  private enum Keys: String, CodingKey { case place }
  private enum PlaceKeys: String, CodingKey { case x, y }
  private struct Place: Encodable { var x, y: Int }

  init(x: Int, y: Int) { (self.x, self.y) = (x, y) }

  init(from decoder: any Decoder) throws {
    let keyed = try decoder.container(keyedBy: Keys.self)
    let place = try keyed.nestedContainer(keyedBy: PlaceKeys.self, forKey: .place)
    x = try place.decode(Int.self, forKey: .x)
    y = try place.decode(Int.self, forKey: .y)
  }

  func encode(to encoder: any Encoder) throws {
    var keyed = encoder.container(keyedBy: Keys.self)
    try keyed.encode(Place(x: x, y: y), forKey: .place)
  }
}
