/// A field in which two versions of a record differ.
public struct FieldChange: Hashable, Sendable {
  /// The path of property names to the field: `["name"]`, or `["address", "city"]` for a field of a
  /// nested value.
  public let path: [String]
  /// The old value; `.null` if there was none.
  public let old: FieldValue
  /// The new value; `.null` if there is none.
  public let new: FieldValue

  /// A change of the field at this path.
  public init(path: [String], old: FieldValue, new: FieldValue) {
    self.path = path
    self.old = old
    self.new = new
  }

  /// The path with dots: `name`, `address.city`.
  public var field: String { path.joined(separator: ".") }
}

extension FieldChange: CustomStringConvertible {
  /// The field and both values.
  public var description: String { "\(field): \(old) -> \(new)" }
}

/// Finds the fields in which two encoded records differ.
///
/// It descends into a nested value with fields; a list, a dictionary and an enum with associated
/// values are one value each. As for a save, values are equal if their bits are: NaN equals NaN,
/// 0.0 differs from -0.0, and two encodings of é differ.
struct FieldDifference {
  /// The table that both records were written with.
  let shapes: ShapeTable
  private(set) var changes: [FieldChange] = []

  init(shapes: ShapeTable) { self.shapes = shapes }

  /// Compares two records of a type, whose properties give the fields their names.
  mutating func compare(
    _ old: UnsafeRawBufferPointer?, _ new: UnsafeRawBufferPointer, _ type: any Decodable.Type
  ) throws {
    let before = try old.map { RawField(try RecordFormat.value(of: $0)) } ?? .missing
    let now = RawField(try RecordFormat.value(of: new))
    guard let newFields = try fields(of: now, isWhole: true),
      let oldFields = old == nil ? [] : try fields(of: before, isWhole: true)
    else { return try compareValues(before, now, []) }
    try compare(oldFields, newFields, [], type)
  }

  private typealias Fields = [(name: String, value: RawField)]

  /// The fields to compare; nil for a single value. A record of very many fields, or with custom
  /// keys, is stored as a map.
  private func fields(of field: RawField, isWhole: Bool) throws -> Fields? {
    switch field {
    case .value(.record, let bytes): return try RawRecord(bytes, shapes: shapes).slots()
    case .value(.map, let bytes) where isWhole:
      var list = try RawList(.map, bytes)
      var result: Fields = []
      while let value = try list.next() { result.append((try Leaf.string(list.key), value)) }
      return result
    default: return nil
    }
  }

  private mutating func compare(
    _ old: Fields, _ new: Fields, _ path: [String], _ type: (any Decodable.Type)?
  ) throws {
    let before = Dictionary(
      old.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    var seen: Set<String> = []
    var names: FieldNames?
    for (name, value) in new + old where seen.insert(name).inserted {
      let isNew = seen.count <= new.count
      let now = isNew ? value : .missing
      let then = before[name] ?? .missing
      if RawField.isSame(then, now) { continue }
      let known = names ?? FieldNames(of: type)
      names = known
      let here = path + [known.property(name)]
      if let oldFields = try fields(of: then, isWhole: false),
        let newFields = try fields(of: now, isWhole: false)
      {
        try compare(oldFields, newFields, here, known.type(of: name))
      } else {
        try compareValues(then, now, here)
      }
    }
  }

  private mutating func compareValues(
    _ old: RawField, _ new: RawField, _ path: [String]
  ) throws {
    let before = try FieldValue(old, shapes: shapes)
    let now = try FieldValue(new, shapes: shapes)
    guard !before.isIdentical(to: now) else { return }
    changes.append(FieldChange(path: path, old: before, new: now))
  }
}

extension RawField {
  /// Whether the bytes are equal; values with different bytes may still be equal.
  static func isSame(_ a: RawField, _ b: RawField) -> Bool {
    switch (a, b) {
    case (.value(let kind, let bytes), .value(let otherKind, let other)):
      kind == otherKind && bytes.equals(other)
    case (.value, _), (_, .value): false
    default: true
    }
  }
}

extension FieldValue {
  /// Whether it is the same value, bit for bit.
  func isIdentical(to other: FieldValue) -> Bool {
    switch (self, other) {
    case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.date(let a), .date(let b)):
      a.timeIntervalSinceReferenceDate.bitPattern == b.timeIntervalSinceReferenceDate.bitPattern
    case (.string(let a), .string(let b)), (.url(let a), .url(let b)):
      a.utf8.elementsEqual(b.utf8)
    case (.list(let a), .list(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.isIdentical(to: $1) }
    case (.record(let a), .record(let b)):
      // A field that is absent is nil.
      FieldValue.areIdentical(a.filter { !$0.value.isNil }, b.filter { !$0.value.isNil })
    default: self == other
    }
  }

  /// Whether they have the same names and values, bit for bit: also equal names may differ in their
  /// bytes.
  static func areIdentical(_ a: [String: FieldValue], _ b: [String: FieldValue]) -> Bool {
    a.count == b.count
      && a.allSatisfy { name, value in
        guard let place = b.index(forKey: name) else { return false }
        let other = b[place]
        return other.key.utf8.elementsEqual(name.utf8) && value.isIdentical(to: other.value)
      }
  }
}

/// The properties of a type by the names that they are stored under.
private struct FieldNames {
  private let properties: [String: String]
  private let layout: TypeLayout?

  init(of type: (any Decodable.Type)?) {
    let cases = type.flatMap { TypeProbe.keys(of: $0) }?.cases ?? []
    properties = Dictionary(
      cases.map { ($0.codingName, $0.propertyName) }, uniquingKeysWith: { first, _ in first })
    layout = type.flatMap { TypeLayout(of: $0) }
  }

  /// The property; the stored name if there is none.
  func property(_ name: String) -> String { properties[name] ?? name }

  func type(of name: String) -> (any Decodable.Type)? {
    layout?.field(named: property(name)).flatMap {
      Reflection.unwrapped($0.type) as? any Decodable.Type
    }
  }
}
