/// Keeps an observation with a closure alive: it ends when this object is cancelled or deallocated.
/// See ``Store/observe(_:every:ignoring:delivery:onError:file:line:onChange:)``.
public final class ObservationToken: Sendable {
  private let task: Task<Void, Never>
  /// Waits until the observer waits; true if it has ended.
  private let settle: @Sendable () async -> Bool

  init<Value: Sendable>(
    _ observer: Observer<Value>, at place: CodePlace,
    _ onError: (@Sendable (any Error) async -> Void)?,
    _ onChange: @escaping @isolated(any) @Sendable (Observed<Value>) -> Void
  ) {
    settle = { await observer.settle() }
    task = Task {
      do {
        while let value = try await observer.next() {
          await Self.deliver(value, to: onChange, on: onChange.isolation)
        }
      } catch {
        guard let onError else { return observer.store.tell(observationAt: place, failed: error) }
        await onError(error)
      }
    }
  }

  deinit { task.cancel() }

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
  private static func deliver<Value: Sendable>(
    _ value: Observed<Value>, to onChange: @isolated(any) @Sendable (Observed<Value>) -> Void,
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
