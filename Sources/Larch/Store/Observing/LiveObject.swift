public import Observation

/// When the first value comes: to an object that follows changes, which begins when a property is
/// first read, or to the closure of an observation.
public enum FirstValue: Sendable {
  /// At once: it is read on the thread of the caller, for an object on the main thread, so that the
  /// first frame shows it.
  case now
  /// Soon: it is read on another thread. The `isLoading` of an object is true until then.
  case later
}

/// What ``LiveResults``, ``LiveRecord`` and ``LiveValue`` have in common.
///
/// Values are read and compared on other threads. Each comes to the main actor by one hop, and is
/// only stored there. Readers of a property hear of the changes of this property, and not of those of
/// the others.
///
/// It begins when a property is first read. SwiftUI makes the value of a `@State` again with each
/// `init` of the view and drops all but the first one: those must cost nothing.
@MainActor
public class LiveObject<Value: Sendable>: Observable {
  fileprivate struct Contents {
    var value: Value?
    var version: StoreVersion?
    var error: (any Error)?
    var isLoading = true
  }

  private let store: Result<Store, any Error>
  private let interval: Duration
  private let rules: ObservationRules
  private let registrar = ObservationRegistrar()
  private var contents = Contents()
  /// Begins to follow; nil once it has.
  private var pending: (() -> Void)?
  private var token: ObservationToken?
  /// The last change, and what compares values.
  private var step = LiveStep<Value>()

  /// Makes each change, so that a view can animate it:
  /// `live.apply = { change in withAnimation { change() } }`. It must call its argument once, before
  /// it returns.
  public final var apply: @MainActor (_ change: () -> Void) -> Void = { $0() }

  /// The newest value; nil before the first one.
  final var newest: Value? {
    start()
    registrar.access(self, keyPath: \.newest)
    return contents.value
  }

  /// The version of the store that the value belongs to; nil before the first value.
  public final var version: StoreVersion? {
    start()
    registrar.access(self, keyPath: \.version)
    return contents.version
  }

  /// Whether the first value is still being read.
  public final var isLoading: Bool {
    start()
    registrar.access(self, keyPath: \.isLoading)
    return contents.isLoading
  }

  /// The error that ended it. It is logged too, as ``LogMessage/Event/observationFailed``.
  public final var error: (any Error)? {
    start()
    registrar.access(self, keyPath: \.error)
    return contents.error
  }

  init(
    _ read: ObservedRead<Value>, in store: Store?, first: FirstValue, every interval: Duration,
    ignoring author: String?, at place: CodePlace
  ) {
    // The store of the task of this call, and not of the first use.
    self.store = Result { try AmbientStore.chosen(store) }
    self.interval = interval
    rules = ObservationRules(ignored: author)
    prepare(read, first, place)
  }

  /// Waits until it has all that this process committed before this call, or until it has ended.
  ///
  /// - Complexity: that of the values that are due.
  public final func settled() async {
    start()
    await token?.settled()
  }

  /// Ends it: it keeps its last value. It also ends when nobody keeps it.
  ///
  /// - Complexity: O(1).
  public final func cancel() {
    pending = nil
    token = nil
    take(.success(nil), isLoading: false)
  }

  /// Follows another read in the same way. The value stays until there is another one.
  final func follow(_ read: ObservedRead<Value>, first: FirstValue, at place: CodePlace) {
    if pending != nil { return prepare(read, first, place) }
    token = nil
    let value = begin(read, first, place)
    take(value, isLoading: first == .later)
  }

  /// How the value differs from the one before the last change; nil if nothing has changed since the
  /// first value, and if nobody had asked for it when the last change was made.
  ///
  /// - Parameter compare: the same one at each call. A value is nil before the first one.
  final func changes<Changes: Sendable>(
    by compare: @escaping @Sendable (_ old: Value?, _ new: Value?) -> Changes
  ) -> Changes? {
    let new = newest
    return step.changes(to: new, by: compare)
  }

  private func prepare(_ read: ObservedRead<Value>, _ first: FirstValue, _ place: CodePlace) {
    pending = { [unowned self] in
      // Nobody has read it yet, so this is no change for anybody.
      let value = begin(read, first, place)
      contents = contents.with(value, isLoading: first == .later)
    }
  }

  private func start() {
    guard let begin = pending else { return }
    pending = nil
    begin()
  }

  /// Begins an observation. Returns its first value if that is read at once, or its error.
  private func begin(
    _ read: ObservedRead<Value>, _ first: FirstValue, _ place: CodePlace
  ) -> Result<Observed<Value>?, any Error> {
    store.flatMap { store in
      let observer = Observer(store, read, ObservationPace(interval), rules)
      let value: Observed<Value>?
      do {
        value = first == .now ? try observer.poll() : nil
      } catch {
        store.tell(observationAt: place, failed: error)
        return .failure(error)
      }
      let comparison = step.comparison(from: value.map(\.value) ?? contents.value)
      token = ObservationToken(
        ObjectCalls(
          observer, making: { comparison.changes(to: $0) },
          onError: { [weak self] error in
            store.tell(observationAt: place, failed: error)
            await self?.takeUnlessCancelled(.failure(error))
          },
          { @MainActor [weak self] made in
            self?.takeUnlessCancelled(.success(made.0), made.1)
          }))
      return .success(value)
    }
  }

  private func takeUnlessCancelled(
    _ result: Result<Observed<Value>?, any Error>, _ changes: (any Sendable)? = nil
  ) {
    // Another read may be followed now.
    if !Task.isCancelled { take(result, changes, isLoading: false) }
  }

  /// Changes what differs, and tells the readers of it.
  private func take(
    _ result: Result<Observed<Value>?, any Error>, _ changes: (any Sendable)? = nil, isLoading: Bool
  ) {
    let (old, new) = (contents, contents.with(result, isLoading: isLoading))
    apply {
      if case .success(.some) = result {
        step.begin(from: old.value, to: new.value, changes)
        registrar.withMutation(of: self, keyPath: \.newest) { contents.value = new.value }
        registrar.withMutation(of: self, keyPath: \.version) { contents.version = new.version }
      } else {
        step.beginWithoutChange()
      }
      if contents.error != nil || new.error != nil {
        registrar.withMutation(of: self, keyPath: \.error) { contents.error = new.error }
      }
      if contents.isLoading != new.isLoading {
        registrar.withMutation(of: self, keyPath: \.isLoading) {
          contents.isLoading = new.isLoading
        }
      }
    }
    step.end()
  }
}

extension LiveObject.Contents {
  /// After a value, an error, or the beginning of an observation without a value yet.
  fileprivate func with(
    _ result: Result<Observed<Value>?, any Error>, isLoading: Bool
  ) -> Self {
    switch result {
    case .success(let new?):
      Self(value: new.value, version: new.version, error: nil, isLoading: false)
    case .success(nil): Self(value: value, version: version, error: nil, isLoading: isLoading)
    case .failure(let error):
      Self(value: value, version: version, error: error, isLoading: false)
    }
  }
}
