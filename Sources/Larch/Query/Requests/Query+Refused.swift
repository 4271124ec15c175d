// What the compiler says where a request names what is no field of a record, but of its associations.

extension Query {
  /// Not available: an order by what has no value, such as the number of related records.
  @available(
    *, unavailable,
    message:
      "the order is by a field of the record itself, or of the one record at the other end of an association; for another order, fetch the records `with` the association and sort them in Swift"
  )
  @_disfavoredOverload
  public func sorted<Value>(
    by field: KeyPath<RelatedFields<R>, Value>, _ direction: SortDirection = .ascending
  ) -> Query { self }

  /// Not available: an order by what has no value, such as the number of related records.
  @available(
    *, unavailable,
    message:
      "the order is by a field of the record itself, or of the one record at the other end of an association; for another order, fetch the records `with` the association and sort them in Swift"
  )
  @_disfavoredOverload
  public func then<Value>(
    by field: KeyPath<RelatedFields<R>, Value>, _ direction: SortDirection = .ascending
  ) -> Query { self }

  /// Not available: an order by several fields, one of which no index can order.
  @available(
    *, unavailable,
    message:
      "each field of an order has a type that an index can order, see `IndexKey`, and is one of the record itself; one of a related record comes by `then(by:)`"
  )
  @_disfavoredOverload
  public func sorted(
    by first: PartialKeyPath<R>, _ second: PartialKeyPath<R>, _ rest: PartialKeyPath<R>...
  ) -> Query { self }
}
