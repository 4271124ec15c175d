/// Compares values by their stored form, without a store and without its shapes.
final class RecordComparer {
  /// Gives equal bytes for equal values, whatever was written before.
  private let canonical = RecordCoder(shapes: ShapeTable(), writesMaps: true)
  /// Distinguishes nested values with fields from dictionaries.
  private let shaped = RecordCoder(shapes: ShapeTable())

  private static let pool = Pool<RecordComparer>(limit: 8)
  /// The number of shapes at which a comparer is discarded.
  private static let shapeLimit = 4096

  /// Runs `body` with a comparer that has learned the types of earlier calls.
  static func with<T>(_ body: (RecordComparer) throws -> T) rethrows -> T {
    let comparer = pool.take { RecordComparer() }
    defer {
      if comparer.shaped.shapes.count < shapeLimit { pool.give(back: comparer) }
    }
    return try body(comparer)
  }

  /// Whether both have the same stored form.
  func isSame<R: Encodable>(_ a: R, _ b: R) throws -> Bool {
    let first = [UInt8](try canonical.encode(a))
    let second = try canonical.encode(b)
    return first.withUnsafeBytes { $0.equals(second) }
  }

  /// The fields that differ; without an old value, those that have a value.
  func changes<R: Codable>(from old: R?, to new: R) throws -> [FieldChange] {
    let before = try old.map { [UInt8](try shaped.encode($0)) }
    let now = [UInt8](try shaped.encode(new))
    var difference = FieldDifference(shapes: shaped.shapes)
    try now.withUnsafeBytes { now in
      if let before {
        try before.withUnsafeBytes { try difference.compare($0, now, R.self) }
      } else {
        try difference.compare(nil, now, R.self)
      }
    }
    return difference.changes
  }

  /// The stored value, with the fields in which `changed` differs from `base`.
  func merged<R: Codable>(_ base: R, _ changed: R, into stored: R) throws -> R {
    try RecordMerger(coder: canonical).merged(base, changed, into: stored)
  }

  /// A copy that shares nothing with the value, for classes.
  func copy<R: Codable>(of value: R) throws -> R {
    try canonical.decode(R.self, from: canonical.encode(value))
  }

  /// A copy that is independent of changes of the value, which may be of a class.
  static func snapshot<R: Codable>(of value: R) -> R {
    guard R.self is AnyObject.Type else { return value }
    // A record that was read or saved can be encoded and decoded; if not, both are one object.
    return (try? with { try $0.copy(of: value) }) ?? value
  }
}
