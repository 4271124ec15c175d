/// The result of an import.
public struct ImportReport: Sendable {
  /// The number of new records.
  public internal(set) var inserted = 0
  /// The number of existing records that were changed.
  public internal(set) var updated = 0
  /// The number of records that already equalled their elements; nothing was written for these.
  public internal(set) var unchanged = 0
  /// The number of elements that were not imported.
  public internal(set) var skipped = 0
  /// The reasons why elements were not imported, in their order; at most
  /// ``ImportOptions/failureLimit``, the first ones.
  public internal(set) var failures: [ImportFailure] = []
  /// The unknown keys in the imported elements, with the number of their occurrences. Their values
  /// are not in the store.
  ///
  /// A nested key has its path, such as `address.zip`, or `places[].zip` for any element of a list.
  /// If the decoder has a key strategy, these are the converted names. At most
  /// ``ImportOptions/failureLimit`` names are kept; ``unknownKeyCount`` counts all.
  public internal(set) var unknownKeys: [String: Int] = [:]
  /// The number of values that were ignored because their key is unknown.
  public internal(set) var unknownKeyCount = 0
  /// Whether the text was read to its end. After a place that is not valid JSON, elements cannot be
  /// recognized; the last failure has that place.
  public internal(set) var isComplete = true

  /// The number of elements that a hook of an ``ImportMap`` left out with ``ImportSkip``.
  public internal(set) var omitted = 0
  /// The elements that were left out, in their order, and linked objects that were left out of
  /// theirs; at most ``ImportOptions/failureLimit``, the first ones.
  public internal(set) var omissions: [ImportOmission] = []
  /// The keys of an ``ImportMap`` that had a value which was not used, since an earlier key of the
  /// same line had one; with the number of occurrences.
  public internal(set) var unusedKeys: [String: Int] = [:]
  /// The keys of an ``ImportMap`` whose values were converted to another kind, with the number of
  /// occurrences.
  public internal(set) var coercedKeys: [String: Int] = [:]
  /// What was done with the objects that ``Linked`` lines of an ``ImportMap`` name, by collection.
  public internal(set) var related: [String: ImportRelated] = [:]

  /// The number of elements that were read, imported or not.
  public var elements: Int { inserted + updated + unchanged + skipped + omitted }
}

/// What an import did with linked objects of one type.
public struct ImportRelated: Sendable, Hashable {
  /// The number of new records.
  public internal(set) var inserted = 0
  /// The number of times that an object changed an existing record.
  public internal(set) var updated = 0
  /// The number of times that an object was found as it is stored.
  public internal(set) var unchanged = 0
  /// The number of times that an object was linked to its element, also if it was linked before.
  public internal(set) var linked = 0
}

/// An element that a hook of an ``ImportMap`` left out, or one of its linked objects.
public struct ImportOmission: Sendable, Hashable {
  /// The number of the element, from 0.
  public let index: Int
  /// The line on which it begins, from 1.
  public let line: Int
  /// The number of bytes before it.
  public let byteOffset: Int
  /// The key of the linked object that was left out; nil for the element itself.
  public let key: String?
  /// The reason that the hook gave.
  public let reason: String

  init(_ place: ElementPlace, key: String? = nil, _ reason: String) {
    index = place.index
    line = place.line
    byteOffset = place.offset
    self.key = key
    self.reason = reason
  }
}

extension ImportReport: CustomStringConvertible {
  /// The counts on one line, with the first of the unknown keys.
  public var description: String {
    var text =
      "\(inserted) inserted, \(updated) updated, \(unchanged) unchanged, \(skipped) skipped"
    if unknownKeyCount > 0 {
      let names = unknownKeys.keys.sorted()
      text +=
        ", \(unknownKeyCount) values under unknown keys (\(names.prefix(5).joined(separator: ", "))"
      text += names.count > 5 ? ", …)" : ")"
    }
    if omitted > 0 { text += ", \(omitted) left out" }
    for (name, counts) in related.sorted(by: { $0.key < $1.key }) {
      text += ", \(name): \(counts.inserted) inserted, \(counts.updated) updated"
    }
    for (keys, verb) in [(coercedKeys, "coerced"), (unusedKeys, "unused")] where !keys.isEmpty {
      text += ", \(keys.values.reduce(0, +)) values \(verb)"
    }
    return text + (isComplete ? "" : ", not read to the end")
  }
}

/// An element that was not imported: its place and the reason.
public struct ImportFailure: Error, Sendable {
  /// The number of the element, from 0.
  public let index: Int
  /// The line on which it begins, from 1.
  public let line: Int
  /// The number of bytes before it.
  public let byteOffset: Int
  /// The reason: a ``LarchError``, or an error that a hook of the type threw.
  public let reason: any Error
  /// The key from which an ``ImportMap`` takes the field of the error, with those that lead to it:
  /// `employer.title`. Several keys of a line are joined by "or". A property without a line has
  /// its own key. Nil in an import without a map, and for an error that has no field.
  public let key: String?

  init(_ place: ElementPlace, _ reason: any Error) {
    index = place.index
    line = place.line
    byteOffset = place.offset
    let keyed = reason as? KeyedError
    key = keyed?.key
    self.reason = keyed?.error ?? reason
  }

  /// A stable text for the reason: the keyword of the first broken rule, such as `cant_be_blank`,
  /// or the code of the error, such as `unique_conflict`; `hook_failed` for an error that does not
  /// come from Larch.
  public var keyword: String {
    guard let error = reason as? LarchError else { return "hook_failed" }
    return error.validationErrors.first?.keyword.rawValue ?? error.code.rawValue
  }

  /// The field of the error, if there is one.
  public var field: String? {
    guard let error = reason as? LarchError else { return nil }
    return error.validationErrors.first?.field ?? error.context.field
  }
}

extension ImportFailure: CustomStringConvertible {
  /// The place and the reason.
  public var description: String {
    "element \(index), line \(line), byte \(byteOffset)\(key.map { ", key \($0)" } ?? ""): \(reason)"
  }
}

/// The progress of an import.
public struct ImportProgress: Sendable {
  /// The number of elements that were imported or refused.
  public let elements: Int
  /// The number of bytes read.
  public let bytes: Int
  /// The size of the text in bytes.
  public let totalBytes: Int

  /// The fraction, from 0 to 1.
  public var fraction: Double { totalBytes == 0 ? 1 : Double(bytes) / Double(totalBytes) }
}

/// The place of an element in its text.
package struct ElementPlace: Sendable, Hashable {
  var index: Int
  package var line: Int
  var offset: Int
  var count: Int
}

extension LarchError.Code {
  /// A text is not valid JSON, or not UTF-8.
  public static let invalidJSON = Self(rawValue: "invalid_json")
  /// An element of a JSON text is not a record of the type: a field is missing or has another kind.
  public static let elementMismatch = Self(rawValue: "element_mismatch")
  /// An element of a JSON text has an unknown key, and the import refuses these.
  public static let unknownKey = Self(rawValue: "unknown_key")
  /// An element of a JSON text is larger than the import allows.
  public static let elementTooLarge = Self(rawValue: "element_too_large")
  /// An element could not be imported, so nothing was; the cause is an ``ImportFailure``.
  public static let importStopped = Self(rawValue: "import_stopped")
}
