/// Which records have a row in a join, and what a row is made of.
///
/// ```swift
/// Person.joined(with: Company.self, on: \.companyID, kind: .left)   // (Person, Company?)
/// ```
///
/// ## Topics
/// - ``inner``
/// - ``left``
/// - ``right``
/// - ``full``
public struct JoinKind<Left: Record, Right: Record, Row>: Sendable {
  let name: String
  /// Records of the left that have no partner have a row.
  let keepsLeft: Bool
  /// Records of the right that have no partner have a row.
  let keepsRight: Bool
  /// What stands first in a row, and what second.
  let leftPart: @Sendable () -> RowPart<Left>
  let rightPart: @Sendable () -> RowPart<Right>
}

extension JoinKind where Row == (Left, Right) {
  /// Only pairs.
  public static var inner: JoinKind {
    JoinKind(
      name: "inner", keepsLeft: false, keepsRight: false, leftPart: { .record() },
      rightPart: { .record() })
  }
}

extension JoinKind where Row == (Left, Right?) {
  /// Pairs, and each record of the left that has no partner, with nil.
  public static var left: JoinKind {
    JoinKind(
      name: "left", keepsLeft: true, keepsRight: false, leftPart: { .record() },
      rightPart: { .optional() })
  }
}

extension JoinKind where Row == (Left?, Right) {
  /// Pairs, and each record of the right that has no partner, with nil.
  public static var right: JoinKind {
    JoinKind(
      name: "right", keepsLeft: false, keepsRight: true, leftPart: { .optional() },
      rightPart: { .record() })
  }
}

extension JoinKind where Row == (Left?, Right?) {
  /// Pairs, and each record of either side that has no partner, with nil.
  public static var full: JoinKind {
    JoinKind(
      name: "full", keepsLeft: true, keepsRight: true, leftPart: { .optional() },
      rightPart: { .optional() })
  }
}
