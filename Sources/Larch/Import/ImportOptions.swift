public import Foundation

/// What an import does if an element cannot be imported.
public enum ImportErrorPolicy: Sendable, Hashable {
  /// Nothing is imported: the whole import is one change, and the error names the element.
  case stop
  /// The other elements are imported, batch by batch, and the report has the reason for this one.
  case skip
}

/// What an import does with an existing record.
public enum ImportExisting: Sendable, Hashable {
  /// The element replaces the record.
  case replace
  /// The fields of the element replace those of the record; the other fields stay.
  case merge
}

/// What an import does with unknown keys of an element.
///
/// A key is known if the type reads it while the element is decoded. A property that is a
/// dictionary has no unknown keys.
public enum ImportUnknownKeys: Sendable, Hashable {
  /// They are ignored, and ``ImportReport/unknownKeys`` counts them.
  case report
  /// The element is refused: `.unknownKey`.
  case refuse
}

/// The options for reading the text of an import.
public struct ImportOptions: Sendable {
  /// The arrangement of the elements; if nil, a text that begins with `[` is an array.
  public var format: JSONFormat?
  /// The maximum size of an element in bytes; 64 MiB by default.
  public var elementSizeLimit = 64 << 20
  /// What to do with unknown keys, in the element or anywhere inside it.
  public var unknownKeys = ImportUnknownKeys.report
  /// The maximum number of failures, and of names of unknown keys, in the report; 10,000 by
  /// default.
  public var failureLimit = 10_000
  /// Creates the decoder of the elements. The default decoder reads the output of an export, and
  /// also dates as ISO 8601 texts.
  public var makeDecoder: @Sendable () -> JSONDecoder = { ImportOptions.defaultDecoder() }

  /// The default options.
  public init() {}
}

extension ImportOptions {
  /// Reads the output of ``ExportOptions/defaultEncoder()``, and also dates as ISO 8601 texts.
  ///
  /// Start with it for your own decoder:
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

  static func date(iso8601 text: String) -> Date? {
    let range = text.startIndex..<text.endIndex
    for hasFraction in [false, true] {
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
      // The strategy itself passes over what comes after the date.
      let found = try? style.consuming(text, startingAt: text.startIndex, in: range)
      if let found, found.upperBound == text.endIndex { return found.output }
    }
    return nil
  }
}
