/// Records of two types side by side, where a field of the one has the value of a field of the
/// other.
///
/// ```swift
/// let staff = Person.where { $0.age >= 18 }
///   .joined(with: Company.self, on: \.companyID, kind: .left)
/// for (person, company) in try store.fetch(staff) { print(person.name, company?.name ?? "-") }
/// ```
///
/// The condition, the limit and all else of each query apply to its side before the two are joined.
/// Nil and NaN are the partner of nothing, as in SQL. Of an array or a set, each element counts; a
/// pair that has several elements in common is one row.
///
/// Rows come in the order of the left query, those of one record on the left in the order of the
/// right query, and rows without a record on the left last. ``sorted(byLeft:_:)`` and
/// ``sorted(byRight:_:)`` give another order.
public struct Join<Left: Record, Right: Record, Row>: Sendable {
  var details: JoinDescription
  let kind: JoinKind<Left, Right, Row>

  init(
    _ left: Query<Left>, _ right: Query<Right>, on leftField: FieldReference,
    equals rightField: FieldReference, _ kind: JoinKind<Left, Right, Row>
  ) {
    self.kind = kind
    details = JoinDescription(
      left: left.details, right: right.details, leftField: leftField, rightField: rightField,
      kind: kind.name, keepsLeft: kind.keepsLeft, keepsRight: kind.keepsRight)
  }

  /// At most so many rows; replaces an earlier limit. A negative number is an `.invalidQuery` when
  /// the join is run.
  public func limit(_ count: Int) -> Join { with { $0.limit = count } }

  /// Without the first so many rows; replaces an earlier offset. A negative number is an
  /// `.invalidQuery` when the join is run.
  public func offset(_ count: Int) -> Join { with { $0.offset = count } }

  /// In the order of a field of the left. A row without a record there counts as nil.
  ///
  /// Rows that are the same in it stay in the order they were in: of two calls the last one comes
  /// first, whichever sides they name. To add fields that matter less, write ``then(byLeft:_:)`` or
  /// ``then(byRight:_:)`` after it.
  public func sorted<Value: IndexKey>(
    byLeft field: any KeyPath<Left, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.insert(JoinOrderTerm(isLeft: true, field, direction), at: 0) }
  }

  /// In the order of a field of the right; else as ``sorted(byLeft:_:)``.
  public func sorted<Value: IndexKey>(
    byRight field: any KeyPath<Right, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.insert(JoinOrderTerm(isLeft: false, field, direction), at: 0) }
  }

  /// Where all fields of the order so far are the same, in the order of one more field of the left.
  public func then<Value: IndexKey>(
    byLeft field: any KeyPath<Left, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.append(JoinOrderTerm(isLeft: true, field, direction)) }
  }

  /// Where all fields of the order so far are the same, in the order of one more field of the
  /// right.
  public func then<Value: IndexKey>(
    byRight field: any KeyPath<Right, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.append(JoinOrderTerm(isLeft: false, field, direction)) }
  }
}

extension Join {
  /// In the order of a text of the left, with upper and lower case the same; else as
  /// ``sorted(byLeft:_:)``.
  public func sorted<Value: TextValue>(
    byLeft field: any KeyPath<Left, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Join {
    with {
      $0.order.insert(JoinOrderTerm(isLeft: true, field, direction, ignoresCase: true), at: 0)
    }
  }

  /// In the order of a text of the right, with upper and lower case the same; else as
  /// ``sorted(byLeft:_:)``.
  public func sorted<Value: TextValue>(
    byRight field: any KeyPath<Right, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Join {
    with {
      $0.order.insert(JoinOrderTerm(isLeft: false, field, direction, ignoresCase: true), at: 0)
    }
  }

  /// Where all fields of the order so far are the same, in the order of a text of the left, with upper
  /// and lower case the same.
  public func then<Value: TextValue>(
    byLeft field: any KeyPath<Left, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.append(JoinOrderTerm(isLeft: true, field, direction, ignoresCase: true)) }
  }

  /// Where all fields of the order so far are the same, in the order of a text of the right, with upper
  /// and lower case the same.
  public func then<Value: TextValue>(
    byRight field: any KeyPath<Right, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.append(JoinOrderTerm(isLeft: false, field, direction, ignoresCase: true)) }
  }

  fileprivate func with(_ change: (inout JoinDescription) -> Void) -> Join {
    var join = self
    change(&join.details)
    return join
  }
}
