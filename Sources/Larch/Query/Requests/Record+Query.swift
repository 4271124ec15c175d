extension Record {
  /// All records of the type, in the order of their ids.
  public static var all: Query<Self> { Query() }

  /// The records for which a condition is true.
  ///
  /// ```swift
  /// Person.where { $0.city == "London" && $0.age >= 18 }
  /// ```
  ///
  /// Nothing is read until you run the query.
  @inlinable  // The caller's compiler knows the types, and the runtime is not asked for them.
  public static func `where`<Condition: FilterExpression>(
    _ condition: (Fields<Self>) -> Condition
  ) -> Query<Self> where Condition.Root == Self {
    Query(condition(Fields())._filter)
  }
}
