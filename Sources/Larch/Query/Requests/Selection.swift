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
  /// The fields and their places in a row; nil if these are not known.
  let elements: SelectedElements?
  /// Whether equal results are returned once.
  var isDistinct = false

  init(
    _ query: Query<R>, _ fields: [SelectedFieldDescription], _ elements: SelectedElements?,
    make: @escaping @Sendable (SelectedValues, UnsafeMutablePointer<Row>) throws -> Void
  ) {
    self.query = query
    self.fields = fields
    self.elements = elements
    var known: [FieldReference] = []
    known.reserveCapacity(fields.count)
    var mayBeInvalid = false
    for field in fields {
      if let reference = field.reference { known.append(reference) }
      mayBeInvalid = mayBeInvalid || field.mayBeInvalid
    }
    references = known.count == fields.count ? known : nil
    self.mayBeInvalid = mayBeInvalid
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
  fileprivate let described: SelectedFieldDescription
  /// By whose address it is found.
  private let keyPath: AnyKeyPath

  init(_ keyPath: any KeyPath<R, Value> & Sendable) {
    self.keyPath = keyPath
    let node = FieldNode.of(keyPath)
    name = node.name
    let key = node.key
    self.key = key
    coding = key.map { Unmanaged.passUnretained($0.coding) }
    read = node.read
    described = SelectedFieldDescription(
      name: name, type: Value.self, reference: key?.field, mayBeInvalid: key?.mayBeInvalid ?? true)
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

  override func make(
    component: UnsafeRawBufferPointer, atRaw target: UnsafeMutableRawPointer
  ) -> Bool {
    guard let coding else { return false }
    return coding._withUnsafeGuaranteedRef {
      $0.make(component: component, at: target.assumingMemoryBound(to: Value.self))
    }
  }

  override var readsComponents: Bool { key?.coding.readsComponents == true }

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

  /// Makes the value from its bytes in a key; false if these do not determine it.
  func make(component: UnsafeRawBufferPointer, atRaw target: UnsafeMutableRawPointer) -> Bool {
    false
  }

  /// Whether that makes any value.
  var readsComponents: Bool { false }
}

/// The fields of a result. They make tuples element by element in their memory: the type of the tuple would
/// be looked up for each row.
final class SelectedElements: @unchecked Sendable {
  private let owned: [SelectedElement]
  /// The same, so that a row does not count references to them, and where each is in the tuple.
  private let elements: UnsafeMutablePointer<(value: Unmanaged<SelectedElement>, offset: Int)>

  /// The only field of a result, which is no tuple.
  fileprivate init(_ element: SelectedElement) {
    owned = [element]
    elements = .allocate(capacity: 1)
    elements.initialize(to: (value: Unmanaged.passUnretained(element), offset: 0))
  }

  /// Nil if it is not known where the elements are.
  fileprivate init?(_ elements: [SelectedElement], _ tuple: Any.Type) {
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

  var count: Int { owned.count }

  fileprivate func make(_ values: SelectedValues, at target: UnsafeMutableRawPointer) throws {
    var made = 0
    do {
      while made < owned.count {
        let (element, offset) = elements[made]
        try element._withUnsafeGuaranteedRef { try $0.make(values, atRaw: target + offset) }
        made &+= 1
      }
    } catch {
      destroy(first: made, at: target)
      throw error
    }
  }

  /// Whether each element can be made from its bytes in a key.
  var readComponents: Bool { owned.allSatisfy(\.readsComponents) }

  /// Makes one element of a row from its bytes in a key; false if these do not determine it.
  @inline(__always)
  func make(
    _ place: Int, component: UnsafeRawBufferPointer, at target: UnsafeMutableRawPointer
  ) -> Bool {
    let (element, offset) = elements[place]
    return element._withUnsafeGuaranteedRef {
      $0.make(component: component, atRaw: target + offset)
    }
  }

  /// Destroys the first elements of a row that is not made to its end.
  @inline(never)
  func destroy(first count: Int, at target: UnsafeMutableRawPointer) {
    for place in 0..<count { owned[place].destroy(at: target + elements[place].offset) }
  }
}

/// The fields that were selected before, by the addresses of their key paths. To make one asks the runtime
/// for five types.
private let selectedFields = FieldShortcuts()

private func selected<R: Record, Value: Sendable>(
  _ keyPath: any KeyPath<R, Value> & Sendable
) -> SelectedField<R, Value> {
  let member = ObjectIdentifier(keyPath)
  if let known = selectedFields.find(base: nil, member: member, isFlattened: false) {
    // It keeps the key path, whose types are those of the field.
    return unsafeDowncast(known, to: SelectedField<R, Value>.self)
  }
  let made = SelectedField(keyPath)
  selectedFields.keep(made, base: nil, member: member, isFlattened: false)
  return made
}

extension Query {
  /// The values of this field instead of the records.
  public func select<Value: Sendable>(
    _ field: any KeyPath<R, Value> & Sendable
  ) -> Selection<R, Value> {
    let field = selected(field)
    return Selection(self, [field.described], SelectedElements(field)) {
      try field.make($0, at: $1)
    }
  }

  /// The values of these fields instead of the records, as tuples.
  public func select<First: Sendable, Second: Sendable, each Rest: Sendable>(
    _ first: any KeyPath<R, First> & Sendable, _ second: any KeyPath<R, Second> & Sendable,
    _ rest: repeat any KeyPath<R, each Rest> & Sendable
  ) -> Selection<R, (First, Second, repeat each Rest)> {
    let first = selected(first)
    let second = selected(second)
    let rest = (repeat selected(each rest))
    var fields: [SelectedFieldDescription] = []
    var elements: [SelectedElement] = []
    fields.reserveCapacity(4)
    elements.reserveCapacity(4)
    fields.append(first.described)
    elements.append(first)
    fields.append(second.described)
    elements.append(second)
    for field in repeat each rest {
      fields.append(field.described)
      elements.append(field)
    }
    if let made = SelectedElements(elements, (First, Second, repeat each Rest).self) {
      return Selection(self, fields, made) { try made.make($0, at: $1) }
    }
    return Selection(self, fields, nil) { values, target in
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
