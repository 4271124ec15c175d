/// A range that filters and rules take: `1...5`, `1..<5`, `1...`, `...5` or `..<5`. You never need to
/// conform to it.
@_documentation(visibility: private)
public protocol FieldRange<Bound> {
  /// What lies in the range.
  associatedtype Bound: Comparable

  /// The bounds, each with whether it is in the range. Met by Larch.
  var _bounds: FieldBounds<Bound> { get }
}

/// The bounds of a range in a filter or a rule. You never need one.
@_documentation(visibility: private)
public struct FieldBounds<Bound: Comparable> {
  let lower: Bound?
  let upper: Bound?
  let includesUpper: Bool

  /// The lower one is in every range.
  func contains(_ value: Bound) -> Bool {
    if let lower, !(lower <= value) { return false }
    if let upper, !(includesUpper ? value <= upper : value < upper) { return false }
    return true
  }
}

extension FieldBounds: Sendable where Bound: Sendable {}

extension ClosedRange: FieldRange {
  /// Both are in it.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: lowerBound, upper: upperBound, includesUpper: true)
  }
}

extension Range: FieldRange {
  /// The upper one is not in it.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: lowerBound, upper: upperBound, includesUpper: false)
  }
}

extension PartialRangeFrom: FieldRange {
  /// The lower one, which is in it.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: lowerBound, upper: nil, includesUpper: false)
  }
}

extension PartialRangeThrough: FieldRange {
  /// The upper one, which is in it.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: nil, upper: upperBound, includesUpper: true)
  }
}

extension PartialRangeUpTo: FieldRange {
  /// The upper one, which is not in it.
  public var _bounds: FieldBounds<Bound> {
    FieldBounds(lower: nil, upper: upperBound, includesUpper: false)
  }
}
