/// The standard values of a key.
///
/// Filters and orders compare them, whatever the type of a field is.
struct KeyValues: Sendable {
  var list: [KeyValue] = []

  init(_ list: [KeyValue] = []) { self.list = list }

  /// Mostly the only one, for which an array of its size is made at once.
  mutating func append(_ value: KeyValue) {
    if list.isEmpty { list = [value] } else { list.append(value) }
  }
}
