/// Keeps an observation with a closure alive: it ends when this object is cancelled or deallocated.
/// See ``Store/observe(_:onError:onChange:)-(Q,_,_)``.
public final class ObservationToken: Sendable {
  private let task: Task<Void, Never>

  init<Value: Sendable>(
    _ observer: Observer<Value>, _ onError: (@Sendable (any Error) -> Void)?,
    _ onChange: @escaping @isolated(any) @Sendable (Observed<Value>) -> Void
  ) {
    task = Task {
      do {
        while let value = try await observer.next() {
          await Self.deliver(value, to: onChange, on: onChange.isolation)
        }
      } catch {
        onError?(error)
      }
    }
  }

  deinit { task.cancel() }

  /// Ends the observation: after this, no call of its closure begins. A running call is not waited
  /// for, so a closure may cancel its own observation. Cancelling twice is not an error.
  ///
  /// - Complexity: O(1).
  public func cancel() { task.cancel() }

  /// Calls a closure where it belongs. The task may be cancelled on the way there.
  private static func deliver<Value: Sendable>(
    _ value: Observed<Value>, to onChange: @isolated(any) @Sendable (Observed<Value>) -> Void,
    on isolation: isolated (any Actor)?
  ) async {
    if Task.isCancelled { return }
    await onChange(value)
  }
}
