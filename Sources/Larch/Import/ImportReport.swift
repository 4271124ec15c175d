/// What an import did.
public struct ImportReport: Sendable {
  /// Records that were not there before.
  public internal(set) var inserted = 0
  /// Records that were there, and are another now.
  public internal(set) var updated = 0
  /// Records that were there already as the elements have them; nothing was written for these.
  public internal(set) var unchanged = 0
  /// Elements that did not go in.
  public internal(set) var skipped = 0
  /// Why elements did not go in, in their order: all of them up to
  /// ``ImportOptions/failureLimit``, then the first of them.
  public internal(set) var failures: [ImportFailure] = []
  /// The keys that the type does not know, in the elements that went in, and how often each came.
  /// Their values are not in the store.
  ///
  /// A key inside another value is named with its path, as `address.zip`, or `places[].zip` for any
  /// element of a list. These are the keys that the type would ask for: where a strategy of the
  /// decoder makes other names of those in the text, they are the other names. At most
  /// ``ImportOptions/failureLimit`` names are kept; ``unknownKeyCount`` counts all.
  public internal(set) var unknownKeys: [String: Int] = [:]
  /// How many values were passed over because the type does not know their key.
  public internal(set) var unknownKeyCount = 0
  /// Whether the text was read to its end. What stands behind a place where it is no JSON cannot
  /// be told apart; the last failure says where that is.
  public internal(set) var isComplete = true

  /// Elements that were read: those that went in, and those that did not.
  public var elements: Int { inserted + updated + unchanged + skipped }
}

extension ImportReport: CustomStringConvertible {
  /// The figures on one line, with the first of the unknown keys.
  public var description: String {
    var text =
      "\(inserted) inserted, \(updated) updated, \(unchanged) unchanged, \(skipped) skipped"
    if unknownKeyCount > 0 {
      let names = unknownKeys.keys.sorted()
      text +=
        ", \(unknownKeyCount) values under unknown keys (\(names.prefix(5).joined(separator: ", "))"
      text += names.count > 5 ? ", …)" : ")"
    }
    return text + (isComplete ? "" : ", not read to the end")
  }
}

/// An element of an import that did not go in: where it stands, and why.
public struct ImportFailure: Error, Sendable {
  /// The number of the element, from 0.
  public let index: Int
  /// The line that it begins on, from 1.
  public let line: Int
  /// How many bytes stand before it.
  public let byteOffset: Int
  /// Why it did not go in: a ``LarchError``, or what a hook of the type threw.
  public let reason: any Error

  init(_ place: ElementPlace, _ reason: any Error) {
    index = place.index
    line = place.line
    byteOffset = place.offset
    self.reason = reason
  }

  /// A stable text for the reason: the keyword of the first broken rule, such as `cant_be_blank`,
  /// else the code of the error, such as `unique_conflict`; `hook_failed` for an error that is
  /// not of Larch.
  public var keyword: String {
    guard let error = reason as? LarchError else { return "hook_failed" }
    return error.validationErrors.first?.keyword.rawValue ?? error.code.rawValue
  }

  /// The field that the reason is about, where there is one.
  public var field: String? {
    guard let error = reason as? LarchError else { return nil }
    return error.validationErrors.first?.field ?? error.context.field
  }
}

extension ImportFailure: CustomStringConvertible {
  /// The place and the reason.
  public var description: String {
    "element \(index), line \(line), byte \(byteOffset): \(reason)"
  }
}

/// How far an import came.
public struct ImportProgress: Sendable {
  /// Elements that went in, or were found not to fit.
  public let elements: Int
  /// Bytes that were read.
  public let bytes: Int
  /// Bytes in all.
  public let totalBytes: Int

  /// From 0 to 1.
  public var fraction: Double { totalBytes == 0 ? 1 : Double(bytes) / Double(totalBytes) }
}

/// Where an element stands in its text.
package struct ElementPlace: Sendable, Hashable {
  var index: Int
  package var line: Int
  var offset: Int
  var count: Int
}

extension LarchError.Code {
  /// A text is not JSON, or not in UTF-8.
  public static let invalidJSON = Self(rawValue: "invalid_json")
  /// An element of a JSON text is not a record of the type: a field is missing, or is of another kind.
  public static let elementMismatch = Self(rawValue: "element_mismatch")
  /// An element of a JSON text has a key that the type does not know, and the import refuses these.
  public static let unknownKey = Self(rawValue: "unknown_key")
  /// An element of a JSON text is larger than the import allows.
  public static let elementTooLarge = Self(rawValue: "element_too_large")
  /// An element could not go in, so nothing of the import did; the cause is an ``ImportFailure``.
  public static let importStopped = Self(rawValue: "import_stopped")
  /// Records cannot be matched by the field.
  public static let unsuitableMatch = Self(rawValue: "unsuitable_match")
}
