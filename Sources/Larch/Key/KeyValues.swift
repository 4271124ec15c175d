/// The standard values of a key.
///
/// Filters and orders compare them, whatever the type of a field is.
struct KeyValues: Sendable {
  var list: [KeyValue] = []

  init(_ list: [KeyValue] = []) { self.list = list }

  mutating func append(_ value: KeyValue) { list.append(value) }
}
