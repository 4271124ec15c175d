/// A query without the record type, for the planner.
package struct QueryDescription: Sendable {
  package var filter: FilterNode
  /// Records that are equal in all of these come in the order of their ids.
  package var order: [OrderTerm] = []
  /// Whether ids descend. The directions of `order` are final; nothing reverses them again.
  var idsDescend = false
  /// Applied last, after filter and order, wherever the program wrote it.
  package var limit: Int?
  private var givenOffset = 0
  /// Only records after this position in the order.
  var after: PageToken?

  package init(filter: FilterNode = .always) { self.filter = filter }

  /// Zero after a token: the first page, from which the token comes, already skipped those records.
  /// A negative offset stays, since it is an error.
  package var offset: Int {
    get { after == nil || givenOffset < 0 ? givenOffset : 0 }
    set { givenOffset = newValue }
  }
}

extension QueryDescription {
  /// Whether its filter or its order uses related records.
  var asksRelated: Bool {
    filter.asksRelated || order.contains { $0.field.related != nil }
  }
}

/// One field of an order.
package struct OrderTerm: Sendable {
  let field: FieldReference
  var descends: Bool
  /// The form in which texts are compared.
  let textForm: TextForm
  /// What is wrong with it, thrown when the query runs.
  let error: LarchError?

  package init(
    field: FieldReference, descends: Bool, textForm: TextForm = .exact, error: LarchError? = nil
  ) {
    self.field = field
    self.descends = descends
    self.textForm = textForm
    self.error = field.error ?? error
  }
}

/// The direction of an order.
public enum SortDirection: Sendable, Hashable {
  /// From the least value: nil, then -1, then 1.
  case ascending
  /// From the greatest value; nil comes last.
  case descending

  /// The opposite direction.
  public var reversed: SortDirection { self == .ascending ? .descending : .ascending }
}

/// A position in the results of a query, after which the next page begins.
///
/// It consists of values, not of a number: it stays valid when records are inserted or deleted, and
/// after a restart. Store it as `text`.
public struct PageToken: Sendable {
  /// Identifies the order that the token belongs to.
  var order: String
  /// The values of each field of the order.
  var values: [[KeyValue]]
  /// The id of the record.
  var id: [UInt8]
}

/// What the results of a query are needed for.
package enum QueryNeed: Sendable {
  /// Whole records, as they are stored.
  case records
  /// Whole records as values, in the order of the query: keys that have every field will do.
  case recordValues
  /// Ids, in the order of the query.
  case ids
  /// The number of rows; the order does not matter.
  case count
  /// Whether there is a row; the order does not matter.
  case exists
  /// The values of these fields, in the order of the query.
  case fields([FieldReference])
  /// The values of these fields of all rows; the order does not matter.
  case values([FieldReference])
  /// How many rows have each value of the field; the order does not matter.
  case counts(FieldReference)
  /// Each combination of the values of these fields, at the position of its first row.
  case distinct([FieldReference])
  /// The same; the order does not matter.
  case distinctCount([FieldReference])
}

extension QueryNeed {
  /// The fields by whose values rows are grouped; nil if each row is needed.
  var groupedFields: [FieldReference]? {
    switch self {
    case .counts(let field): [field]
    case .distinct(let fields), .distinctCount(let fields): fields
    case .records, .recordValues, .ids, .count, .exists, .fields, .values: nil
    }
  }
}

extension QueryDescription {
  /// The query limited to the first row.
  var limitedToOne: QueryDescription {
    var query = self
    query.limit = min(query.limit ?? 1, 1)
    return query
  }
}
