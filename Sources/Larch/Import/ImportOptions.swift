public import Foundation

/// What an import does when an element cannot go in.
public enum ImportErrorPolicy: Sendable, Hashable {
  /// Nothing goes in: the whole import is one change, and the error says which element it was.
  case stop
  /// The others go in, batch by batch, and the report says why this one did not.
  case skip
}

/// What an import does with a record that is there already.
public enum ImportExisting: Sendable, Hashable {
  /// The element takes its place.
  case replace
  /// The fields that the element has take the place of those of the record, the others stay.
  case merge
}

/// What an import does with the keys of an element that the type does not know.
///
/// A key is known when the type asks for it while the element is decoded. A property that is a
/// dictionary has no unknown keys.
public enum ImportUnknownKeys: Sendable, Hashable {
  /// They are passed over, and ``ImportReport/unknownKeys`` counts them.
  case report
  /// The element cannot go in: `.unknownKey`.
  case refuse
}

/// How an import reads its text.
public struct ImportOptions: Sendable {
  /// How the elements follow each other; nil finds it out: what begins with `[` is an array.
  public var format: JSONFormat?
  /// How many bytes an element may take; 64 MiB unless set.
  public var elementSizeLimit = 64 << 20
  /// What becomes of keys that the type does not know, in the element or anywhere inside of it.
  public var unknownKeys = ImportUnknownKeys.report
  /// How many failures the report keeps, and how many names of unknown keys; 10,000 unless set.
  public var failureLimit = 10_000
  /// Makes the decoder of the elements. The one that is made unless set reads what an export
  /// writes, and dates as ISO 8601 texts too.
  public var makeDecoder: @Sendable () -> JSONDecoder = { ImportOptions.defaultDecoder() }

  /// The defaults.
  public init() {}
}

extension ImportOptions {
  /// Reads what ``ExportOptions/defaultEncoder()`` wrote, and dates as ISO 8601 texts too.
  ///
  /// Begin with it for a decoder of your own:
  ///
  /// ```swift
  /// options.makeDecoder = {
  ///   let decoder = ImportOptions.defaultDecoder()
  ///   decoder.keyDecodingStrategy = .convertFromSnakeCase
  ///   return decoder
  /// }
  /// ```
  public static func defaultDecoder() -> JSONDecoder {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      do {
        return Date(timeIntervalSinceReferenceDate: try container.decode(Double.self))
      } catch {
        guard let text = try? container.decode(String.self) else { throw error }
        if let date = date(iso8601: text) { return date }
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "The text is not an ISO 8601 date.")
      }
    }
    return decoder
  }

  private static func date(iso8601 text: String) -> Date? {
    if let date = try? Date(text, strategy: .iso8601) { return date }
    return try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}
