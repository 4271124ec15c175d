/// Keeps an observation with a closure alive: it ends when this object is cancelled or deallocated.
/// See ``Store/observe(_:first:every:ignoring:delivery:onError:isolation:file:line:onChange:)``.
public final class ObservationToken: Sendable {
  private let work: ObservationWork

  /// - Parameter first: a value that is already read, and comes before all others.
  init<Value: Sendable>(_ calls: ObservationCalls<Value>, first: Observed<Value>? = nil) {
    work = calls
    calls.start(with: first)
  }

  deinit { work.cancel() }

  /// Begins an observation by a closure.
  ///
  /// - Parameter caller: the actor of the call, on which this runs.
  static func begin<Value: Sendable>(
    _ observer: Observer<Value>, _ first: FirstValue, on caller: (any Actor)?, at place: CodePlace,
    _ onError: (@Sendable (any Error) -> Void)?,
    _ onChange: @escaping @isolated(any) @Sendable (Observed<Value>) -> Void
  ) -> ObservationToken {
    let failure = onError.map { ObservationFailure.call($0) } ?? .log(place)
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
        failure.tell(error, observer.store)
      }
    }
    return ObservationToken(ClosureCalls(observer, failure, onChange), first: value)
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
  public func cancel() { work.cancel() }

  /// Waits until the closure has been called with all that this process committed before this call,
  /// and these calls have returned. So a test needs no sleep:
  ///
  /// ```swift
  /// try await ada.save()
  /// await token.settled()
  /// ```
  ///
  /// It also returns when the observation has ended, or when the task that waits is cancelled. With
  /// `every:`, it waits for that time. Do not wait for it in the closure itself.
  ///
  /// - Complexity: that of the calls that are due.
  public func settled() async { await work.settle() }
}

extension Store {
  /// Logs that an observation has ended. The program gets no further value, and would not know why: a
  /// store without a log writes the line to standard error.
  @inline(never)
  func tell(observationAt place: CodePlace, failed error: any Error) {
    var details = LogMessage.Details()
    details.place = place
    let message = LogMessage(
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
    }
    if post == nil { LogMessage.standardError()(message) } else { tell(message) }
  }
}
