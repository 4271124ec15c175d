// Figures and pages for those who begin with the query.

extension Query {
  /// The next records, up to the limit, and the token that the page behind them begins at. See
  /// ``RecordReading/page(_:)``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``; `.invalidQuery` for a token of another order.
  /// - Complexity: that of ``RecordReading/page(_:)``.
  public func page(in reader: some RecordReading = AmbientStore()) throws -> Page<R> {
    try reader.page(self)
  }

  /// The least value of a field, or nil when no record has one. See
  /// ``RecordReading/min(_:of:)->Value?``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func min<Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value? {
    try reader.min(keyPath, of: self)
  }

  /// The least value of an optional field, or nil when no record has one. See
  /// ``RecordReading/min(_:of:)->Value?``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func min<Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Wrapped? {
    try reader.min(keyPath, of: self)
  }

  /// The greatest value of a field, or nil when no record has one. See
  /// ``RecordReading/max(_:of:)->Value?``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func max<Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value? {
    try reader.max(keyPath, of: self)
  }

  /// The greatest value of an optional field, or nil when no record has one. See
  /// ``RecordReading/max(_:of:)->Value?``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func max<Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Wrapped? {
    try reader.max(keyPath, of: self)
  }

  /// The sum of a field; zero when there are no records. See ``RecordReading/sum(_:of:)``.
  ///
  /// - Throws: `.overflow` when the type of the field cannot hold the sum; and the errors of
  ///   ``Request/fetch(in:)``.
  /// - Complexity: that of ``RecordReading/sum(_:of:)``.
  public func sum<Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value.Sum {
    try reader.sum(keyPath, of: self)
  }

  /// The mean of a field; nil when no record has a value. See ``RecordReading/average(_:of:)``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: that of ``RecordReading/sum(_:of:)``.
  public func average<Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Double? {
    try reader.average(keyPath, of: self)
  }

  /// How many records have each value of a field, ascending by value. See
  /// ``RecordReading/counts(by:of:)``.
  ///
  /// ```swift
  /// for city in try Person.all.counts(by: \.city) { print(city.value, city.count) }
  /// ```
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: that of ``RecordReading/counts(by:of:)``.
  public func counts<Value: IndexKey>(
    by keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> [(value: Value, count: Int)] {
    try reader.counts(by: keyPath, of: self)
  }

  /// What deleting the records would do, all of them together. See
  /// ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  ///
  /// - Throws: the errors of ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  /// - Complexity: that of ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  public func deletionPlan(in reader: some RecordReading = AmbientStore()) throws -> DeletionPlan {
    try reader.deletionPlan(for: self)
  }
}
