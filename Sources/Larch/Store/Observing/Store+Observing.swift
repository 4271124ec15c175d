extension Store {
  /// The rows of a request, now and after each change of them.
  ///
  /// ```swift
  /// for try await people in store.observe(Person.where { $0.city == "London" }) {
  ///   show(people.rows)
  /// }
  /// ```
  ///
  /// The first rows come at once; they do not wait for a running write. After that, rows come when a
  /// commit of any process has changed them. While your loop is busy, nothing is read: the next
  /// rows are the newest ones, and those in between are left out. The last state always comes.
  ///
  /// Each value is what `fetch` returns at its ``Observed/version``. Versions ascend. A change of
  /// records that pass the filter of a query neither before nor after it wakes nobody. Rows that are
  /// the same as before do not come again: records are compared by their stored bytes, selected
  /// fields by `==`.
  ///
  /// With `ignoring:`, the writes of one author (`store.write(author:)`) give no value by themselves,
  /// and the next value has them. With `.each`, each write that changed the rows gives a value.
  ///
  /// The loop ends when its task is cancelled and when the store is closed. Commits of other processes
  /// are seen like those of this one (``Options/observesOtherProcesses``).
  ///
  /// - Parameters:
  ///   - request: a query, a selection, related records, a join, or records with their related ones.
  ///   - interval: the least time between two reads, for data that changes often: changes during it
  ///     are one. The last state always comes.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  /// - Throws: the loop throws the errors of `fetch` once, and ends.
  /// - Complexity: O(1); each value costs a `fetch`. An observed collection costs each write of one
  ///   of its records a search and two copies of the record.
  public func observe<Q: Request>(
    _ request: Q, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest
  ) -> StoreObservation<[Q.Row]>
  where Q.Row: Sendable {
    StoreObservation(
      store: .success(self), read: request.observedRead(), interval: interval,
      rules: ObservationRules(ignored: author, delivery: delivery))
  }

  /// What a closure reads, now and after each change of the data that it has read.
  ///
  /// ```swift
  /// let summary = store.observe { tx in
  ///   (try tx.count(Person.all), try tx.first(Person.all.sorted(by: \.age)))
  /// }
  /// for try await now in summary { show(now.value.0, now.value.1) }
  /// ```
  ///
  /// The closure runs in one snapshot, for the first value and whenever a commit of any process has
  /// changed what its last run has read: records that pass the filters of its queries, records that
  /// it found by id, and collections, indexes and lists that it read in other ways. Each run notes
  /// what these are, so the closure may read other data the next time. Values from outside of the store
  /// are not noticed.
  ///
  /// If the value is `Equatable`, one that equals the value before it is left out.
  ///
  /// For the rest, it is like ``observe(_:every:ignoring:delivery:)``.
  ///
  /// - Parameters:
  ///   - interval: the least time between two runs of the closure.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  ///   - read: reads the value. Its errors end the loop.
  /// - Throws: the loop throws the errors of `read` once, and ends.
  /// - Complexity: O(1); each value costs a run of the closure.
  public func observe<Value: Sendable>(
    every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest,
    _ read: @escaping @Sendable (ReadTransaction) throws -> Value
  ) -> StoreObservation<Value> {
    StoreObservation(
      store: .success(self), read: ObservedClosure(read), interval: interval,
      rules: ObservationRules(ignored: author, delivery: delivery))
  }

  /// Calls a closure with the rows of a request, now and after each change of them.
  ///
  /// ```swift
  /// token = store.observe(Person.all.sorted(by: \.name)) { people in
  ///   list.show(people.rows)
  /// }
  /// ```
  ///
  /// The closure runs where it was written: on the main actor, in an actor, or on no actor. Calls come
  /// one after the other, each with a later version than the one before. Commits during a call are one
  /// further call.
  ///
  /// The first call comes soon, after this method has returned. With `first: .now`, the first rows are
  /// read on this thread, and the closure is called with them before this method returns. A closure
  /// of another actor than that of the caller gets them there, soon after.
  ///
  /// - Parameters:
  ///   - request: the request.
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
  /// - Complexity: that of ``observe(_:every:ignoring:delivery:)``.
  public func observe<Q: Request>(
    _ request: Q, first: FirstValue = .later, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest,
    onError: (@Sendable (any Error) -> Void)? = nil,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext onChange:
      @escaping @isolated(any) @Sendable (Observed<[Q.Row]>) -> Void
  ) -> ObservationToken where Q.Row: Sendable {
    ObservationToken.begin(
      Observer(
        self, request.observedRead(), ObservationPace(interval),
        ObservationRules(ignored: author, delivery: delivery)),
      first, on: isolation, at: CodePlace(file: file, line: line), onError, onChange)
  }

  /// Calls a closure with what another closure reads, now and after each change of the data that it
  /// has read. See ``observe(every:ignoring:delivery:_:)`` and
  /// ``observe(_:first:every:ignoring:delivery:onError:isolation:file:line:onChange:)``.
  ///
  /// - Parameters:
  ///   - first: whether the first call comes before this method returns.
  ///   - interval: the least time between two runs of `read`.
  ///   - author: whose writes give no value by themselves.
  ///   - delivery: whether each write comes by itself.
  ///   - read: reads the value.
  ///   - onError: called once with an error of `read`, which ends the observation; without it,
  ///     the error is logged as ``LogMessage/Event/observationFailed``.
  ///   - isolation: the actor of the call.
  ///   - file: the file of the call, for the log.
  ///   - line: its line.
  ///   - onChange: called with each value.
  /// - Returns: an object that you must keep: the observation ends with it.
  /// - Complexity: that of ``observe(every:ignoring:delivery:_:)``.
  public func observe<Value: Sendable>(
    first: FirstValue = .later, every interval: Duration = .zero,
    ignoring author: String? = nil, delivery: ObservationDelivery = .newest,
    _ read: @escaping @Sendable (ReadTransaction) throws -> Value,
    onError: (@Sendable (any Error) -> Void)? = nil,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext onChange:
      @escaping @isolated(any) @Sendable (Observed<Value>) -> Void
  ) -> ObservationToken {
    ObservationToken.begin(
      Observer(
        self, ObservedClosure(read), ObservationPace(interval),
        ObservationRules(ignored: author, delivery: delivery)),
      first, on: isolation, at: CodePlace(file: file, line: line), onError, onChange)
  }
}

/// What somebody writes who looks for all records of a type.
extension Store {
  /// Not available: a type without a request.
  @available(
    *, unavailable, message: "observe a request: for all records of a type, pass its `all`"
  )
  public func observe<R: Record>(_ type: R.Type) -> StoreObservation<[R]> { observe(R.all) }

  /// Not available: a type without a request.
  @available(
    *, unavailable, message: "observe a request: for all records of a type, pass its `all`"
  )
  public func observe<R: Record>(
    _ type: R.Type, onChange: @escaping @Sendable (Observed<[R]>) -> Void
  ) -> ObservationToken {
    observe(R.all, onChange: onChange)
  }
}
