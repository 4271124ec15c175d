/// The kind of a join: which records have a row, and the type of a row.
///
/// ```swift
/// Person.all.joined(with: Company.all, on: \.companyID, kind: .left)   // (Person, Company?)
/// ```
///
/// ## Topics
/// - ``inner``
/// - ``left``
/// - ``right``
/// - ``full``
public struct JoinKind<Left: Record, Right: Record, Row>: Sendable {
  let name: String
  /// Whether left records without a partner have a row.
  let keepsLeft: Bool
  /// Whether right records without a partner have a row.
  let keepsRight: Bool
  /// The first and the second part of a row.
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
  /// Pairs, and each left record without a partner, with nil.
  public static var left: JoinKind {
    JoinKind(
      name: "left", keepsLeft: true, keepsRight: false, leftPart: { .record() },
      rightPart: { .optional() })
  }
}

extension JoinKind where Row == (Left?, Right) {
  /// Pairs, and each right record without a partner, with nil.
  public static var right: JoinKind {
    JoinKind(
      name: "right", keepsLeft: false, keepsRight: true, leftPart: { .optional() },
      rightPart: { .record() })
  }
}

extension JoinKind where Row == (Left?, Right?) {
  /// Pairs, and each record of either side without a partner, with nil.
  public static var full: JoinKind {
    JoinKind(
      name: "full", keepsLeft: true, keepsRight: true, leftPart: { .optional() },
      rightPart: { .optional() })
  }
}
