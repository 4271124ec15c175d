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
  let make: @Sendable (SelectedValues, UnsafeMutablePointer<Row>) throws -> Void
  /// Whether equal results are returned once.
  var isDistinct = false

  fileprivate init(
    _ query: Query<R>, _ fields: [SelectedFieldDescription],
    make: @escaping @Sendable (SelectedValues, UnsafeMutablePointer<Row>) throws -> Void
  ) {
    self.query = query
    self.fields = fields
    // Closures: the runtime is asked for a key path each time.
    let known = fields.compactMap { $0.reference }
    references = known.count == fields.count ? known : nil
    mayBeInvalid = fields.contains { $0.mayBeInvalid }
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
///
/// It does not know the record type: a protocol or a class with that type would be looked up in the runtime
/// for each row.
class SelectedValues {
  /// Makes the value of the next field in its place; false if only the decoded record has it. Not an
  /// optional or an array of it, which would be looked up too.
  ///
  /// - Parameter coding: nil if the type is not an `IndexKey`.
  func make<Value>(
    _ coding: Unmanaged<KeyCoding<Value>>?, at target: UnsafeMutablePointer<Value>
  ) throws -> Bool {
    // Only Larch makes them, and each overrides this.
    preconditionFailure("\(Self.self) has no values.")
  }

  /// The address of the decoded record, valid until the next row.
  func record() throws -> UnsafeRawPointer {
    // As above.
    preconditionFailure("\(Self.self) has no record.")
  }

  /// Called with each value that was made.
  func note<Value>(_ value: UnsafeMutablePointer<Value>) {}
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
final class SelectedField<R: Record, Value: Sendable>: SelectedElement, @unchecked Sendable {
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
    super.init(type: Value.self)
  }

  /// Makes the value of the row in its place.
  func make(_ values: SelectedValues, at target: UnsafeMutablePointer<Value>) throws {
    if try !values.make(coding, at: target) {
      // The rows of a selection are of its record type.
      let record = try values.record().assumingMemoryBound(to: R.self)
      target.initialize(to: read(record.pointee))
    }
    values.note(target)
  }

  /// The value of the row.
  fileprivate func value(_ values: SelectedValues) throws -> Value {
    try withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { room throws in
      // There is always room for one.
      let target = room.baseAddress!
      try make(values, at: target)
      return target.move()
    }
  }

  override func make(_ values: SelectedValues, atRaw target: UnsafeMutableRawPointer) throws {
    try make(values, at: target.assumingMemoryBound(to: Value.self))
  }

  override func destroy(at target: UnsafeMutableRawPointer) {
    target.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
  }
}

/// A part of a result without its types: an object whose methods have them at hand.
class SelectedElement: @unchecked Sendable {
  fileprivate let type: Any.Type
  fileprivate init(type: Any.Type) { self.type = type }
  fileprivate func make(_ values: SelectedValues, atRaw target: UnsafeMutableRawPointer) throws {}
  fileprivate func destroy(at target: UnsafeMutableRawPointer) {}
}

/// Makes tuples element by element in their memory: the type of the tuple would be looked up for
/// each row.
private final class TupleMaker: @unchecked Sendable {
  private let owned: [SelectedElement]
  /// The same, so that a row does not count references to them, and where each is in the tuple.
  private let elements: UnsafeMutablePointer<(value: Unmanaged<SelectedElement>, offset: Int)>

  /// Nil if it is not known where the elements are.
  init?(_ elements: [SelectedElement], _ tuple: Any.Type) {
    guard let offsets = TupleLayout.offsets(of: elements.map { $0.type }, in: tuple) else {
      return nil
    }
    owned = elements
    self.elements = .allocate(capacity: elements.count)
    for (place, element) in elements.enumerated() {
      (self.elements + place).initialize(
        to: (value: Unmanaged.passUnretained(element), offset: offsets[place]))
    }
  }

  deinit { elements.deallocate() }

  func make(_ values: SelectedValues, at target: UnsafeMutableRawPointer) throws {
    var made = 0
    do {
      while made < owned.count {
        let (element, offset) = elements[made]
        try element._withUnsafeGuaranteedRef { try $0.make(values, atRaw: target + offset) }
        made &+= 1
      }
    } catch {
      for place in 0..<made { owned[place].destroy(at: target + elements[place].offset) }
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
    return Selection(self, [field.described]) { try field.make($0, at: $1) }
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
    var elements: [SelectedElement] = [first, second]
    for field in repeat each rest {
      fields.append(field.described)
      elements.append(field)
    }
    if let maker = TupleMaker(elements, (First, Second, repeat each Rest).self) {
      return Selection(self, fields) { try maker.make($0, at: $1) }
    }
    return Selection(self, fields) { values, target in
      target.initialize(
        to: (
          try first.value(values), try second.value(values),
          repeat try (each rest).value(values)
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
