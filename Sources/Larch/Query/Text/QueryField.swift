/// A field in a query whose fields the compiler does not know.
package enum QueryField {
  /// A field with key values, for indexes, stored bytes and orders.
  case reference(FieldReference)
  /// A field that only each record determines; with its kind, or that of its elements, if known.
  case other([String], FieldKind?, isList: Bool)
  /// A nested value with these fields.
  case record([String])

  var isList: Bool {
    switch self {
    case .reference(let reference): reference.isMultiple
    case .other(_, _, let isList): isList
    case .record: false
    }
  }
}

/// The text of a test in plans.
package struct FilterText: Sendable {
  package let whole: String
  /// Without its constants, for logs.
  let withoutValues: String
}

/// What finds the fields of a query: a type, or the catalog of a file without types.
package protocol QueryFieldSource {
  /// - Throws: `QueryTextError` for a name that no record has.
  func field(_ name: QueryText.Name) throws(QueryTextError) -> QueryField

  /// The field for an order, if `field` has no key values for it.
  func orderField(_ name: QueryText.Name) -> FieldReference?

  /// The condition for a test of a field without key values.
  func node(_ filter: DynamicFilter, _ text: FilterText) -> FilterNode
}

extension QueryFieldSource {
  package func orderField(_ name: QueryText.Name) -> FieldReference? { nil }
}
