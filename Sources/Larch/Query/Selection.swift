/// Some fields of records instead of whole ones.
///
/// ```swift
/// let names = Person.where { $0.city == "London" }.select(\.name, \.age)
/// ```
///
/// Running it gives a value for one field, and tuples for several. Where an index holds all that
/// is asked for, no record is read.
public struct Selection<R: Record, each Value: Sendable>: Sendable {
  var query: Query<R>
  let fields: (repeat SelectedField<R, each Value>)
  /// Equal results come once.
  var isDistinct = false

  init(query: Query<R>, fields: repeat SelectedField<R, each Value>) {
    self.query = query
    self.fields = (repeat each fields)
  }

  /// The selected fields as the planner takes them; nil if a value can be read from the decoded
  /// record only.
  var references: [FieldReference]? {
    var list: [FieldReference] = []
    for field in repeat each fields {
      guard let key = field.key else { return nil }
      list.append(key.field)
    }
    return list
  }
}

extension Selection where repeat each Value: Hashable {
  /// Each combination of values once, at the place of its first record; every NaN is a value of
  /// its own, as in a Swift set.
  ///
  /// Running it keeps each different result in memory.
  public func distinct() -> Selection {
    var selection = self
    selection.isDistinct = true
    return selection
  }
}

/// A field of a result, and how it is read.
struct SelectedField<R: Record, Value: Sendable>: Sendable {
  /// As plans call it.
  let name: String
  /// nil if the type is no `IndexKey`.
  let key: FieldKey<R, Value>?
  let read: @Sendable (R) -> Value

  init(_ keyPath: any KeyPath<R, Value> & Sendable) {
    let node = FieldNode.of(keyPath)
    name = node.name
    key = node.key
    read = node.read
  }
}

extension Query {
  /// The values of these fields instead of the records.
  ///
  /// A selection of one field gives values, one of several gives tuples.
  public func select<each Value: Sendable>(
    _ fields: repeat any KeyPath<R, each Value> & Sendable
  ) -> Selection<R, repeat each Value> {
    Selection(query: self, fields: repeat SelectedField(each fields))
  }
}

extension Record {
  /// The values of these fields of all records.
  public static func select<each Value: Sendable>(
    _ fields: repeat any KeyPath<Self, each Value> & Sendable
  ) -> Selection<Self, repeat each Value> {
    Query().select(repeat each fields)
  }
}
