internal import Foundation

extension PageToken {
  private static let version: UInt8 = 1

  /// The token as text of letters, digits, `-` and `_`, which can be stored or sent.
  public var text: String {
    var writer = StoredWriter()
    writer.append(PageToken.version)
    writer.append(order)
    writer.append(varint: UInt64(values.count))
    for list in values {
      writer.append(varint: UInt64(list.count))
      for value in list { writer.append(value) }
    }
    writer.append(data: id)
    return Data(writer.bytes).base64EncodedString()
      .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
      .replacingOccurrences(of: "=", with: "")
  }

  /// The token of a `text`.
  ///
  /// - Throws: `.invalidQuery` if the text is not a token.
  public init(_ text: String) throws {
    var base = text.replacingOccurrences(of: "-", with: "+")
      .replacingOccurrences(of: "_", with: "/")
    while base.utf8.count % 4 != 0 { base += "=" }
    guard let data = Data(base64Encoded: base),
      let token = try? data.withUnsafeBytes({ try PageToken(decoding: $0) })
    else {
      throw LarchError(
        .invalidQuery, "The text is not a page token; start again at the first page.")
    }
    self = token
  }

  private init(decoding bytes: UnsafeRawBufferPointer) throws {
    var reader = StoredReader(bytes)
    guard try reader.integer(UInt8.self) == PageToken.version else { throw PageToken.damaged }
    order = try reader.string()
    values = []
    for _ in 0..<(try reader.count()) {
      var list: [KeyValue] = []
      for _ in 0..<(try reader.count()) { list.append(try reader.keyValue()) }
      values.append(list)
    }
    id = try reader.data()
    guard reader.isAtEnd else { throw PageToken.damaged }
  }

  fileprivate static var damaged: LarchError {
    LarchError(.invalidQuery, "The text is not a page token; start again at the first page.")
  }

  /// Identifies an order.
  static func order(of query: QueryDescription, in collection: String) -> String {
    var parts = [collection]
    for term in query.order {
      parts.append(
        (term.descends ? "-" : "+") + term.textForm.mark + term.field.name + ":"
          + term.field.form.description + (term.field.caseOrder.map { ":" + $0 } ?? ""))
    }
    parts.append(query.idsDescend ? "-" : "+")
    return parts.joined(separator: "\n")
  }
}

extension PageToken: Equatable {
  /// Whether both are the same position in the same order.
  public static func == (a: PageToken, b: PageToken) -> Bool { a.text == b.text }
}

extension PageToken: Codable {
  /// Decodes the text.
  public init(from decoder: any Decoder) throws {
    try self.init(try decoder.singleValueContainer().decode(String.self))
  }

  /// Encodes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension StoredWriter {
  fileprivate mutating func append(_ value: KeyValue) {
    switch value {
    case .null: append(UInt8(0))
    case .bool(let value):
      append(UInt8(1))
      append(UInt8(value ? 1 : 0))
    case .signed(let value):
      append(UInt8(2))
      append(UInt64(bitPattern: value))
    case .unsigned(let value):
      append(UInt8(3))
      append(value)
    case .float(let value):
      append(UInt8(4))
      append(value.bitPattern)
    case .double(let value):
      append(UInt8(5))
      append(value.bitPattern)
    case .date(let value):
      append(UInt8(6))
      append(value.bitPattern)
    case .string(let value):
      append(UInt8(7))
      append(value)
    case .data(let value):
      append(UInt8(8))
      append(data: value)
    case .uuid(let value):
      append(UInt8(9))
      append(data: value)
    case .url(let value):
      append(UInt8(10))
      append(value)
    case .decimal(let value):
      append(UInt8(11))
      append(data: value.bytes)
    }
  }
}

extension StoredReader {
  /// A token may come from anywhere.
  private mutating func decimal() throws -> DecimalKey {
    let digits = try data().withUnsafeBytes { DecimalDigits(key: $0) }
    guard let digits else { throw PageToken.damaged }
    return DecimalKey(digits)
  }

  fileprivate mutating func keyValue() throws -> KeyValue {
    switch try integer(UInt8.self) {
    case 0: .null
    case 1: .bool(try integer(UInt8.self) != 0)
    case 2: .signed(Int64(bitPattern: try integer(UInt64.self)))
    case 3: .unsigned(try integer(UInt64.self))
    case 4: .float(Float(bitPattern: try integer(UInt32.self)))
    case 5: .double(Double(bitPattern: try integer(UInt64.self)))
    case 6: .date(Double(bitPattern: try integer(UInt64.self)))
    case 7: .string(try string())
    case 8: .data(try data())
    case 9: .uuid(try data())
    case 10: .url(try string())
    case 11: .decimal(try decimal())
    default: throw PageToken.damaged
    }
  }
}
