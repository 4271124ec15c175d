/// Conditions that are tested on the keys of an index, once per key.
///
/// The result is `unknown` if the key is cut in the tested field, or does not have it: then the
/// records are tested.
final class KeyFilterProgram {
  typealias Outcome = ValueTest.Outcome

  private indirect enum Node {
    case all([Node])
    case any([Node])
    case not(Node)
    case test(ValueTest, component: Int)
    case unknown
  }

  private let roots: [Node]
  private let components: KeyComponents
  private let fields: [IndexFieldSchema]

  init(_ filters: [FilterNode], _ schema: IndexSchema, _ components: KeyComponents) {
    self.components = components
    fields = schema.fields
    roots = FilterProgram.conjuncts(filters).map { KeyFilterProgram.node($0, schema) }
  }

  var isEmpty: Bool { roots.isEmpty }

  /// Tests the key that `components` has open.
  func test() throws -> Outcome {
    try Outcome.all(roots, test)
  }

  private func test(_ node: Node) throws -> Outcome {
    switch node {
    case .unknown: return .unknown
    case .not(let part): return try !test(part)
    case .all(let parts): return try Outcome.all(parts, test)
    case .any(let parts): return try Outcome.any(parts, test)
    case .test(let test, let component):
      switch try components.component(component) {
      case .cut: return .unknown
      case .null: return test.whenNil
      case .value(let bytes):
        return test.primitive.isNumber
          ? test.test(number: ComparableNumber.of(test.primitive, key: bytes))
          : test.test(bytes: bytes, isNormal: true)
      }
    }
  }

  private static func node(_ filter: FilterNode, _ schema: IndexSchema) -> Node {
    switch filter {
    case .all(let parts): return .all(parts.map { node($0, schema) })
    case .any(let parts): return .any(parts.map { node($0, schema) })
    case .not(let part):
      // A key has only one of several elements: if that does not match, another one may.
      return holdsMultiple(part, schema) ? .unknown : .not(node(part, schema))
    case .field(let filter):
      guard let place = place(of: filter, schema),
        let (primitive, isOptional) = schema.fields[place].form.simple
      else { return .unknown }
      let test = ValueTest(
        filter.test, primitive, isOptional: isOptional, isFolded: schema.fields[place].isFolded)
      return .test(test, component: place)
    case .pair, .words, .record, .related: return .unknown
    }
  }

  private static func holdsMultiple(_ filter: FilterNode, _ schema: IndexSchema) -> Bool {
    switch filter {
    case .all(let parts), .any(let parts): parts.contains { holdsMultiple($0, schema) }
    case .not(let part): holdsMultiple(part, schema)
    case .field(let filter): filter.field.isMultiple
    case .pair, .words, .record, .related: false
    }
  }

  /// The component of the keys that decides the filter.
  private static func place(of filter: FieldFilter, _ schema: IndexSchema) -> Int? {
    schema.fields.firstIndex { field in
      guard field.identity == filter.field.identity, field.form == filter.field.form else {
        return false
      }
      guard field.isFolded else { return true }
      return filter.test.isDecided(by: field.textForm)
    }
  }
}
