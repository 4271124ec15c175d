internal import Foundation

/// Decodes the elements of a JSON text to records.
final class ElementDecoder<R: Record> {
  private let decoder: JSONDecoder
  private(set) var filling: ElementFilling
  private let findings = ElementFindings()
  private let refusesUnknownKeys: Bool

  init(_ options: ImportOptions) {
    decoder = ElementDecoder.own(options.makeDecoder())
    if let key = ElementFindings.key { decoder.userInfo[key] = findings }
    filling = ElementFilling(for: R.self)
    refusesUnknownKeys = options.unknownKeys == .refuse
  }

  /// The unknown keys of the last record, as paths.
  var unknownKeys: [String] { findings.unknownKeys }

  /// Notes the properties that are lists of ids: for these, null is an empty list.
  func take(listsOf collection: CollectionHandle) {
    for reference in collection.references where reference.schema.declaration.isList {
      findings.lists.insert(reference.schema.path)
    }
  }

  /// A private copy of the given decoder: imports may share one.
  private static func own(_ given: JSONDecoder) -> JSONDecoder {
    guard type(of: given) == JSONDecoder.self else { return given }
    let own = JSONDecoder()
    own.dateDecodingStrategy = given.dateDecodingStrategy
    own.dataDecodingStrategy = given.dataDecodingStrategy
    own.nonConformingFloatDecodingStrategy = given.nonConformingFloatDecodingStrategy
    own.keyDecodingStrategy = given.keyDecodingStrategy
    own.userInfo = given.userInfo
    own.allowsJSON5 = given.allowsJSON5
    own.assumesTopLevelDictionary = given.assumesTopLevelDictionary
    return own
  }

  /// The record of an element.
  ///
  /// - Parameters:
  ///   - id: that of the stored record that the element stands for.
  ///   - stored: this record, where it keeps the fields that the element does not have.
  func record(
    _ element: ElementInput, over id: R.ID? = nil, merging stored: R? = nil
  ) throws -> R {
    let bytes = element.bytes
    var filling = filling
    filling.given = element.given
    filling.emptyLists = element.emptyLists
    if let stored {
      filling.stored = try FieldCapture.fields(of: stored)
      filling.merges = true
    } else if let id {
      filling.stored = [filling.idKey: id]
    }
    findings.unknownKeys.removeAll(keepingCapacity: true)
    let record = try described(bytes) {
      try decoder.decode(
        FilledElement<R>.self, from: ElementDecoder.data(bytes),
        configuration: (filling, findings)
      ).record
    }
    if refusesUnknownKeys, let first = findings.unknownKeys.first {
      throw LarchError.unknownKey(first, findings.unknownKeys, in: R.collectionName)
    }
    return record
  }

  /// One value of an element; nil if it is absent or null.
  func value<Value: Decodable>(
    _ type: Value.Type, at path: [String], of element: ElementInput
  ) throws -> Value? {
    if path.count == 1, let given = element.given[path[0]], let value = given as? Value {
      return value
    }
    return try described(element.bytes) {
      try decoder.decode(
        ElementValue<Value>.self, from: ElementDecoder.data(element.bytes), configuration: path
      ).value
    }
  }

  /// Declares the value of a field for elements without its keys.
  func setDefault(_ value: any Sendable, for name: String) { filling.defaults[name] = value }

  /// The error of bytes that are no JSON.
  func malformed(_ bytes: UnsafeRawBufferPointer) -> LarchError {
    do {
      _ = try described(bytes) {
        try decoder.decode(AnyElement.self, from: ElementDecoder.data(bytes))
      }
    } catch let error as LarchError { return error } catch {}
    return LarchError(.invalidJSON, "An element is not valid JSON; see the detail.") {
      $0.collection = R.collectionName
      $0.detail = "the text does not follow RFC 8259, or is nested more than 512 levels deep"
    }
  }

  /// The name under which the decoder finds a key of an element. It differs if the decoder has a key
  /// strategy.
  func name(ofKey key: String) -> String {
    guard usesKeyStrategy else { return key }
    var bytes: [UInt8] = [UInt8(ascii: "{")]
    JSONValue.write(key, to: &bytes)
    bytes += ":0}".utf8
    let names = try? decoder.decode(ElementNames.self, from: Data(bytes)).names
    return names?.first ?? key
  }

  /// Whether the decoder may give keys other names.
  var usesKeyStrategy: Bool {
    if case .useDefaultKeys = decoder.keyDecodingStrategy { return false }
    return true
  }

  /// Whether the decoder also reads what is not JSON.
  var readsJSON5: Bool { decoder.allowsJSON5 }

  /// The bytes are valid for the call, and decoders copy what they keep.
  private static func data(_ bytes: UnsafeRawBufferPointer) -> Data {
    guard let base = bytes.baseAddress else { return Data() }
    return Data(
      bytesNoCopy: UnsafeMutableRawPointer(mutating: base), count: bytes.count, deallocator: .none)
  }

  private func described<T>(
    _ bytes: UnsafeRawBufferPointer, _ decode: () throws -> T
  ) throws -> T {
    do { return try decode() } catch let error as DecodingError {
      throw described(error, bytes)
    }
  }

  private func described(
    _ error: DecodingError, _ bytes: UnsafeRawBufferPointer
  ) -> LarchError {
    let context: DecodingError.Context
    var key: (any CodingKey)?
    switch error {
    case .keyNotFound(let missing, let found): (key, context) = (missing, found)
    case .typeMismatch(_, let found), .valueNotFound(_, let found): context = found
    case .dataCorrupted(let found): context = found
    @unknown default: return ElementDecoder.mismatch("", "", error)
    }
    let path = (context.codingPath + (key.map { [$0] } ?? []))
      .map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    let isJSON = (try? decoder.decode(AnyElement.self, from: ElementDecoder.data(bytes))) != nil
    if case .dataCorrupted = error, path.isEmpty, !isJSON {
      return LarchError(
        .invalidJSON, "An element is not valid JSON; see the detail.", underlying: error
      ) {
        $0.collection = R.collectionName
        $0.detail = context.debugDescription
      }
    }
    return ElementDecoder.mismatch(path, context.debugDescription, error)
  }

  private static func mismatch(
    _ path: String, _ detail: String, _ error: DecodingError
  ) -> LarchError {
    LarchError(
      .elementMismatch,
      "An element is not a valid record of the type: a field is missing, or its value has the wrong type.",
      underlying: error
    ) {
      $0.collection = R.collectionName
      $0.field = path.isEmpty ? nil : path
      $0.detail = detail
    }
  }
}

/// A record that is decoded from an element in which some keys may be absent.
private struct FilledElement<R: Record>: DecodableWithConfiguration {
  let record: R

  init(from decoder: any Decoder, configuration: (ElementFilling, ElementFindings)) throws {
    record = try ElementReader(
      decoder, configuration.1, configuration.0, names: KeyStrategy.of(R.self)
    ).read(R.self)
  }
}

/// The keys of an object, as a decoder names them.
private struct ElementNames: Decodable {
  let names: [String]

  init(from decoder: any Decoder) throws {
    names = try decoder.container(keyedBy: ElementKey.self).allKeys.map(\.stringValue)
  }
}

/// Any JSON.
private struct AnyElement: Decodable {
  init(from decoder: any Decoder) {}
}

/// One value somewhere in an element.
private struct ElementValue<Value: Decodable>: DecodableWithConfiguration {
  let value: Value?

  init(from decoder: any Decoder, configuration path: [String]) throws {
    var container = try decoder.container(keyedBy: ElementKey.self)
    for name in path.dropLast() {
      let key = ElementKey(stringValue: name)
      guard container.contains(key), try !container.decodeNil(forKey: key) else {
        value = nil
        return
      }
      container = try container.nestedContainer(keyedBy: ElementKey.self, forKey: key)
    }
    guard let last = path.last.map({ ElementKey(stringValue: $0) }), container.contains(last),
      try !container.decodeNil(forKey: last)
    else {
      value = nil
      return
    }
    value = try container.decode(ElementPart<Value>.self, forKey: last).value
  }
}
