/// Some fields of records instead of whole records.
///
/// ```swift
/// let names = Person.where { $0.city == "London" }.select(\.name, \.age)
/// ```
///
/// Running it returns values for one field, and tuples for several. If an index has all the fields,
/// no record is read.
public struct Selection<R: Record, Row>: Sendable {
  var query: Query<R>
  /// The selected fields without their types.
  let fields: [SelectedFieldDescription]
  /// The selected fields for the planner; nil if a value can only be read from the decoded record.
  let references: [FieldReference]?
  /// Whether stored values may be none of their type, so that each must be read.
  let mayBeInvalid: Bool
  /// Makes a row in its place.
  let make: @Sendable (any SelectedValues<R>, UnsafeMutablePointer<Row>) throws -> Void
  /// Whether equal results are returned once.
  var isDistinct = false

  fileprivate init(
    _ query: Query<R>, _ fields: [SelectedFieldDescription],
    make: @escaping @Sendable (any SelectedValues<R>, UnsafeMutablePointer<Row>) throws -> Void
  ) {
    self.query = query
    self.fields = fields
    let known = fields.compactMap(\.reference)
    references = known.count == fields.count ? known : nil
    mayBeInvalid = fields.contains(where: \.mayBeInvalid)
    self.make = make
  }

  private var distinctRows: Selection {
    var selection = self
    selection.isDistinct = true
    return selection
  }
}

extension Selection where Row: Hashable {
  /// Returns each value once, at the position of its first record. Every NaN counts as a different
  /// value, as in a Swift set.
  ///
  /// Running it keeps each distinct result in memory.
  public func distinct() -> Selection { distinctRows }
}

extension Selection {
  /// Returns each combination of values once, at the position of its first record. Every NaN counts
  /// as a different value, as in a Swift set.
  ///
  /// Running it keeps each distinct result in memory. An index that begins with the fields saves as
  /// much as for a single field.
  public func distinct<First: Hashable, Second: Hashable, each Rest: Hashable>() -> Selection
  where Row == (First, Second, repeat each Rest) { distinctRows }

  /// Refused: values that are not `Hashable` cannot be compared for duplicates.
  @available(
    *, unavailable, message: "each field must be Hashable, so that equal values can be found"
  )
  @_disfavoredOverload
  public func distinct() -> Selection { distinctRows }
}

/// The values of one row, read in the order of the fields.
protocol SelectedValues<R> {
  associatedtype R: Record
  /// Makes the value of the next field in its place: an optional or an array of it would be looked
  /// up in the runtime for each row.
  func make<Value>(_ field: SelectedField<R, Value>, at target: UnsafeMutablePointer<Value>) throws
}

extension SelectedValues {
  /// The value of the next field.
  fileprivate func value<Value>(of field: SelectedField<R, Value>) throws -> Value {
    try withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { room throws in
      // There is always room for one.
      let target = room.baseAddress!
      try make(field, at: target)
      return target.move()
    }
  }
}

/// A field of a result without its type.
struct SelectedFieldDescription: Sendable {
  /// Its name in plans.
  let name: String
  let type: Any.Type
  let reference: FieldReference?
  let mayBeInvalid: Bool
}

/// A field of a result, and how to read it.
final class SelectedField<R: Record, Value: Sendable>: Sendable {
  /// Its name in plans.
  let name: String
  /// Nil if the type is not an `IndexKey`.
  let key: FieldKey<R, Value>?
  /// That of the key, which keeps it: a row does not count references to it.
  let coding: Unmanaged<KeyCoding<Value>>?
  let read: @Sendable (R) -> Value

  fileprivate var described: SelectedFieldDescription {
    SelectedFieldDescription(
      name: name, type: Value.self, reference: key?.field, mayBeInvalid: key?.mayBeInvalid ?? true)
  }

  init(_ keyPath: any KeyPath<R, Value> & Sendable) {
    let node = FieldNode.of(keyPath)
    name = node.name
    let key = node.key
    self.key = key
    coding = key.map { Unmanaged.passUnretained($0.coding) }
    read = node.read
  }
}

/// Makes tuples element by element in their memory: the type of the tuple would be looked up for
/// each row.
private final class TupleMaker<R: Record>: Sendable {
  /// An element without its type: an object whose methods have it at hand.
  class Element: @unchecked Sendable {
    let type: Any.Type
    init(type: Any.Type) { self.type = type }
    func make(_ values: any SelectedValues<R>, at target: UnsafeMutableRawPointer) throws {}
    func destroy(at target: UnsafeMutableRawPointer) {}
  }

  final class TypedElement<Value: Sendable>: Element, @unchecked Sendable {
    private let field: SelectedField<R, Value>

    init(_ field: SelectedField<R, Value>) {
      self.field = field
      super.init(type: Value.self)
    }

    override func make(_ values: any SelectedValues<R>, at target: UnsafeMutableRawPointer) throws {
      try values.make(field, at: target.assumingMemoryBound(to: Value.self))
    }

    override func destroy(at target: UnsafeMutableRawPointer) {
      target.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
    }
  }

  private let elements: [Element]
  private let offsets: [Int]

  /// Nil if it is not known where the elements are.
  init?(_ elements: [Element], _ tuple: Any.Type) {
    guard let offsets = TupleLayout.offsets(of: elements.map(\.type), in: tuple) else {
      return nil
    }
    self.elements = elements
    self.offsets = offsets
  }

  func make(_ values: any SelectedValues<R>, at target: UnsafeMutableRawPointer) throws {
    var made = 0
    do {
      while made < elements.count {
        try elements[made].make(values, at: target + offsets[made])
        made += 1
      }
    } catch {
      for place in 0..<made { elements[place].destroy(at: target + offsets[place]) }
      throw error
    }
  }
}

extension Query {
  /// The values of this field instead of the records.
  public func select<Value: Sendable>(
    _ field: any KeyPath<R, Value> & Sendable
  ) -> Selection<R, Value> {
    let field = SelectedField(field)
    return Selection(self, [field.described]) { try $0.make(field, at: $1) }
  }

  /// The values of these fields instead of the records, as tuples.
  public func select<First: Sendable, Second: Sendable, each Rest: Sendable>(
    _ first: any KeyPath<R, First> & Sendable, _ second: any KeyPath<R, Second> & Sendable,
    _ rest: repeat any KeyPath<R, each Rest> & Sendable
  ) -> Selection<R, (First, Second, repeat each Rest)> {
    let first = SelectedField(first)
    let second = SelectedField(second)
    let rest = (repeat SelectedField(each rest))
    var fields = [first.described, second.described]
    var elements: [TupleMaker<R>.Element] = [
      TupleMaker<R>.TypedElement(first), TupleMaker<R>.TypedElement(second),
    ]
    for field in repeat each rest {
      fields.append(field.described)
      elements.append(TupleMaker<R>.TypedElement(field))
    }
    if let maker = TupleMaker(elements, (First, Second, repeat each Rest).self) {
      return Selection(self, fields) { try maker.make($0, at: $1) }
    }
    return Selection(self, fields) { values, target in
      target.initialize(
        to: (
          try values.value(of: first), try values.value(of: second),
          repeat try values.value(of: each rest)
        ))
    }
  }
}

extension Record {
  /// The values of this field of all records.
  public static func select<Value: Sendable>(
    _ field: any KeyPath<Self, Value> & Sendable
  ) -> Selection<Self, Value> {
    Query().select(field)
  }

  /// The values of these fields of all records, as tuples.
  public static func select<First: Sendable, Second: Sendable, each Rest: Sendable>(
    _ first: any KeyPath<Self, First> & Sendable, _ second: any KeyPath<Self, Second> & Sendable,
    _ rest: repeat any KeyPath<Self, each Rest> & Sendable
  ) -> Selection<Self, (First, Second, repeat each Rest)> {
    Query().select(first, second, repeat each rest)
  }
}
