/// Keeps an observation with a closure alive: it ends when this object is cancelled or deallocated.
/// See ``Store/observe(_:first:every:ignoring:delivery:onError:isolation:file:line:onChange:)``.
public final class ObservationToken: Sendable {
  private let task: Task<Void, Never>
  /// Waits until the observer waits; true if it has ended.
  private let settle: @Sendable () async -> Bool

  /// - Parameters:
  ///   - first: a value that is already read, and comes before all others.
  ///   - prepare: makes what the closure gets, on the thread that has read the value.
  init<Value: Sendable, Delivered: Sendable>(
    _ observer: Observer<Value>, first: Observed<Value>? = nil,
    _ onError: @escaping @Sendable (any Error) async -> Void,
    preparing prepare: @escaping @Sendable (Observed<Value>) -> Delivered,
    _ onChange: @escaping @isolated(any) @Sendable (Delivered) -> Void
  ) {
    settle = { await observer.settle() }
    // The task would keep it.
    let waiting = Locked(first)
    task = Task {
      do {
        while true {
          var next = waiting.withLock { $0.take() }
          if next == nil { next = try await observer.next() }
          guard let value = next.take() else { return }
          await Self.deliver(prepare(value), to: onChange, on: onChange.isolation)
        }
      } catch {
        await onError(error)
      }
    }
  }

  deinit { task.cancel() }

  /// Begins an observation by a closure.
  ///
  /// - Parameter caller: the actor of the call, on which this runs.
  static func begin<Value: Sendable>(
    _ observer: Observer<Value>, _ first: FirstValue, on caller: (any Actor)?, at place: CodePlace,
    _ onError: (@Sendable (any Error) -> Void)?,
    _ onChange: @escaping @isolated(any) @Sendable (Observed<Value>) -> Void
  ) -> ObservationToken {
    let store = observer.store
    let report = onError ?? { store.tell(observationAt: place, failed: $0) }
    var value: Observed<Value>?
    if first == .now {
      do {
        value = try observer.poll()
        // The closure of another actor gets it there.
        if let now = value, onChange.isolation === caller {
          callNow(onChange, now)
          value = nil
        }
      } catch {
        // It has ended the observer.
        report(error)
      }
    }
    return ObservationToken(
      observer, first: value, { report($0) }, preparing: { $0 }, onChange)
  }

  /// Calls a closure of the actor that runs now.
  ///
  /// The language has no such call: it wants an `await`, during which other work of the actor may
  /// run. A function that is `@isolated(any)` is called in the same way as any other one; its actor is
  /// only stored beside what it captures. A test shows it for each kind of actor.
  private static func callNow<Value: Sendable>(
    _ onChange: @escaping @isolated(any) @Sendable (Observed<Value>) -> Void,
    _ value: Observed<Value>
  ) {
    typealias Plain = @Sendable (Observed<Value>) -> Void
    unsafeBitCast(onChange, to: Plain.self)(value)
  }

  /// Ends the observation: after this, no call of its closure begins. A running call is not waited
  /// for, so a closure may cancel its own observation. Cancelling twice is not an error.
  ///
  /// - Complexity: O(1).
  public func cancel() { task.cancel() }

  /// Waits until the closure has been called with all that this process committed before this call,
  /// and these calls have returned. So a test needs no sleep:
  ///
  /// ```swift
  /// try await ada.save()
  /// await token.settled()
  /// ```
  ///
  /// It also returns when the observation has ended. With `every:`, it waits for that time. Do not
  /// wait for it in the closure itself.
  ///
  /// - Complexity: that of the calls that are due.
  public func settled() async {
    // After the end, the last call or `onError` may still run.
    if await settle() { await task.value }
  }

  /// Calls a closure where it belongs. The task may be cancelled on the way there.
  private static func deliver<Delivered: Sendable>(
    _ value: Delivered, to onChange: @isolated(any) @Sendable (Delivered) -> Void,
    on isolation: isolated (any Actor)?
  ) async {
    if Task.isCancelled { return }
    await onChange(value)
  }
}

extension Store {
  /// Logs that an observation has ended. The program gets no further value, and would not know why.
  @inline(never)
  func tell(observationAt place: CodePlace, failed error: any Error) {
    var details = LogMessage.Details()
    details.place = place
    tell(
      LogMessage(
        .error, .observationFailed,
        "An observation ended with an error; pass `onError` to handle it.", details: details
      ) {
        $0.path = path
        // Without ids and texts, which may be data of records.
        if let error = error as? LarchError {
          $0.collection = error.context.collection
          $0.index = error.context.index
          $0.field = error.context.field
          $0.detail = error.code.rawValue
        } else {
          $0.detail = "\(type(of: error))"
        }
      })
  }
}
