/// The steps that make the keys of a collection from stored bytes, in a flat array: a save executes
/// them for every index, and counting references would cost more than the keys.
final class KeyPlan {
  /// One field of one index.
  struct Step {
    /// Kept alive by the plan. It caches the place of the field, so each context has its own.
    private let path: Unmanaged<FieldPath>
    let primitive: KeyForm.Primitive
    let isOptional: Bool
    let isMultiple: Bool
    let textForm: TextForm

    init(
      path: FieldPath, primitive: KeyForm.Primitive, isOptional: Bool, isMultiple: Bool,
      textForm: TextForm
    ) {
      self.path = .passUnretained(path)
      self.primitive = primitive
      self.isOptional = isOptional
      self.isMultiple = isMultiple
      self.textForm = textForm
    }

    /// The value of the field in the record.
    @inline(__always)
    func read(in record: UnsafeRawBufferPointer, shapes: ShapeTable) throws -> RawField {
      try path._withUnsafeGuaranteedRef { try $0.read(in: record, shapes: shapes) }
    }
  }

  /// One index: its steps, or none if its keys need the decoded record.
  struct Entry {
    var steps: UnsafeMutablePointer<Step>
    var count: Int
  }

  let entries: UnsafeMutablePointer<Entry>
  let count: Int
  private let paths: [FieldPath]
  private let steps: UnsafeMutablePointer<Step>

  init(_ collection: CollectionHandle) {
    let lists = collection.indexes.map { KeyPlan.steps(of: $0.schema, collection.reading) }
    paths = lists.joined().map(\.path)
    steps = .allocate(capacity: max(1, paths.count))
    count = lists.count
    entries = .allocate(capacity: max(1, count))
    var place = steps
    for (number, list) in lists.enumerated() {
      (entries + number).initialize(to: Entry(steps: place, count: list.count))
      for step in list {
        place.initialize(
          to: Step(
            path: step.path, primitive: step.primitive,
            isOptional: step.field.form.isOptional,
            isMultiple: step.field.isMultiple, textForm: step.field.textForm))
        place += 1
      }
    }
  }

  deinit {
    entries.deallocate()
    steps.deallocate()
  }

  private typealias Draft = (path: FieldPath, primitive: KeyForm.Primitive, field: IndexFieldSchema)

  /// Empty if stored bytes are not enough for a field.
  private static func steps(of schema: IndexSchema, _ reading: FieldReading?) -> [Draft] {
    guard schema.hasStoredKeys else { return [] }
    var drafts: [Draft] = []
    for field in schema.fields {
      guard let primitive = field.storedPrimitive, let names = field.storedPath else { return [] }
      let path =
        reading?.path(names)
        ?? FieldPath(
          names, isMissingWhenAbsent: field.mayHaveDefault, optional: field.optionalNames)
      drafts.append((path, primitive, field))
    }
    return drafts
  }
}

extension IndexSchema {
  /// Whether stored bytes have the keys of most records, without decoding them.
  var hasStoredKeys: Bool {
    !isDecoded && fields.allSatisfy { $0.storedPath != nil && $0.storedPrimitive != nil }
  }
}

extension IndexFieldSchema {
  /// The one value of a key, apart from nil; nil if only the decoded record has the key.
  fileprivate var storedPrimitive: KeyForm.Primitive? {
    var form = form
    if case .optional(let wrapped) = form.node { form = wrapped }
    if case .primitive(let primitive) = form.node { return primitive }
    return nil
  }
}
