/// A range that filters and rules take: `1...5`, `1..<5`, `1...`, `...5` or `..<5`. You never need
/// to conform to this protocol.
@_documentation(visibility: private)
public protocol FieldRange<Bound> {
  /// The type of the values in the range.
  associatedtype Bound: Comparable
}

extension ClosedRange: FieldRange {}
extension Range: FieldRange {}
extension PartialRangeFrom: FieldRange {}
extension PartialRangeThrough: FieldRange {}
extension PartialRangeUpTo: FieldRange {}

/// The bounds of a range in a filter or a rule.
struct FieldBounds<Bound: Comparable> {
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

extension FieldRange {
  /// The bounds, each with whether it is in the range.
  var bounds: FieldBounds<Bound> {
    switch self {
    case let range as ClosedRange<Bound>:
      FieldBounds(lower: range.lowerBound, upper: range.upperBound, includesUpper: true)
    case let range as Range<Bound>:
      FieldBounds(lower: range.lowerBound, upper: range.upperBound, includesUpper: false)
    case let range as PartialRangeFrom<Bound>:
      FieldBounds(lower: range.lowerBound, upper: nil, includesUpper: false)
    case let range as PartialRangeThrough<Bound>:
      FieldBounds(lower: nil, upper: range.upperBound, includesUpper: true)
    case let range as PartialRangeUpTo<Bound>:
      FieldBounds(lower: nil, upper: range.upperBound, includesUpper: false)
    default:
      // The program conformed a type that only Larch may conform.
      preconditionFailure("\(Self.self) is no range of the standard library; use one of those.")
    }
  }
}
