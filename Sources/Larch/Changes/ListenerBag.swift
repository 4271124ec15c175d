/// A few listeners, each once. Most ranges have one, which then takes no memory but its place.
enum ListenerBag {
  case none
  case one(ChangeListener)
  case several(Others)

  /// An object, so that a bag is no larger than a reference.
  final class Others {
    fileprivate var listeners: [ObjectIdentifier: ChangeListener]

    fileprivate init(_ first: ChangeListener) { listeners = [ObjectIdentifier(first): first] }
  }

  init() { self = .none }

  init(_ listener: ChangeListener) { self = .one(listener) }

  var isEmpty: Bool { if case .none = self { true } else { false } }

  mutating func add(_ listener: ChangeListener) {
    switch self {
    case .none: self = .one(listener)
    case .one(let first):
      if first === listener { return }
      let others = Others(first)
      others.listeners[ObjectIdentifier(listener)] = listener
      self = .several(others)
    case .several(let others): others.listeners[ObjectIdentifier(listener)] = listener
    }
  }

  mutating func remove(_ listener: ChangeListener) {
    switch self {
    case .none: return
    case .one(let first):
      if first === listener { self = .none }
    case .several(let others):
      others.listeners[ObjectIdentifier(listener)] = nil
      if others.listeners.isEmpty { self = .none }
    }
  }

  func forEach(_ body: (ChangeListener) -> Void) {
    switch self {
    case .none: return
    case .one(let listener): body(listener)
    case .several(let others): others.listeners.values.forEach(body)
    }
  }
}
