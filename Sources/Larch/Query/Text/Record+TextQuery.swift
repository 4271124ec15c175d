extension Record {
  /// A query written as text, in the language of the `larch` tool: for a search field, a
  /// configuration file, or a console.
  ///
  /// ```swift
  /// let query = try Person.query(text: "age >= 30 and city = 'Oslo' order by name limit 20")
  /// let theirs = try Person.query(text: "city = ? and age > ?", city, 18)
  /// let others = try Person.query(text: "not city in :cities", named: ["cities": ["Oslo", "Rome"]])
  /// ```
  ///
  /// The result is a query like any other, with the same plans and answers. Fields have their stored
  /// names, as in the output of `larch schema`. Give what a user typed as a value, and never as a part
  /// of the text: each `?` is the next value, and `:name` the one of that name. A value stands where a
  /// constant may be, after `limit` and `offset`, and, if it is an array, after `in`.
  ///
  /// - Parameters:
  ///   - text: the query; `docs/query-language.md` describes the language.
  ///   - values: for each `?`, any `Encodable` value as a record would store it, or nil.
  ///   - named: the same for each `:name`.
  /// - Throws: `.invalidQuery` for a text that is not a query, an unknown field, and a constant or
  ///   value that does not fit its field: the detail has the place and what was expected there.
  /// - Complexity: O(*n*) in the length of the text. No store is read.
  public static func query(
    text: String, _ values: (any Sendable)?..., named: [String: (any Sendable)?] = [:]
  ) throws -> Query<Self> {
    let given = try QueryValues(
      values.map { try FieldValue(storing: $0) },
      named: named.mapValues { try FieldValue(storing: $0) })
    do {
      let parsed = try QueryParser.parse(text, given)
      var query = Query<Self>()
      query.details = try QueryBinder(NamedFields<Self>()).bind(parsed)
      return query
    } catch {
      throw LarchError(
        .invalidQuery,
        "The text is not a query of these records; the detail has the place and what was expected there."
      ) {
        $0.collection = collectionName
        $0.detail = "column \(error.column): \(error.message)"
      }
    }
  }

  /// The records whose fields have these values.
  ///
  /// ```swift
  /// let people = try Person.where(matching: ["city": "Oslo", "age": 41]).fetch()
  /// ```
  ///
  /// Fields have their stored names; a dot leads to the field of a nested value. All must match. Nil
  /// matches a field without a value. An array matches a field that equals one of its elements, and
  /// an empty one matches nothing. A field that is itself an array or a set matches if some element of
  /// it does.
  ///
  /// - Parameter values: any `Encodable` values as a record would store them, or nil, by field. An empty
  ///   dictionary matches every record.
  /// - Throws: `.invalidQuery` for an unknown field, and for a value that its field cannot have: the
  ///   context has the field, and the detail what was expected.
  /// - Complexity: O(*n*) in the number of fields. No store is read.
  public static func `where`(matching values: [String: (any Sendable)?]) throws -> Query<Self> {
    try all.where(matching: values)
  }
}

extension Query {
  /// Keeps only the records whose fields also have these values: see ``Record/where(matching:)``.
  ///
  /// - Throws: `.invalidQuery` for an unknown field, and for a value that its field cannot have.
  /// - Complexity: O(*n*) in the number of fields. No store is read.
  public func `where`(matching values: [String: (any Sendable)?]) throws -> Query {
    let fields = NamedFields<R>()
    let binder = QueryBinder(fields)
    var query = self
    // In one order, so that equal dictionaries are equal queries.
    for name in values.keys.sorted() {
      let value = try FieldValue(storing: values[name] ?? nil)
      let field = QueryText.Name(names: fields.path(name), column: 1)
      let node = try Query.node(field, value, name, binder)
      query.details.filter = query.details.filter.and(node)
    }
    return query
  }

  private static func node(
    _ field: QueryText.Name, _ value: FieldValue, _ name: String, _ binder: QueryBinder
  ) throws -> FilterNode {
    do {
      return try binder.node(QueryText.Test(field, matches: value))
    } catch {
      throw LarchError(
        .invalidQuery,
        "A field of the dictionary does not fit the records; the detail says what was expected."
      ) {
        $0.collection = R.collectionName
        $0.field = name
        $0.detail = error.message
      }
    }
  }
}

extension QueryText.Test {
  /// Whether a field has a value, or one of those in a list.
  fileprivate init(_ field: QueryText.Name, matches value: FieldValue) throws(QueryTextError) {
    func literal(_ value: FieldValue) throws(QueryTextError) -> QueryText.Literal {
      guard let constant = QueryText.Literal.Value(value) else {
        throw QueryTextError(
          1,
          "\(QueryTextError.shown(field.text)) is compared with a value that has fields or elements of its own"
        )
      }
      return QueryText.Literal(value: constant, column: 1, source: "the value", isValue: true)
    }
    let operation: QueryText.Operation
    if case .list(let elements) = value {
      var literals: [QueryText.Literal] = []
      for element in elements { literals.append(try literal(element)) }
      operation = .oneOf(literals)
    } else {
      operation = .compare(.equal, try literal(value))
    }
    self.init(field: field, operation: operation, column: 1, word: "=")
  }
}
