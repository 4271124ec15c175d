/// A range that `isIn` takes: `1...5`, `1..<5`, `1...`, `...5` or `..<5`. You never need to
/// conform to it.
public protocol FieldRange<Bound> {
  /// What lies in the range.
  associatedtype Bound: Comparable

  /// The bounds, each with whether it is in the range. Met by Larch.
  var _bounds: FieldBounds<Bound> { get }
}

/// The bounds of a range in a filter. You never need one.
public struct FieldBounds<Bound: Comparable> {
  typealias End = (value: Bound, isIncluded: Bool)

  let lower: End?
  let upper: End?
}

extension ClosedRange: FieldRange {
  /// Both are in it.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: (lowerBound, true), upper: (upperBound, true))
  }
}

extension Range: FieldRange {
  /// The upper one is not in it.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: (lowerBound, true), upper: (upperBound, false))
  }
}

extension PartialRangeFrom: FieldRange {
  /// The lower one, which is in it.
  public var _bounds: FieldBounds<Bound> { FieldBounds(lower: (lowerBound, true), upper: nil) }
}

extension PartialRangeThrough: FieldRange {
  /// The upper one, which is in it.
  public var _bounds: FieldBounds<Bound> { FieldBounds(lower: nil, upper: (upperBound, true)) }
}

extension PartialRangeUpTo: FieldRange {
  /// The upper one, which is not in it.
  public var _bounds: FieldBounds<Bound> { FieldBounds(lower: nil, upper: (upperBound, false)) }
}

extension Field {
  /// The field lies in a range; NaN lies in none.
  public func isIn<R: FieldRange>(_ range: R) -> Filter<Root>
  where R.Bound == Value, Value: Sendable {
    let bounds = range._bounds
    return isWithin(bounds.lower, bounds.upper)
  }

  /// The field lies in a range; false for nil, and for NaN.
  public func isIn<R: FieldRange>(_ range: R) -> Filter<Root>
  where Value == R.Bound?, R.Bound: Sendable {
    let bounds = range._bounds
    return isWithin(bounds.lower, bounds.upper)
  }
}

extension FieldRange where Bound: Sendable {
  /// The field lies in the range; NaN lies in none.
  public func contains<Root>(_ field: Field<Root, Bound>) -> Filter<Root> { field.isIn(self) }

  /// The field lies in the range; false for nil, and for NaN.
  public func contains<Root>(_ field: Field<Root, Bound?>) -> Filter<Root> { field.isIn(self) }
}
