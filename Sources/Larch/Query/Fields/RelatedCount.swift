/// The number of records at the other end of an association, in a filter: `Company.where {
/// $0.people.count > 2 }`.
public struct RelatedCount<Root: Record>: Sendable {
  /// The filter for at least this number, which is one or more.
  private let atLeast: @Sendable (Int) -> FilterNode

  init(atLeast: @escaping @Sendable (Int) -> FilterNode) { self.atLeast = atLeast }

  private func reaches(_ count: Int) -> FilterNode { count <= 0 ? .always : atLeast(count) }

  private func exceeds(_ count: Int) -> FilterNode {
    count == .max ? .never : reaches(count + 1)
  }

  /// The number equals a value.
  public static func == (related: Self, count: Int) -> Filter<Root> {
    if count < 0 { return .never }
    return Filter(related.reaches(count).and(related.exceeds(count).negated))
  }

  /// The number does not equal a value.
  public static func != (related: Self, count: Int) -> Filter<Root> { !(related == count) }

  /// The number is less than a value.
  public static func < (related: Self, count: Int) -> Filter<Root> {
    Filter(related.reaches(count).negated)
  }

  /// The number is less than or equal to a value.
  public static func <= (related: Self, count: Int) -> Filter<Root> {
    Filter(related.exceeds(count).negated)
  }

  /// The number is greater than a value.
  public static func > (related: Self, count: Int) -> Filter<Root> {
    Filter(related.exceeds(count))
  }

  /// The number is greater than or equal to a value.
  public static func >= (related: Self, count: Int) -> Filter<Root> {
    Filter(related.reaches(count))
  }

  /// The number equals a value.
  public static func == (count: Int, related: Self) -> Filter<Root> { related == count }

  /// The number does not equal a value.
  public static func != (count: Int, related: Self) -> Filter<Root> { related != count }

  /// The number is greater than a value.
  public static func < (count: Int, related: Self) -> Filter<Root> { related > count }

  /// The number is greater than or equal to a value.
  public static func <= (count: Int, related: Self) -> Filter<Root> { related >= count }

  /// The number is less than a value.
  public static func > (count: Int, related: Self) -> Filter<Root> { related < count }

  /// The number is less than or equal to a value.
  public static func >= (count: Int, related: Self) -> Filter<Root> { related <= count }
}

extension FieldRange where Bound == Int {
  /// The number lies in the range.
  public func contains<Root>(_ related: RelatedCount<Root>) -> Filter<Root> {
    let bounds = self.bounds
    var filter = bounds.lower.map { related >= $0 } ?? .always
    if let upper = bounds.upper {
      filter = filter && (bounds.includesUpper ? related <= upper : related < upper)
    }
    return filter
  }
}
