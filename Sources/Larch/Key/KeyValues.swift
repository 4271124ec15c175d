/// The standard values that a key stands for, one after the other.
///
/// Filters and orders compare by them, whatever the type of a field. You never need one.
public struct KeyValues: Sendable {
  var list: [KeyValue] = []
  /// How many were read.
  var place = 0

  init(_ list: [KeyValue] = []) { self.list = list }

  mutating func append(_ value: KeyValue) { list.append(value) }

  /// The next value; nil after the last one.
  mutating func next() -> KeyValue? {
    guard place < list.count else { return nil }
    defer { place += 1 }
    return list[place]
  }
}
