// Figures and pages for those who begin with the query.

extension Query {
  /// The next records, up to the limit, and the token that the page behind them begins at. See
  /// ``RecordReading/page(_:)``.
  ///
  /// - Throws: as ``fetch(in:)``; `.invalidQuery` for a token of another order.
  /// - Complexity: as ``RecordReading/page(_:)``.
  public func page(in reader: some RecordReading = AmbientStore()) throws -> Page<R> {
    try reader.page(self)
  }

  /// The least value of a field, or nil when no record has one. See
  /// ``RecordReading/min(_:of:)->Value?``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func min<Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value? {
    try reader.min(keyPath, of: self)
  }

  /// The least value of an optional field, or nil when no record has one. See
  /// ``RecordReading/min(_:of:)->Value?``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func min<Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Wrapped? {
    try reader.min(keyPath, of: self)
  }

  /// The greatest value of a field, or nil when no record has one. See
  /// ``RecordReading/max(_:of:)->Value?``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func max<Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value? {
    try reader.max(keyPath, of: self)
  }

  /// The greatest value of an optional field, or nil when no record has one. See
  /// ``RecordReading/max(_:of:)->Value?``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func max<Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Wrapped? {
    try reader.max(keyPath, of: self)
  }

  /// The sum of a field; zero when there are no records. See ``RecordReading/sum(_:of:)``.
  ///
  /// - Throws: `.overflow` when the type of the field cannot hold the sum; as ``fetch(in:)``.
  /// - Complexity: as ``RecordReading/sum(_:of:)``.
  public func sum<Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> Value.Sum {
    try reader.sum(keyPath, of: self)
  }

  /// The mean of a field; nil when no record has a value. See ``RecordReading/average(_:of:)``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: as ``RecordReading/sum(_:of:)``.
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
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: as ``RecordReading/counts(by:of:)``.
  public func counts<Value: IndexKey>(
    by keyPath: any KeyPath<R, Value> & Sendable, in reader: some RecordReading = AmbientStore()
  ) throws -> [(value: Value, count: Int)] {
    try reader.counts(by: keyPath, of: self)
  }

  /// What deleting the records would do, all of them together. See
  /// ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  ///
  /// - Throws: as ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  /// - Complexity: as ``RecordReading/deletionPlan(for:)-(Query<R>)``.
  public func deletionPlan(in reader: some RecordReading = AmbientStore()) throws -> DeletionPlan {
    try reader.deletionPlan(for: self)
  }
}

extension Selection {
  /// The selected values, in the order of the query.
  ///
  /// ```swift
  /// let names = try Person.select(\.name).fetch()
  /// ```
  ///
  /// - Throws: as ``Query/fetch(in:)``.
  /// - Complexity: that of the query; no record is read where an index holds all the fields.
  public func fetch(in reader: some RecordReading = AmbientStore()) throws -> [Row] {
    try reader.fetch(self)
  }

  /// The selected values of the first record, or nil.
  ///
  /// - Throws: as ``Query/fetch(in:)``.
  /// - Complexity: stops at the first record, where no sort is needed.
  public func first(in reader: some RecordReading = AmbientStore()) throws -> Row? {
    try reader.first(self)
  }

  /// How many rows there are; with `distinct()`, how many different ones.
  ///
  /// - Throws: as ``Query/fetch(in:)``.
  /// - Complexity: that of the query.
  public func count(in reader: some RecordReading = AmbientStore()) throws -> Int {
    try reader.count(self)
  }

  /// How the selection would be answered. See ``RecordReading/explain(_:running:)-(Query<R>,_)``.
  ///
  /// - Throws: as ``Query/fetch(in:)``.
  /// - Complexity: a few searches in the indexes, without running.
  public func explain(in reader: some RecordReading = AmbientStore(), running: Bool = false) throws
    -> String
  {
    try reader.explain(self, running: running)
  }
}
