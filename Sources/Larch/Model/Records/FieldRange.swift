/// A range that filters and rules take: `1...5`, `1..<5`, `1...`, `...5` or `..<5`. You never need
/// to conform to this protocol.
@_documentation(visibility: private)
public protocol FieldRange<Bound> {
  /// The type of the values in the range.
  associatedtype Bound: Comparable

  /// The bounds, each with whether it is in the range. Implemented by Larch.
  var _bounds: FieldBounds<Bound> { get }
}

/// The bounds of a range in a filter or a rule. You never need one.
@_documentation(visibility: private)
public struct FieldBounds<Bound: Comparable> {
  let lower: Bound?
  let upper: Bound?
  let includesUpper: Bool

  /// A lower bound is always included.
  func contains(_ value: Bound) -> Bool {
    if let lower, !(lower <= value) { return false }
    if let upper, !(includesUpper ? value <= upper : value < upper) { return false }
    return true
  }
}

extension FieldBounds: Sendable where Bound: Sendable {}

extension ClosedRange: FieldRange {
  /// Both bounds are included.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: lowerBound, upper: upperBound, includesUpper: true)
  }
}

extension Range: FieldRange {
  /// The upper bound is excluded.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: lowerBound, upper: upperBound, includesUpper: false)
  }
}

extension PartialRangeFrom: FieldRange {
  /// Only a lower bound, which is included.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: lowerBound, upper: nil, includesUpper: false)
  }
}

extension PartialRangeThrough: FieldRange {
  /// Only an upper bound, which is included.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: nil, upper: upperBound, includesUpper: true)
  }
}

extension PartialRangeUpTo: FieldRange {
  /// Only an upper bound, which is excluded.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: nil, upper: upperBound, includesUpper: false)
  }
}
