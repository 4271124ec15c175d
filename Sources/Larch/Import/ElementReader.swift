internal import Foundation

/// The findings while an element is decoded. Each import has one, and decodes its elements one
/// after the other.
final class ElementFindings: @unchecked Sendable {
  // Sendable because the decoder requires it; only the thread that decodes uses it.

  /// The key under which a running decoder has it.
  static let key = CodingUserInfoKey(rawValue: "larch.import")

  /// The keys that no type used, as paths.
  var unknownKeys: [String] = []
  /// The paths of lists of ids, for which null means none.
  var lists: Set<[String]> = []

  /// - Returns: nil for a decoder that is not that of an import.
  static func of(_ decoder: any Decoder) -> ElementFindings? {
    key.flatMap { decoder.userInfo[$0] as? ElementFindings }
  }
}

/// A key that is any text.
struct ElementKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
  init(_ key: some CodingKey) { (stringValue, intValue) = (key.stringValue, key.intValue) }
}

/// Decodes a value of an element, and notes which keys of its objects the type uses: the others are
/// unknown.
final class ElementReader: Decoder {
  let base: any Decoder
  let findings: ElementFindings
  /// For the element itself.
  let filling: ElementFilling?
  /// The object, once it was used by key.
  private(set) var object: KeyedDecodingContainer<ElementKey>?
  private var asked: Set<String> = []
  private var children: [ElementReader] = []
  /// How the type names its fields; the keys of a container in it stay as they are.
  let keyStrategy: KeyStrategy

  init(
    _ base: any Decoder, _ findings: ElementFindings, _ filling: ElementFilling? = nil,
    names keyStrategy: KeyStrategy = .asWritten
  ) {
    self.keyStrategy = keyStrategy
    self.base = base
    self.findings = findings
    self.filling = filling
  }

  var codingPath: [any CodingKey] { base.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let object = try self.object ?? base.container(keyedBy: ElementKey.self)
    self.object = object
    return KeyedDecodingContainer(ElementObject<Key>(object: object, reader: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    ElementList(base: try base.unkeyedContainer(), reader: self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    ElementSingle(base: try base.singleValueContainer(), reader: self)
  }

  /// The key of a field in the element: its stored name.
  func key<Key: CodingKey>(of key: Key) -> ElementKey {
    keyStrategy == .asWritten
      ? ElementKey(key) : ElementKey(stringValue: keyStrategy.fieldName(of: key))
  }

  func ask(_ key: String) { asked.insert(key) }

  func child(_ decoder: any Decoder) -> ElementReader {
    let child = ElementReader(decoder, findings)
    children.append(child)
    return child
  }

  /// Decodes the whole value. If that fails, it has noted nothing: another type may be tried next.
  func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let before = findings.unknownKeys.count
    do {
      let value = try Value(from: self)
      finish()
      return value
    } catch {
      findings.unknownKeys.removeSubrange(before...)
      throw error
    }
  }

  /// Notes the keys that were not used.
  private func finish() {
    for child in children { child.finish() }
    for key in object?.allKeys ?? [] where !asked.contains(key.stringValue) {
      findings.unknownKeys.append(ElementReader.name(of: base.codingPath, key))
    }
  }

  /// `address.zip`, or `places[].zip` for any element of a list.
  private static func name(of path: [any CodingKey], _ key: ElementKey) -> String {
    var text = ""
    for step in path + [key] {
      if step.intValue != nil, step.stringValue.hasPrefix("Index ") {
        text += "[]"
      } else {
        text += (text.isEmpty ? "" : ".") + step.stringValue
      }
    }
    return text
  }
}

/// A value somewhere in an element, which is decoded through an `ElementReader`.
struct ElementPart<Value: Decodable>: Decodable {
  let value: Value

  init(from decoder: any Decoder) throws {
    // The decoder of Foundation treats these specially only if they are decoded by it directly.
    if Value.self == URL.self {
      value = try ElementPart.url(decoder)
    } else if PlainTypes.all.contains(ObjectIdentifier(Value.self)) {
      do { value = try decoder.singleValueContainer().decode(Value.self) } catch {
        guard Value.self is any Sequence.Type, Value.self != Data.self else { throw error }
        // Decoded again, for an error that identifies the element.
        value = try ElementPart.read(decoder)
      }
    } else if let type = Value.self as? any TextKeyed.Type,
      let table = try type.read(decoder) as? Value
    {
      value = table
    } else {
      value = try ElementPart.read(decoder)
    }
  }

  /// Whether the decoder of Foundation treats the type specially.
  static var isPlain: Bool {
    Value.self == URL.self || PlainTypes.all.contains(ObjectIdentifier(Value.self))
      || Value.self is any TextKeyed.Type
  }

  private static func read(_ decoder: any Decoder) throws -> Value {
    guard let findings = ElementFindings.of(decoder) else { return try Value(from: decoder) }
    return try ElementReader(decoder, findings, names: KeyStrategy.of(Value.self)).read(Value.self)
  }

  /// A text, or an object with its base, as an export writes it.
  private static func url(_ decoder: any Decoder) throws -> Value {
    do { return try decoder.singleValueContainer().decode(Value.self) } catch {
      guard (try? decoder.container(keyedBy: ElementKey.self)) != nil else { throw error }
      return try read(decoder)
    }
  }
}

/// Types that Foundation codes specially, and others without keys.
enum PlainTypes {
  static let all: Set<ObjectIdentifier> = Set(
    ([
      Date.self, Data.self, Decimal.self, UUID.self, [String].self, Set<String>.self, [Int].self,
      [Double].self, [Float].self, [Int64].self, [UInt8].self, [Bool].self, [Date].self,
      [UUID].self,
    ] as [any Any.Type]).map { ObjectIdentifier($0) })
}

/// Dictionaries that keep the keys of the text, whatever the key strategy is.
private protocol TextKeyed {
  static func read(_ decoder: any Decoder) throws -> Any
}

extension Dictionary: TextKeyed where Key == String, Value: Decodable {
  static func read(_ decoder: any Decoder) throws -> Any {
    try decoder.singleValueContainer().decode([String: ElementPart<Value>].self)
      .mapValues(\.value)
  }
}

// MARK: - Numbers

extension DecodingError {
  /// The error for a number that does not fit `type`, or a text with bytes that are none: Foundation
  /// reports neither its place nor its value.
  static func located<T>(
    _ error: any Error, _ type: T.Type, _ path: @autoclosure () -> [any CodingKey],
    _ number: () -> Decimal?
  ) -> any Error {
    // An internal type of Foundation, which its decoder turns into an error without a path at the
    // end.
    guard "\(Swift.type(of: error))" == "JSONError" else { return error }
    let text = number().map { "The number \($0)" } ?? "The number"
    // A text has no value that does not fit, so its bytes are wrong.
    let description =
      type == String.self
      ? "The text is not valid UTF-8, or has an escape that is no character."
      : "\(text) does not fit \(named(type))."
    return DecodingError.dataCorrupted(Context(codingPath: path(), debugDescription: description))
  }

  private static func named<T>(_ type: T.Type) -> String {
    func range<N: FixedWidthInteger>(_ type: N.Type) -> String {
      "\(type), which holds whole numbers from \(N.min) to \(N.max)"
    }
    if let type = type as? any FixedWidthInteger.Type { return range(type) }
    return "\(type)"
  }
}
