/// The standard values of a key, one after the other.
///
/// Filters and orders compare them, whatever the type of a field is.
struct KeyValues: Sendable {
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
