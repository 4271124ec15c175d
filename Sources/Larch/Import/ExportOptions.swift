public import Foundation

/// The options for the text of an export.
public struct ExportOptions: Sendable {
  /// The arrangement of the elements.
  public var format = JSONFormat.array
  /// Whether the elements of an array are spread over several lines.
  public var isPretty = false
  /// Creates the encoder of the elements. An import with default options reads the output of the
  /// default encoder without a difference, except for a nil inside a nil and the bits of a NaN.
  ///
  /// A `URL` is a text; with a base it is an object with `relative` and `base`. A nil is null if
  /// the `Default` of the property is another value; otherwise its key is omitted.
  public var makeEncoder: @Sendable () -> JSONEncoder = { ExportOptions.defaultEncoder() }

  /// The default options.
  public init() {}

  /// Writes dates as seconds since 2001, data as base 64, infinities and NaN as the texts
  /// `Infinity`, `-Infinity` and `NaN`, and keys in sorted order.
  public static func defaultEncoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return encoder
  }
}

/// The progress of an export.
public struct ExportProgress: Sendable {
  /// The number of records written.
  public let records: Int
  /// The number of bytes written.
  public let bytes: Int
}

/// The destination of JSON.
public struct JSONDestination: Sendable {
  let path: String

  /// The file at a path. It is written beside its place and moved there when it is complete and on
  /// disk: a reader sees the old file or the new one.
  public static func file(_ path: String) -> JSONDestination { JSONDestination(path: path) }

  /// The file of a URL. See ``file(_:)-(String)``.
  public static func file(_ url: URL) -> JSONDestination { JSONDestination(path: url.path) }
}
