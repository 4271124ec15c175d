// Aggregates and pages as methods of a query.

extension Query {
  /// The next records, up to the limit, and the token for the page after them. See
  /// ``RecordReading/page(_:)``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``; `.invalidQuery` for a token of another order.
  /// - Complexity: that of ``RecordReading/page(_:)``.
  public func page(in reader: some RecordReading = AmbientStore()) throws -> Page<R> {
    try reader.page(self)
  }

  /// The least value of a field, or nil if no record has one. See
  /// ``RecordReading/min(_:of:)->Value?``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search if an index over the field answers the query; otherwise the records
  ///   of the query.
  public func min<Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value? {
    try reader.min(keyPath, of: self)
  }

  /// The least value of an optional field, or nil if no record has one. See
  /// ``RecordReading/min(_:of:)->Value?``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search if an index over the field answers the query; otherwise the records
  ///   of the query.
  public func min<Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Wrapped? {
    try reader.min(keyPath, of: self)
  }

  /// The greatest value of a field, or nil if no record has one. See
  /// ``RecordReading/max(_:of:)->Value?``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search if an index over the field answers the query; otherwise the records
  ///   of the query.
  public func max<Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value? {
    try reader.max(keyPath, of: self)
  }

  /// The greatest value of an optional field, or nil if no record has one. See
  /// ``RecordReading/max(_:of:)->Value?``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search if an index over the field answers the query; otherwise the records
  ///   of the query.
  public func max<Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Wrapped? {
    try reader.max(keyPath, of: self)
  }

  /// The sum of a field; zero if there are no records. See ``RecordReading/sum(_:of:)``.
  ///
  /// - Throws: `.overflow` if the sum overflows the type of the field; and the errors of
  ///   ``Request/fetch(in:)``.
  /// - Complexity: that of ``RecordReading/sum(_:of:)``.
  public func sum<Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value.Sum {
    try reader.sum(keyPath, of: self)
  }

  /// The mean of a field; nil if no record has a value. See ``RecordReading/average(_:of:)``.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: that of ``RecordReading/sum(_:of:)``.
  public func average<Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Double? {
    try reader.average(keyPath, of: self)
  }

  /// The number of records with each value of a field, ascending by value. See
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

  /// The effects of deleting the records, all together. See
  /// ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  ///
  /// - Throws: the errors of ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  /// - Complexity: that of ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  public func deletionPlan(in reader: some RecordReading = AmbientStore()) throws -> DeletionPlan {
    try reader.deletionPlan(for: self)
  }
}
