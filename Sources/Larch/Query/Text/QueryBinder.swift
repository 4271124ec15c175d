/// Resolves the names in a query to fields, and the constants to the types of these.
package struct QueryBinder {
  private let fields: any QueryFieldSource

  package init(_ fields: any QueryFieldSource) { self.fields = fields }

  /// - Throws: `QueryTextError` if the query names an unknown field, or has a test that the field
  ///   does not support.
  package func bind(_ query: QueryText) throws(QueryTextError) -> QueryDescription {
    var description = QueryDescription()
    if let filter = query.filter { description.filter = try node(filter) }
    for term in query.order { description.order.append(try orderTerm(term)) }
    description.limit = query.limit
    description.offset = query.offset
    return description
  }

  private func node(_ condition: QueryText.Condition) throws(QueryTextError) -> FilterNode {
    switch condition {
    case .all(let parts): return .all(try nodes(parts))
    case .any(let parts): return .any(try nodes(parts))
    case .not(let part): return .not(try node(part))
    case .test(let test): return try node(test)
    }
  }

  private func nodes(
    _ conditions: [QueryText.Condition]
  ) throws(QueryTextError) -> [FilterNode] {
    var nodes: [FilterNode] = []
    for condition in conditions { nodes.append(try node(condition)) }
    return nodes
  }

  func node(_ test: QueryText.Test) throws(QueryTextError) -> FilterNode {
    let field = try fields.field(test.field)
    switch test.operation {
    case .isTrue: return try isTrue(field, test)
    case .isNil: return isNil(field, test)
    case .compare(let comparison, let literal):
      return try node(field, comparison, literal, test)
    case .compareField(let comparison, let name):
      return try pair(field, comparison, try fields.field(name), test, name)
    case .equalText(let literal, let form): return try text(.equal, literal, form, field, test)
    case .between(let lower, let upper):
      return try make(
        .within(
          lower: LiteralTest.Bound(literal: lower, isIncluded: true),
          upper: LiteralTest.Bound(literal: upper, isIncluded: true)), field, test, [lower, upper])
    case .oneOf(let literals): return try make(.oneOf(literals), field, test, literals)
    case .contains(let literal, let form):
      switch field {
      case .other(let names, nil, isList: false):
        // A part of a text, or an element of a list, depending on the record.
        let element = QueryField.other(names, nil, isList: true)
        let hasElement = try contains(element, literal, form, test)
        guard case .text = literal.value else { return hasElement }
        let part = try text(
          .contains, literal, form, field, test, reach: .single)
        return .any([part, hasElement])
      case _ where field.isList:
        return try contains(field, literal, form, test)
      default: return try text(.contains, literal, form, field, test)
      }
    case .has(let literal):
      var field = field
      if case .other(let names, nil, isList: false) = field {
        field = .other(names, nil, isList: true)
      }
      guard field.isList else {
        throw QueryTextError(
          test.column,
          "\(QueryTextError.shown(test.field.text)) is not a list: only lists have elements"
        )
      }
      return try make(.equal(literal), field, test, [literal])
    case .words(let literal, let others): return try words(field, literal, others, test)
    case .text(let kind, let literal, let form):
      return try text(kind, literal, form, field, test)
    }
  }

  // MARK: Tests

  /// The words of fields, read as a person types them.
  private func words(
    _ field: QueryField, _ literal: QueryText.Literal, _ others: [QueryText.Name],
    _ test: QueryText.Test
  ) throws(QueryTextError) -> FilterNode {
    guard case .text(let typed) = literal.value else {
      throw QueryTextError(
        literal.column, "expected a text in quotes, found \(literal.shown)")
    }
    var references = [try textReference(field, test.field)]
    for name in others { references.append(try textReference(try fields.field(name), name)) }
    return .words(WordsFilter(references, TextQuery(typed, completesLast: false)))
  }

  private func textReference(
    _ field: QueryField, _ name: QueryText.Name
  ) throws(QueryTextError) -> FieldReference {
    if case .reference(let reference) = field, reference.holdsTexts { return reference }
    throw QueryTextError(
      name.column,
      "\(QueryTextError.shown(name.text)) is not a text in every record: only texts and lists of texts have words"
    )
  }

  /// Whether a list has an element.
  private func contains(
    _ field: QueryField, _ literal: QueryText.Literal, _ form: TextForm, _ test: QueryText.Test
  ) throws(QueryTextError) -> FilterNode {
    form.isFolded
      ? try text(.equal, literal, form, field, test)
      : try make(.equal(literal), field, test, [literal])
  }

  private func isTrue(
    _ field: QueryField, _ test: QueryText.Test
  ) throws(QueryTextError) -> FilterNode {
    switch field {
    case .reference(let reference)
    where !reference.isMultiple && reference.form.unwrapped == .primitive(.bool):
      return .field(FieldFilter(reference, .equal([.bool(true)])))
    case .other(_, nil, isList: false):
      let literal = QueryText.Literal(value: .bool(true), column: test.column, source: "true")
      return try make(.equal(literal), field, test, [literal])
    default:
      throw QueryTextError(
        test.column,
        "\(QueryTextError.shown(test.field.text)) is not a bool: expected a comparison after it")
    }
  }

  private func isNil(_ field: QueryField, _ test: QueryText.Test) -> FilterNode {
    if case .reference(let reference) = field, !reference.isMultiple {
      return .field(FieldFilter(reference, .equal([.null])))
    }
    let whole = LiteralTest(kind: .isNil, column: test.column)
    let text = "\(test.field.text) == nil"
    return fields.node(
      DynamicFilter(test.field.names, whole, .either),
      FilterText(whole: text, withoutValues: text))
  }

  private func node(
    _ field: QueryField, _ comparison: QueryText.Comparison, _ literal: QueryText.Literal,
    _ test: QueryText.Test
  ) throws(QueryTextError) -> FilterNode {
    func bound(_ isIncluded: Bool) -> LiteralTest.Bound {
      LiteralTest.Bound(literal: literal, isIncluded: isIncluded)
    }
    switch comparison {
    case .equal:
      if literal.value == .null { return isNil(field, test) }
      return try make(.equal(literal), field, test, [literal])
    case .notEqual: return .not(try node(field, .equal, literal, test))
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      guard literal.value != .null else {
        throw QueryTextError(
          literal.column, "nil has no order; expected a constant")
      }
      let isIncluded = comparison == .lessOrEqual || comparison == .greaterOrEqual
      let isUpper = comparison == .less || comparison == .lessOrEqual
      return try make(
        isUpper
          ? .within(lower: nil, upper: bound(isIncluded))
          : .within(lower: bound(isIncluded), upper: nil), field, test, [literal])
    }
  }

  private func text(
    _ kind: TextTest.Kind, _ literal: QueryText.Literal, _ form: TextForm,
    _ field: QueryField, _ test: QueryText.Test, reach: DynamicFilter.Reach = .either
  ) throws(QueryTextError) -> FilterNode {
    guard case .text(let text) = literal.value else {
      throw QueryTextError(
        literal.column, "expected a text in quotes, found \(literal.shown)")
    }
    let textTest = TextTest(kind: kind, text: text, form)
    return try make(.text(textTest), field, test, [literal], reach: reach)
  }

  /// - Parameter reach: the tested value, if it is not known whether the field is a list.
  private func make(
    _ kind: LiteralTest.Kind, _ field: QueryField, _ test: QueryText.Test,
    _ literals: [QueryText.Literal], reach: DynamicFilter.Reach = .either
  ) throws(QueryTextError) -> FilterNode {
    let asked = LiteralTest(kind: kind, column: test.column)
    switch field {
    case .reference(let reference):
      guard case .primitive(let primitive) = reference.form.unwrapped.node else {
        throw QueryTextError(
          test.field.column, "\(QueryTextError.shown(test.field.text)) cannot be compared")
      }
      return .field(
        FieldFilter(
          reference,
          try asked.fieldTest(
            primitive, isOptional: reference.form.isOptional, test.field.text)))
    case .other(let names, let kind, let isList):
      if let kind, let primitive = KeyForm.Primitive(storedKind: kind) {
        _ = try asked.fieldTest(primitive, isOptional: true, test.field.text)
      } else if let kind {
        try check(literals, kind, test)
      }
      let constants = literals.map(\.source).joined(separator: ", ")
      let text = "\(test.field.text) \(test.word) "
      return fields.node(
        DynamicFilter(names, asked, isList ? .elements : reach),
        FilterText(
          whole: text + QueryTextError.plain(constants), withoutValues: text + "…"))
    case .record(let fields):
      throw QueryTextError(
        test.field.column,
        "\(QueryTextError.shown(test.field.text)) has fields of its own: expected one of them"
          + QueryTextError.listed(fields))
    }
  }

  /// Numbers that are not key values are compared as exact numbers.
  private func check(
    _ literals: [QueryText.Literal], _ kind: FieldKind, _ test: QueryText.Test
  ) throws(QueryTextError) {
    for literal in literals where literal.value != .null {
      guard DynamicFilter.decimal(literal) != nil else {
        throw QueryTextError(
          literal.column,
          "\(QueryTextError.shown(test.field.text)) is of kind \(kind.name): expected a number, found "
            + literal.shown)
      }
    }
  }

  private func pair(
    _ left: QueryField, _ comparison: QueryText.Comparison, _ right: QueryField,
    _ test: QueryText.Test, _ name: QueryText.Name
  ) throws(QueryTextError) -> FilterNode {
    guard case .reference(let first) = left, case .reference(let second) = right,
      !first.isMultiple, !second.isMultiple, first.form.unwrapped == second.form.unwrapped
    else {
      throw QueryTextError(
        name.column,
        "\(QueryTextError.shown(test.field.text)) and \(QueryTextError.shown(name.text)) have different kinds: expected a field of the same kind, or a constant; text needs quotes"
      )
    }
    func pair(
      _ a: FieldReference, _ comparison: PairFilter.Comparison, _ b: FieldReference
    ) -> FilterNode { .pair(PairFilter(a, comparison, b)) }
    return switch comparison {
    case .equal: pair(first, .equal, second)
    case .notEqual: .not(pair(first, .equal, second))
    case .less: pair(first, .less, second)
    case .lessOrEqual: pair(first, .lessOrEqual, second)
    case .greater: pair(second, .less, first)
    case .greaterOrEqual: pair(second, .lessOrEqual, first)
    }
  }

  // MARK: Orders

  private func orderTerm(_ term: QueryText.Term) throws(QueryTextError) -> OrderTerm {
    let field: QueryField
    do {
      field = try fields.field(term.field)
    } catch {
      // If records have a field of that name, it is meant.
      if term.field.names == ["relevance"] { return try relevance(term) }
      throw error
    }
    var found: FieldReference?
    if case .reference(let reference) = field {
      found = reference
    } else {
      found = fields.orderField(term.field)
    }
    guard let reference = found, !reference.isMultiple else {
      throw QueryTextError(
        term.field.column,
        "\(QueryTextError.shown(term.field.text)) cannot be used for sorting")
    }
    if term.textForm.isFolded, reference.form.unwrapped != .primitive(.string) {
      throw QueryTextError(
        term.field.column,
        "\(QueryTextError.shown(term.field.text)) is not text: only text has case, or the order of a language"
      )
    }
    return OrderTerm(
      field: reference, descends: term.descends, textForm: term.textForm)
  }

  private func relevance(_ term: QueryText.Term) throws(QueryTextError) -> OrderTerm {
    guard !term.hasDirection, !term.textForm.isFolded else {
      throw QueryTextError(
        term.field.column, "relevance is no field: the best match comes first, without more words")
    }
    return .relevance()
  }
}
