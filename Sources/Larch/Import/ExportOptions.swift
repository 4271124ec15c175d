public import Foundation

/// How an export writes its text.
public struct ExportOptions: Sendable {
  /// How the elements follow each other.
  public var format = JSONFormat.array
  /// Whether the elements of an array are spread over several lines.
  public var isPretty = false
  /// Makes the encoder of the elements. What the one that is made unless set writes, an import
  /// with its defaults reads back without a difference, but for a nil inside of a nil and the bits
  /// inside of a NaN.
  ///
  /// A `URL` is a text; one with a base is an object with `relative` and `base`. A nil of a property
  /// whose `Default` is another value is null, any other nil has no key.
  public var makeEncoder: @Sendable () -> JSONEncoder = { ExportOptions.defaultEncoder() }

  /// The defaults.
  public init() {}

  /// Writes dates as their seconds since 2001, data as base 64, infinities and NaN as the texts
  /// `Infinity`, `-Infinity` and `NaN`, and keys in their order.
  public static func defaultEncoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return encoder
  }
}

/// How far an export came.
public struct ExportProgress: Sendable {
  /// Records that were written.
  public let records: Int
  /// Bytes that were written.
  public let bytes: Int
}

/// Where JSON is written to.
public struct JSONDestination: Sendable {
  let path: String

  /// The file at a path. It is written beside its place, and takes it when it is complete and on
  /// disk: a reader sees the old file or the new one.
  public static func file(_ path: String) -> JSONDestination { JSONDestination(path: path) }

  /// The file of a URL. See ``file(_:)-(String)``.
  public static func file(_ url: URL) -> JSONDestination { JSONDestination(path: url.path) }
}
