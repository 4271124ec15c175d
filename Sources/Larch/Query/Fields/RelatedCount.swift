/// How many records are at the other end of an association, in a filter:
/// `Company.where { $0.people.count > 2 }`.
public struct RelatedCount<Root: Record>: Sendable {
  /// At least so many, one or more.
  private let atLeast: @Sendable (Int) -> FilterNode

  init(atLeast: @escaping @Sendable (Int) -> FilterNode) { self.atLeast = atLeast }

  private func reaches(_ count: Int) -> FilterNode { count <= 0 ? .always : atLeast(count) }

  private func exceeds(_ count: Int) -> FilterNode {
    count == .max ? .never : reaches(count + 1)
  }

  /// There are so many.
  public static func == (related: Self, count: Int) -> Filter<Root> {
    if count < 0 { return .never }
    return Filter(related.reaches(count).and(related.exceeds(count).negated))
  }

  /// There are more or fewer.
  public static func != (related: Self, count: Int) -> Filter<Root> { !(related == count) }

  /// There are fewer.
  public static func < (related: Self, count: Int) -> Filter<Root> {
    Filter(related.reaches(count).negated)
  }

  /// There are so many, or fewer.
  public static func <= (related: Self, count: Int) -> Filter<Root> {
    Filter(related.exceeds(count).negated)
  }

  /// There are more.
  public static func > (related: Self, count: Int) -> Filter<Root> {
    Filter(related.exceeds(count))
  }

  /// There are so many, or more.
  public static func >= (related: Self, count: Int) -> Filter<Root> {
    Filter(related.reaches(count))
  }

  /// There are so many.
  public static func == (count: Int, related: Self) -> Filter<Root> { related == count }

  /// There are more or fewer.
  public static func != (count: Int, related: Self) -> Filter<Root> { related != count }

  /// There are more.
  public static func < (count: Int, related: Self) -> Filter<Root> { related > count }

  /// There are so many, or more.
  public static func <= (count: Int, related: Self) -> Filter<Root> { related >= count }

  /// There are fewer.
  public static func > (count: Int, related: Self) -> Filter<Root> { related < count }

  /// There are so many, or fewer.
  public static func >= (count: Int, related: Self) -> Filter<Root> { related <= count }
}

extension FieldRange where Bound == Int {
  /// How many records there are lies in the range.
  public func contains<Root>(_ related: RelatedCount<Root>) -> Filter<Root> {
    let bounds = _bounds
    var filter = bounds.lower.map { related >= $0 } ?? .always
    if let upper = bounds.upper {
      filter = filter && (bounds.includesUpper ? related <= upper : related < upper)
    }
    return filter
  }
}
