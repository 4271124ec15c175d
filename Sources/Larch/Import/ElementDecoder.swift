internal import Foundation

/// Makes records of the elements of a JSON text.
final class ElementDecoder<R: Record> {
  private let decoder: JSONDecoder
  let filling: ElementFilling

  init(_ options: ImportOptions) {
    decoder = options.makeDecoder()
    filling = ElementFilling(for: R.self)
  }

  /// The record that an element holds.
  ///
  /// - Parameters:
  ///   - stored: the record that the element stands for, which has the id.
  ///   - merges: whether it also has what else the element lacks.
  func record(
    _ bytes: UnsafeRawBufferPointer, over stored: R? = nil, merges: Bool = false
  ) throws -> R {
    var filling = filling
    if let stored {
      filling.stored = merges ? try FieldCapture.fields(of: stored) : [filling.idKey: stored.id]
    }
    return try described(bytes) {
      try decoder.decode(
        FilledElement<R>.self, from: ElementDecoder.data(bytes), configuration: filling
      ).record
    }
  }

  /// One value of an element; nil where it lacks or is null.
  func value<Value: Decodable>(
    _ type: Value.Type, at path: [String], of bytes: UnsafeRawBufferPointer
  ) throws -> Value? {
    try described(bytes) {
      try decoder.decode(
        ElementValue<Value>.self, from: ElementDecoder.data(bytes), configuration: path
      ).value
    }
  }

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
    // Numbers that do not fit their field come without a path too.
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
      "An element is not a record of the type: a field lacks, or holds what it cannot.",
      underlying: error
    ) {
      $0.collection = R.collectionName
      $0.field = path.isEmpty ? nil : path
      $0.detail = detail
    }
  }
}

/// Whatever is JSON.
private struct AnyElement: Decodable {
  init(from decoder: any Decoder) {}
}

/// One value somewhere in an element.
private struct ElementValue<Value: Decodable>: DecodableWithConfiguration {
  let value: Value?

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder, configuration path: [String]) throws {
    var container = try decoder.container(keyedBy: Name.self)
    for name in path.dropLast() {
      let key = Name(stringValue: name)
      guard container.contains(key), try !container.decodeNil(forKey: key) else {
        value = nil
        return
      }
      container = try container.nestedContainer(keyedBy: Name.self, forKey: key)
    }
    guard let last = path.last.map({ Name(stringValue: $0) }), container.contains(last),
      try !container.decodeNil(forKey: last)
    else {
      value = nil
      return
    }
    value = try container.decode(Value.self, forKey: last)
  }
}
