/// One of the filters that must all be true, and how it can bound the scan of an index.
struct Conjunct {
  let node: FilterNode
  /// The field of the filter; nil if there is none, or several.
  let field: FieldReference?
  let shape: Shape
  /// The hash of the field's identity.
  let identityHash: Int
  /// That of the id.
  static let idHash = FieldIdentity.id.hashValue

  enum Shape {
    /// No bound of any index.
    case none
    /// The field equals one of this number of constants.
    case points(Int)
    /// The field equals one constant in a form such as lower case.
    case foldedPoint(TextForm)
    /// The field is between constants.
    case range
    /// The field is not nil.
    case present
    /// The field begins with a constant; other texts may be in the range too.
    case prefix
    case foldedPrefix(TextForm)
    /// A disjunction of these.
    case several
  }

  init(_ node: FilterNode) {
    self.node = node
    switch node {
    case .field(let filter):
      field = filter.field
      shape = Conjunct.shape(of: filter.test)
    case .not(.field(let filter)) where !filter.field.isMultiple:
      field = filter.field
      if case .equal(let values) = filter.test, KeyValue.isNil(values) {
        shape = .present
      } else {
        shape = .none
      }
    case .any(let nodes):
      field = Conjunct.commonField(of: nodes)
      shape = field == nil ? .none : .several
    default:
      field = nil
      shape = .none
    }
    identityHash = field?.identityHash ?? 0
  }

  private static func shape(of test: FieldTest) -> Shape {
    switch test {
    case .equal: .points(1)
    case .oneOf(let list): .points(list.count)
    case .within(nil, nil): .present
    case .within: .range
    case .text(let text):
      switch text.kind {
      case .equal: text.textForm.isFolded ? .foldedPoint(text.textForm) : .points(1)
      case .hasPrefix: text.textForm.isFolded ? .foldedPrefix(text.textForm) : .prefix
      case .like where text.pattern?.prefix.isEmpty == false:
        text.textForm.isFolded ? .foldedPrefix(text.textForm) : .prefix
      case .hasSuffix, .contains, .like: .none
      }
    }
  }

  /// The field of all the filters, if it has one value and can be a bound as it is.
  private static func commonField(of nodes: [FilterNode]) -> FieldReference? {
    var common: FieldReference?
    for node in nodes {
      let conjunct = Conjunct(node)
      guard let field = conjunct.field, !field.isMultiple else { return nil }
      switch conjunct.shape {
      case .none, .foldedPoint, .foldedPrefix: return nil
      case .points, .range, .present, .prefix, .several: break
      }
      if let common, !common.isSame(as: field) { return nil }
      common = field
    }
    return common
  }

  /// How it bounds a component of an index.
  enum Bound {
    case none, range
    case points(Int)
  }

  func bound(of component: IndexFieldSchema) -> Bound {
    guard let field, component.holds(field) else { return .none }
    switch shape {
    case .none: return .none
    case .points(let count): return .points(count)
    case .foldedPoint(let form): return component.textForm.covers(form) ? .points(1) : .none
    // Folded texts have another order than the texts.
    case .range, .several: return component.isFolded ? .none : .range
    case .present: return .range
    // The sort key of a text does not begin with those of its beginnings.
    case .prefix: return component.textForm.isCollated ? .none : .range
    case .foldedPrefix(let form): return component.textForm.covers(form) ? .range : .none
    }
  }

  /// Whether everything within the bounds passes, if no constant is cut.
  func isExact(for component: IndexFieldSchema) -> Bool {
    Conjunct.isExact(node, for: component)
  }

  private static func isExact(_ node: FilterNode, for component: IndexFieldSchema) -> Bool {
    switch node {
    case .field(let filter):
      switch filter.test {
      case .equal(let values): !component.isFolded || KeyValue.isNil(values)
      case .oneOf: !component.isFolded
      case .within(let lower, let upper):
        // One of several values may be NaN, which no bound can show.
        component.form.isSingle && (!component.isFolded || (lower == nil && upper == nil))
      case .text(let text): text.kind == .equal && text.textForm == component.textForm
      }
    case .any(let nodes): nodes.allSatisfy { isExact($0, for: component) }
    case .not: true
    case .all, .pair, .words, .record, .related: false
    }
  }
}

extension IndexFieldSchema {
  /// Whether the keys have the values of the field.
  func holds(_ field: FieldReference) -> Bool {
    identityHash == field.identityHash && identity == field.identity
      && isMultiple == field.isMultiple && form == field.form
  }
}

extension KeyForm {
  /// One value, or nil.
  var isSingle: Bool {
    switch node {
    case .primitive: true
    case .optional(let wrapped):
      if case .primitive = wrapped.node { true } else { false }
    case .composite: false
    }
  }
}

extension IndexSchema {
  /// The component of the key whose values decide a filter, exactly unless the key is cut; nil if
  /// there is none.
  func component(for filter: FieldFilter) -> Int? {
    fields.firstIndex { component in
      component.form.isSingle && !component.isMultiple && component.holds(filter.field)
        && (!component.isFolded || filter.test.isDecided(by: component.textForm))
    }
  }

  /// Whether a key decides all tests of a filter.
  func decides(_ node: FilterNode) -> Bool {
    switch node {
    case .all(let nodes), .any(let nodes): nodes.allSatisfy { decides($0) }
    case .not(let node): decides(node)
    case .field(let filter): component(for: filter) != nil
    case .pair, .words, .record, .related: false
    }
  }
}

extension FieldTest {
  /// Whether the keys of an index of the form give the same result as the texts.
  func isDecided(by form: TextForm) -> Bool {
    switch self {
    case .equal(let values): KeyValue.isNil(values)
    case .within(nil, nil): true
    case .text(let text): text.textForm == form
    case .oneOf, .within: false
    }
  }
}
