/// Pairs of records of two types in which a field of one equals a field of the other.
///
/// ```swift
/// let staff = Person.where { $0.age >= 18 }
///   .joined(with: Company.all, on: \.companyID, kind: .left)
/// for (person, company) in try store.fetch(staff) { print(person.name, company?.name ?? "-") }
/// ```
///
/// Each query is applied to its side before the join, with its condition and its limit. Nil and NaN
/// match nothing, as in SQL. Each element of an array or a set is compared; a pair with several
/// common elements is one row.
///
/// Rows come in the order of the left query. Rows of one left record come in the order of the right
/// query, and rows without a left record come last. ``sorted(byLeft:_:)`` and
/// ``sorted(byRight:_:)`` change the order.
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

  /// Limits the number of rows; replaces an earlier limit. A negative number makes the join throw
  /// `.invalidQuery` when it runs.
  public func limit(_ count: Int) -> Join { with { $0.limit = count } }

  /// Skips the first rows; replaces an earlier offset. A negative number makes the join throw
  /// `.invalidQuery` when it runs.
  public func offset(_ count: Int) -> Join { with { $0.offset = count } }

  /// Sorts by a field of the left record. A row without one counts as nil.
  ///
  /// The sort is stable: of two calls the last one comes first, whichever sides they name. To add
  /// fields that matter less, write ``then(byLeft:_:)`` or ``then(byRight:_:)`` after it.
  public func sorted<Value: IndexKey>(
    byLeft field: any KeyPath<Left, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.insert(JoinOrderTerm(isLeft: true, field, direction), at: 0) }
  }

  /// Sorts by a field of the right record; otherwise like ``sorted(byLeft:_:)``.
  public func sorted<Value: IndexKey>(
    byRight field: any KeyPath<Right, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.insert(JoinOrderTerm(isLeft: false, field, direction), at: 0) }
  }

  /// Sorts rows that are equal in the order so far by one more field of the left.
  public func then<Value: IndexKey>(
    byLeft field: any KeyPath<Left, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.append(JoinOrderTerm(isLeft: true, field, direction)) }
  }

  /// Sorts rows that are equal in the order so far by one more field of the right.
  public func then<Value: IndexKey>(
    byRight field: any KeyPath<Right, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.append(JoinOrderTerm(isLeft: false, field, direction)) }
  }
}

extension Join {
  /// Sorts by a text of the left, ignoring case, or in the order of a language; otherwise like ``sorted(byLeft:_:)``.
  public func sorted<Value: TextValue>(
    byLeft field: any KeyPath<Left, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Join {
    with {
      $0.order.insert(JoinOrderTerm(isLeft: true, field, direction, options.form), at: 0)
    }
  }

  /// Sorts by a text of the right, ignoring case, or in the order of a language; otherwise like ``sorted(byLeft:_:)``.
  public func sorted<Value: TextValue>(
    byRight field: any KeyPath<Right, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Join {
    with {
      $0.order.insert(JoinOrderTerm(isLeft: false, field, direction, options.form), at: 0)
    }
  }

  /// Sorts rows that are equal in the order so far by a text of the left, ignoring case, or in the order of
  /// a language.
  public func then<Value: TextValue>(
    byLeft field: any KeyPath<Left, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.append(JoinOrderTerm(isLeft: true, field, direction, options.form)) }
  }

  /// Sorts rows that are equal in the order so far by a text of the right, ignoring case, or in the order of
  /// a language.
  public func then<Value: TextValue>(
    byRight field: any KeyPath<Right, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Join {
    with { $0.order.append(JoinOrderTerm(isLeft: false, field, direction, options.form)) }
  }

  fileprivate func with(_ change: (inout JoinDescription) -> Void) -> Join {
    var join = self
    change(&join.details)
    return join
  }
}
