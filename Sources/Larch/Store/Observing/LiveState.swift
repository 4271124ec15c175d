import Observation

/// When an object that follows changes has its first value. It begins when a property is first read.
public enum FirstValue: Sendable {
  /// At once: it is read on the main thread, so that the first frame shows it.
  case now
  /// Soon: it is read on another thread, and `isLoading` is true until then.
  case later
}

/// What `LiveResults`, `LiveRecord` and `LiveValue` have in common.
///
/// Values are read and compared on other threads. Each comes to the main actor by one hop, and is
/// only stored there. It tells the readers of its properties itself, without the macro, so that one
/// new value is a change of only those properties that differ.
///
/// It begins when a property is first read. SwiftUI makes the value of a `@State` again with each
/// `init` of the view and drops all but the first one: those must cost nothing.
@MainActor
final class LiveState<Value: Sendable>: Observable {
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
  /// Makes each change.
  var apply: @MainActor (_ change: () -> Void) -> Void = { $0() }

  var value: Value? {
    start()
    registrar.access(self, keyPath: \.value)
    return contents.value
  }

  var version: StoreVersion? {
    start()
    registrar.access(self, keyPath: \.version)
    return contents.version
  }

  var error: (any Error)? {
    start()
    registrar.access(self, keyPath: \.error)
    return contents.error
  }

  var isLoading: Bool {
    start()
    registrar.access(self, keyPath: \.isLoading)
    return contents.isLoading
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

  /// Follows another read in the same way. The value stays until there is another one.
  func follow(_ read: ObservedRead<Value>, first: FirstValue, at place: CodePlace) {
    if pending != nil { return prepare(read, first, place) }
    token = nil
    let value = begin(read, first, place)
    take(value, isLoading: first == .later)
  }

  private func prepare(_ read: ObservedRead<Value>, _ first: FirstValue, _ place: CodePlace) {
    pending = { [unowned self] in
      // Nobody has read it yet, so this is no change for anybody.
      let value = begin(read, first, place)
      contents = contents.with(value, isLoading: first == .later)
    }
  }

  func settled() async {
    start()
    await token?.settled()
  }

  func cancel() {
    pending = nil
    token = nil
    take(.success(nil), isLoading: false)
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
      token = ObservationToken(
        observer, at: place,
        { [weak self] error in
          store.tell(observationAt: place, failed: error)
          await self?.takeUnlessCancelled(.failure(error))
        },
        { @MainActor [weak self] value in self?.takeUnlessCancelled(.success(value)) })
      return .success(value)
    }
  }

  private func takeUnlessCancelled(_ result: Result<Observed<Value>?, any Error>) {
    // Another read may be followed now.
    if !Task.isCancelled { take(result, isLoading: false) }
  }

  /// Changes what differs, and tells the readers of it.
  private func take(_ result: Result<Observed<Value>?, any Error>, isLoading: Bool) {
    let new = contents.with(result, isLoading: isLoading)
    apply {
      if case .success(.some) = result {
        registrar.withMutation(of: self, keyPath: \.value) { contents.value = new.value }
        registrar.withMutation(of: self, keyPath: \.version) { contents.version = new.version }
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
  }
}

extension LiveState.Contents {
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
