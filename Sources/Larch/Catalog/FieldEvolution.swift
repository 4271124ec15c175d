/// A field whose stored form its type cannot read.
struct FieldMismatch: Hashable, Sendable {
  enum Reason: Sendable {
    /// The values have another type.
    case kind
    /// Stored records may have nil.
    case required
    /// Stored records do not have the field.
    case missing
    /// Stored records have the field under the name of another key strategy.
    case keys
  }

  let path: String
  let reason: Reason
  let stored: String
  let declared: String

  var detail: String { "stored \(stored), declared \(declared)" }
}

/// Whether records that were written under one declaration can be read under another.
///
/// A field counts as readable only if it is read exactly, without loss and with the same meaning.
/// Fields that are unknown on either side are not compared.
struct FieldEvolution {
  private let aliases: FieldAliases
  /// The fields of the record itself that have a declared default.
  private let defaults: Set<String>
  private let type: (any Decodable.Type)?
  /// Needed only for a field that stored records do not have.
  private lazy var otherNames = type.map { OtherFieldNames(of: $0) }
  private(set) var mismatches: [FieldMismatch] = []

  /// - Parameter type: the declared type; nil if it is not known.
  init(
    aliases: FieldAliases, defaults: Set<String>,
    of type: (any Decodable.Type)? = nil
  ) {
    self.type = type
    self.aliases = aliases
    self.defaults = defaults
  }

  mutating func compare(stored: FieldForm, declared: FieldForm) {
    compare(stored, declared, at: [])
  }

  private mutating func compare(_ stored: FieldForm, _ declared: FieldForm, at path: [String]) {
    switch (stored, declared) {
    case (.unknown, _), (_, .unknown): break
    case (.scalar(let old), .scalar(let new)):
      if !new.reads(old) { add(.kind, "\(stored)", "\(declared)", at: path) }
    case (.record(let old), .record(let new)): compare(old, new, at: path)
    case (.list(let old), .list(let new)), (.map(let old), .map(let new)):
      var inner = path
      inner.append((inner.popLast() ?? "") + "[]")
      compare(old, new, at: inner)
    // Data and a list of bytes can read each other.
    case (.scalar(.data), .list(.scalar(.uint8))), (.list(.scalar(.uint8)), .scalar(.data)): break
    // Types whose fields vary are written as maps, like enums with payloads.
    case (.map(.unknown), .record), (.record, .map(.unknown)): break
    case (.map, .record(let new)) where !new.isComplete && new.fields.isEmpty: break
    case (.record(let old), .map) where !old.isComplete && old.fields.isEmpty: break
    default: add(.kind, "\(stored)", "\(declared)", at: path)
    }
  }

  private mutating func compare(_ stored: RecordForm, _ declared: RecordForm, at path: [String]) {
    for field in declared.fields {
      let hasDefault = path.isEmpty && defaults.contains(field.name)
      let place = path + [field.name]
      let names = [field.name] + aliases.older(field.name, of: declared.owner)
      guard let old = names.lazy.compactMap({ stored.field($0) }).first else {
        if let other = otherNames?.other(field.name, of: declared.owner),
          let old = stored.field(other), declared.field(other) == nil
        {
          // An optional field would be read as nil.
          add(.keys, "\(old.form) as \(other)", "\(field.form) as \(field.name)", at: place)
          continue
        }
        if stored.isComplete, !field.isOptional, !hasDefault {
          add(.missing, "nothing", "\(field.form)", at: place)
        }
        continue
      }
      compare(old.form, field.form, at: place)
      if old.isOptional, !field.isOptional, !hasDefault {
        add(.required, "\(old.form)?", "\(field.form)", at: place)
      }
    }
  }

  private mutating func add(
    _ reason: FieldMismatch.Reason, _ stored: String, _ declared: String, at path: [String]
  ) {
    let new = FieldMismatch(
      path: path.joined(separator: "."), reason: reason, stored: stored, declared: declared)
    if !mismatches.contains(new) { mismatches.append(new) }
  }
}

extension FieldKind {
  /// Whether each value of the stored kind is also a value of this kind, exactly and with the same
  /// meaning.
  func reads(_ stored: FieldKind) -> Bool {
    if self == stored { return true }
    switch self {
    case .int16, .int32, .int64, .int128, .uint16, .uint32, .uint64, .uint128:
      guard let mine = integerRange, let theirs = stored.integerRange else { return false }
      return mine.isSigned
        ? (theirs.isSigned ? theirs.bits <= mine.bits : theirs.bits < mine.bits)
        : !theirs.isSigned && theirs.bits <= mine.bits
    case .double, .float:
      if self == .double, stored == .float { return true }
      // The range that the digits of the number can represent.
      guard let theirs = stored.integerRange else { return false }
      return theirs.bits <= (self == .double ? 32 : 16)
    case .decimal: return stored.integerRange.map { $0.bits <= 64 } ?? false
    case .string: return stored == .url || stored == .uuid
    default: return false
    }
  }

  private var integerRange: (isSigned: Bool, bits: Int)? {
    switch self {
    case .int8, .int16, .int32, .int64, .int128: (true, width * 8)
    case .uint8, .uint16, .uint32, .uint64, .uint128: (false, width * 8)
    default: nil
    }
  }
}

extension LarchError {
  /// The error for records that their type cannot read any more: it names the first field, and
  /// lists all in its detail.
  init?(_ mismatches: [FieldMismatch], collection: String) {
    guard let first = mismatches.first else { return nil }
    // If several versions have a field in several forms, the oldest one is reported.
    var paths: Set<String> = []
    let fields = mismatches.filter { paths.insert($0.path).inserted }
    let fill: (inout Context) -> Void = { context in
      context.collection = collection
      context.field = first.path
      context.detail =
        fields.count == 1
        ? first.detail : fields.map { "\($0.path): \($0.detail)" }.joined(separator: "; ")
    }
    switch first.reason {
    case .kind:
      self.init(
        .schemaMismatch,
        "The type of a field differs from the stored one, so values would be lost or misread; keep the type, give the property another coding key, or write a migration.",
        fill)
    case .required:
      self.init(
        .schemaMismatch,
        "Stored records may have nil in a field that must have a value; declare a `Default` for it, make it optional, or write a migration.",
        fill)
    case .keys:
      self.init(
        .schemaMismatch,
        "The fields have the names of another key strategy, so their values would not be found; keep the strategy, declare `Renamed(keysFrom:)` with the former one, or write a migration.",
        fill)
    case .missing:
      self.init(
        .schemaMismatch,
        "Stored records do not have a field that the type requires; declare a `Default` for it, make it optional, or write a migration.",
        fill)
    }
  }
}
