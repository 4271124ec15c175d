/// Compares values by what would be stored of them, without a store and without its shapes.
final class RecordComparer {
  /// Equal values give equal bytes, whatever was written before.
  private let canonical = RecordCoder(shapes: ShapeTable(), writesMaps: true)
  /// Tells nested values with fields from dictionaries.
  private let shaped = RecordCoder(shapes: ShapeTable())

  private static let pool = Pool<RecordComparer>(limit: 8)
  /// A comparer that has met so many shapes is not kept.
  private static let shapeLimit = 4096

  /// Runs `body` with a comparer that has learned the types of earlier calls.
  static func with<T>(_ body: (RecordComparer) throws -> T) rethrows -> T {
    let comparer = pool.take { RecordComparer() }
    defer {
      if comparer.shaped.shapes.count < shapeLimit { pool.give(back: comparer) }
    }
    return try body(comparer)
  }

  /// Whether the same would be stored of both.
  func isSame<R: Encodable>(_ a: R, _ b: R) throws -> Bool {
    let first = [UInt8](try canonical.encode(a))
    let second = try canonical.encode(b)
    return first.withUnsafeBytes { $0.equals(second) }
  }

  /// The fields that differ; those that have a value where there is no old one.
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

  /// What is stored now, with the fields that `changed` has other values of than `base`.
  func merged<R: Codable>(_ base: R, _ changed: R, into stored: R) throws -> R {
    try RecordMerger(coder: canonical).merged(base, changed, into: stored)
  }

  /// A copy that shares nothing with the value, for types that are references.
  func copy<R: Codable>(of value: R) throws -> R {
    try canonical.decode(R.self, from: canonical.encode(value))
  }
}
