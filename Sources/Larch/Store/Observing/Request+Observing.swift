// The same verb for a request and for a type of records, as the other verbs have it.

extension Request where Row: Sendable {
  /// The rows, now and after each change of them. See ``Store/observe(_:every:ignoring:delivery:)``.
  ///
  /// ```swift
  /// for try await people in Person.where({ $0.city == "London" }).observe() { show(people) }
  /// ```
  ///
  /// - Parameters:
  ///   - store: the store; without one, that of the task, or else ``Store/default``.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  /// - Throws: the loop throws the errors of ``Store/observe(_:every:ignoring:delivery:)``;
  ///   `.noDefaultStore` without a store.
  /// - Complexity: that of ``Store/observe(_:every:ignoring:delivery:)``.
  public func observe(
    in store: Store? = nil, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest
  ) -> StoreObservation<[Row]> {
    StoreObservation(
      store: Result { try AmbientStore.chosen(store) }, read: observedRead(), interval: interval,
      rules: ObservationRules(ignored: author, delivery: delivery))
  }

  /// Calls a closure with the rows, now and after each change of them. See
  /// ``Store/observe(_:first:every:ignoring:delivery:onError:isolation:file:line:onChange:)``.
  ///
  /// ```swift
  /// token = try Person.all.sorted(by: \.name).observe { people in list.show(people.rows) }
  /// ```
  ///
  /// - Parameters:
  ///   - store: the store; without one, that of the task, or else ``Store/default``.
  ///   - first: whether the first call comes before this method returns.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  ///   - onError: called once with an error of `fetch`, which ends the observation; without it,
  ///     the error is logged as ``LogMessage/Event/observationFailed``.
  ///   - isolation: the actor of the call.
  ///   - file: the file of the call, for the log.
  ///   - line: its line.
  ///   - onChange: called with each value.
  /// - Returns: an object that you must keep: the observation ends with it.
  /// - Throws: `.noDefaultStore` without a store.
  /// - Complexity: that of ``Store/observe(_:every:ignoring:delivery:)``.
  public func observe(
    in store: Store? = nil, first: FirstValue = .later, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest,
    onError: (@Sendable (any Error) -> Void)? = nil,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext onChange:
      @escaping @isolated(any) @Sendable (Observed<[Row]>) -> Void
  ) throws -> ObservationToken {
    try AmbientStore.chosen(store).observe(
      self, first: first, every: interval, ignoring: author, delivery: delivery, onError: onError,
      isolation: isolation, file: file, line: line, onChange: onChange)
  }
}

extension Store {
  /// The record with this id, now and after each change of it; nil while there is none.
  ///
  /// ```swift
  /// for try await ada in store.observe(Person.self, id) { show(ada.value) }
  /// ```
  ///
  /// A deletion gives nil and does not end the loop: a record that is saved with this id again comes
  /// again. Changes of other records read nothing.
  ///
  /// For the rest, it is like ``observe(_:every:ignoring:delivery:)``.
  ///
  /// - Parameters:
  ///   - type: the type of the record.
  ///   - id: its id.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  /// - Throws: the loop throws the errors of `find` once, and ends.
  /// - Complexity: O(1); each value costs a `find`.
  public func observe<R: Record>(
    _ type: R.Type, _ id: R.ID, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest
  ) -> StoreObservation<R?> {
    StoreObservation(
      store: .success(self), read: ObservedRecord<R>(id), interval: interval,
      rules: ObservationRules(ignored: author, delivery: delivery))
  }

  /// Calls a closure with the record with this id, now and after each change of it. See
  /// ``observe(_:_:every:ignoring:delivery:)`` and
  /// ``observe(_:first:every:ignoring:delivery:onError:isolation:file:line:onChange:)``.
  ///
  /// - Parameters:
  ///   - type: the type of the record.
  ///   - id: its id.
  ///   - first: whether the first call comes before this method returns.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  ///   - onError: called once with an error of `find`, which ends the observation; without it, the
  ///     error is logged as ``LogMessage/Event/observationFailed``.
  ///   - isolation: the actor of the call.
  ///   - file: the file of the call, for the log.
  ///   - line: its line.
  ///   - onChange: called with each value.
  /// - Returns: an object that you must keep: the observation ends with it.
  /// - Complexity: that of ``observe(_:_:every:ignoring:delivery:)``.
  public func observe<R: Record>(
    _ type: R.Type, _ id: R.ID, first: FirstValue = .later, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest,
    onError: (@Sendable (any Error) -> Void)? = nil,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext onChange: @escaping @isolated(any) @Sendable (Observed<R?>) -> Void
  ) -> ObservationToken {
    ObservationToken.begin(
      Observer(
        self, ObservedRecord<R>(id), ObservationPace(interval),
        ObservationRules(ignored: author, delivery: delivery)),
      first, on: isolation, at: CodePlace(file: file, line: line), onError, onChange)
  }
}

extension Record {
  /// The record with this id, now and after each change of it; nil while there is none. See
  /// ``Store/observe(_:_:every:ignoring:delivery:)``.
  ///
  /// - Parameters:
  ///   - id: the id.
  ///   - store: the store; without one, that of the task, or else ``Store/default``.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  /// - Throws: the loop throws the errors of ``Store/observe(_:_:every:ignoring:delivery:)``;
  ///   `.noDefaultStore` without a store.
  /// - Complexity: that of ``Store/observe(_:_:every:ignoring:delivery:)``.
  public static func observe(
    _ id: ID, in store: Store? = nil, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest
  ) -> StoreObservation<Self?> {
    StoreObservation(
      store: Result { try AmbientStore.chosen(store) }, read: ObservedRecord<Self>(id),
      interval: interval,
      rules: ObservationRules(ignored: author, delivery: delivery))
  }

  /// Calls a closure with the record with this id, now and after each change of it. See
  /// ``Store/observe(_:_:first:every:ignoring:delivery:onError:isolation:file:line:onChange:)``.
  ///
  /// - Parameters:
  ///   - id: the id.
  ///   - store: the store; without one, that of the task, or else ``Store/default``.
  ///   - first: whether the first call comes before this method returns.
  ///   - interval: the least time between two reads.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  ///   - onError: called once with an error of `find`, which ends the observation; without it, the
  ///     error is logged as ``LogMessage/Event/observationFailed``.
  ///   - isolation: the actor of the call.
  ///   - file: the file of the call, for the log.
  ///   - line: its line.
  ///   - onChange: called with each value.
  /// - Returns: an object that you must keep: the observation ends with it.
  /// - Throws: `.noDefaultStore` without a store.
  /// - Complexity: that of ``Store/observe(_:_:every:ignoring:delivery:)``.
  public static func observe(
    _ id: ID, in store: Store? = nil, first: FirstValue = .later, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest,
    onError: (@Sendable (any Error) -> Void)? = nil,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext onChange: @escaping @isolated(any) @Sendable (Observed<Self?>) -> Void
  ) throws -> ObservationToken {
    try AmbientStore.chosen(store).observe(
      Self.self, id, first: first, every: interval, ignoring: author, delivery: delivery,
      onError: onError, isolation: isolation, file: file, line: line, onChange: onChange)
  }
}

extension ReadTransaction {
  /// The record with this id, which is added to the digest as it is stored.
  func find<R: Record>(
    _ type: R.Type, _ id: R.ID, noting digest: RowDigest
  ) throws -> R? {
    try storage { transaction in
      let collection = try context.collection(of: type)
      let key = try context.key(of: id)
      guard let stored = try record(key, of: collection, in: transaction) else { return nil }
      digest.add(id: key, stored)
      return try context.decode(type, stored, id: key, in: collection)
    }
  }
}
