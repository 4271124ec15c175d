/// What a token keeps.
class ObservationWork: ListenerWork, @unchecked Sendable {
  /// Ends it: no call begins any more. A running one is not waited for.
  func cancel() {}

  /// Waits until nothing is due, or until the end and the last call.
  func settle() async {}
}

/// Calls a closure with the values of an observer.
///
/// Nearly all observers wait nearly always. So there is no task for this: a commit that concerns the
/// observer begins one, which delivers what is due and then rests (`ChangeListener.rest`). There is at
/// most one at a time, so calls come one after the other. If a look shows that the value stays as it is,
/// no task begins (`Observer.isStill`).
///
/// The listener keeps this object while it rests, and this object keeps the observer with the listener.
/// The end, which comes with that of the token at the latest, breaks the circle.
///
/// Unchecked, as `ListenerWork`: what is here never changes.
class ObservationCalls<Value: Sendable>: ObservationWork, @unchecked Sendable {
  let observer: Observer<Value>
  /// Those of the task that began the observation, which a detached task does not have.
  private let taskStore: Store?

  init(_ observer: Observer<Value>) {
    self.observer = observer
    taskStore = Store.chosenForTask
    super.init(priority: Task.currentPriority.rawValue)
  }

  /// Calls the closure, unless the observation is cancelled.
  func deliver(_ value: Observed<Value>) async {}

  /// Tells of the error that has ended the observation.
  func tell(_ error: any Error) async {}

  /// Begins the observation.
  ///
  /// - Parameter first: a value that is already read, and comes before all others.
  func start(with first: Observed<Value>?) {
    observer.listener.beginWork()
    // A task would keep it.
    if let first { return run(with: Locked(first), hasEvent: false) }
    // The first value may have been read and delivered already.
    if observer.isWaiting, observer.listener.rest(self) { return }
    if observer.listener.isEnded { finish() } else { run(with: nil, hasEvent: false) }
  }

  override func isDoneByLook() -> Bool {
    !observer.listener.isEnded && observer.isStill() && observer.listener.rest(self)
  }

  override var isOver: Bool { observer.listener.isEnded }

  override func begin(in lines: WorkLines) { run(with: nil, hasEvent: true, in: lines) }

  private func run(
    with first: Locked<Observed<Value>?>?, hasEvent: Bool, in lines: WorkLines? = nil
  ) {
    Task.detached(priority: TaskPriority(rawValue: priority)) { [self] in
      lines?.beginNext(priority)
      withUnsafeCurrentTask { observer.listener.note($0) }
      if let taskStore {
        await Store.with(taskStore, isolation: nil) { await work(with: first, hasEvent) }
      } else {
        await work(with: first, hasEvent)
      }
    }
  }

  private func work(with first: Locked<Observed<Value>?>?, _ hasEvent: Bool) async {
    let listener = observer.listener
    var hasEvent = hasEvent
    do {
      if let value = first?.withLock({ $0.take() }) { await deliver(value) }
      while !listener.isEnded {
        if hasEvent || observer.isWaiting {
          // Another task may do the work after that.
          if !hasEvent, listener.rest(self) { return }
          hasEvent = false
          if observer.hasPace { await observer.pause() }
        }
        if let value = try observer.poll() { await deliver(value) }
      }
    } catch {
      if !listener.isCancelled { await tell(error) }
    }
    finish()
  }

  override func finish() {
    // It may have begun to listen while it was cancelled.
    observer.end()
    observer.forget()
    observer.listener.finish()
  }

  override func cancel() {
    observer.listener.cancel()
    observer.end()
  }

  override func settle() async { await observer.listener.settle() }
}

/// Calls a closure of the program.
final class ClosureCalls<Value: Sendable>: ObservationCalls<Value>, @unchecked Sendable {
  private let failure: ObservationFailure
  private let onChange: @isolated(any) @Sendable (Observed<Value>) -> Void

  init(
    _ observer: Observer<Value>, _ failure: ObservationFailure,
    _ onChange: @escaping @isolated(any) @Sendable (Observed<Value>) -> Void
  ) {
    self.failure = failure
    self.onChange = onChange
    super.init(observer)
  }

  override func deliver(_ value: Observed<Value>) async {
    await observer.listener.call(onChange, value, on: onChange.isolation)
  }

  override func tell(_ error: any Error) async { failure.tell(error, observer.store) }
}

/// Gives values to an object, with what is made of each on the thread that has read it.
final class ObjectCalls<Value: Sendable, Made: Sendable>: ObservationCalls<Value>,
  @unchecked Sendable
{
  private let make: @Sendable (Value) -> Made
  private let onChange: @isolated(any) @Sendable ((Observed<Value>, Made)) -> Void
  private let onError: @Sendable (any Error) async -> Void

  init(
    _ observer: Observer<Value>, making make: @escaping @Sendable (Value) -> Made,
    onError: @escaping @Sendable (any Error) async -> Void,
    _ onChange: @escaping @isolated(any) @Sendable ((Observed<Value>, Made)) -> Void
  ) {
    self.make = make
    self.onChange = onChange
    self.onError = onError
    super.init(observer)
  }

  override func deliver(_ value: Observed<Value>) async {
    await observer.listener.call(onChange, (value, make(value.value)), on: onChange.isolation)
  }

  override func tell(_ error: any Error) async { await onError(error) }
}

/// Who hears of the error that ends an observation.
enum ObservationFailure: Sendable {
  /// The log, with the place of the call.
  case log(CodePlace)
  case call(@Sendable (any Error) -> Void)

  /// - Parameter store: that of the observer.
  func tell(_ error: any Error, _ store: Store) {
    switch self {
    case .log(let place): store.tell(observationAt: place, failed: error)
    case .call(let body): body(error)
    }
  }
}

extension ChangeListener {
  /// Calls a closure where it belongs. The observation may be cancelled on the way there.
  fileprivate func call<Value: Sendable>(
    _ onChange: @isolated(any) @Sendable (Value) -> Void, _ value: Value,
    on isolation: isolated (any Actor)?
  ) async {
    if isCancelled { return }
    await onChange(value)
  }
}
