public import Foundation

extension Field where Value == Data {
  /// The data begin with others; as `starts(with:)` of `Data`.
  ///
  /// An index over the field answers it, as a range.
  public func starts(with prefix: Data) -> Filter<Root> {
    guard let key = node.key else {
      return filter("starts(with:)", decoded: { $0.starts(with: prefix) })
    }
    return key.starts(with: prefix) { $0 }
  }
}

extension Field where Value == Data? {
  /// The data begin with others; false for nil.
  ///
  /// An index over the field answers it, as a range.
  public func starts(with prefix: Data) -> Filter<Root> {
    guard let key = node.key else {
      return filter("starts(with:)", decoded: { $0?.starts(with: prefix) ?? false })
    }
    return key.starts(with: prefix) { $0 }
  }
}

extension FieldKey {
  /// All values from the prefix up to the first one that does not begin with it.
  fileprivate func starts(with prefix: Data, _ value: (Data) -> Value) -> Filter<Root> {
    var end = prefix
    while end.last == .max { end.removeLast() }
    if let last = end.popLast() { end.append(last + 1) }
    return Filter(
      filter(
        .within(
          lower: prefix.isEmpty ? nil : bound(value(prefix), true),
          upper: end.isEmpty ? nil : bound(value(end), false))))
  }
}
