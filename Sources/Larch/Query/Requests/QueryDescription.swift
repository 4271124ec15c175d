/// A query without the record type: what the planner plans.
package struct QueryDescription: Sendable {
  package var filter: FilterNode
  /// Records that are the same in all of these come in the order of their ids.
  package var order: [OrderTerm] = []
  /// Ids descend. The directions of `order` are final, nothing reverses them again.
  var idsDescend = false
  /// Applied last, behind filter and order, whatever came first in the program.
  package var limit: Int?
  private var givenOffset = 0
  /// Only records behind this place in the order.
  var after: PageToken?

  package init(filter: FilterNode = .always) { self.filter = filter }

  /// None behind a token: the first page, which the token comes from, left those records out. A
  /// negative one remains, since it is an error.
  package var offset: Int {
    get { after == nil || givenOffset < 0 ? givenOffset : 0 }
    set { givenOffset = newValue }
  }
}

extension QueryDescription {
  /// Whether its filter or its order is about related records.
  var asksRelated: Bool {
    filter.asksRelated || order.contains { $0.field.related != nil }
  }
}

/// One field of an order.
package struct OrderTerm: Sendable {
  let field: FieldReference
  var descends: Bool
  /// Upper and lower case are the same.
  let ignoresCase: Bool

  package init(field: FieldReference, descends: Bool, ignoresCase: Bool = false) {
    self.field = field
    self.descends = descends
    self.ignoresCase = ignoresCase
  }
}

/// Which way an order goes.
public enum SortDirection: Sendable, Hashable {
  /// From the least: nil, then -1, then 1.
  case ascending
  /// From the greatest; nil comes last.
  case descending

  /// The other way.
  public var reversed: SortDirection { self == .ascending ? .descending : .ascending }
}

/// A place in the results of a query, behind which the next page begins.
///
/// It is a value of the order, not a number: it stays right when records are inserted or deleted,
/// and after a restart. Keep it as `text`.
public struct PageToken: Sendable {
  /// Tells the order that the token belongs to.
  var order: String
  /// The values of each field of the order.
  var values: [[KeyValue]]
  /// The id of the record.
  var id: [UInt8]
}

/// What the rows of a result are needed for.
package enum QueryNeed: Sendable {
  /// Whole records.
  case records
  /// Ids, in the order of the query.
  case ids
  /// How many; order does not matter.
  case count
  /// Whether there is one; order does not matter.
  case exists
  /// The values of these fields, in the order of the query.
  case fields([FieldReference])
}

extension QueryDescription {
  /// The first row alone.
  var limitedToOne: QueryDescription {
    var query = self
    query.limit = min(query.limit ?? 1, 1)
    return query
  }
}
