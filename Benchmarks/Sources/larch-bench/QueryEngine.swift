import Workload

/// The queries of an engine. Every call is one read; those that take many texts or companies run a
/// query for each.
protocol QueryEngine: AnyObject {
  /// Texts in the peer's own form, made outside the timed region.
  associatedtype Texts

  func prepare(_ texts: [String]) -> Texts
  func find(emails: Texts) throws -> QueryResult
  func find(ages: ClosedRange<Int>) throws -> QueryResult
  /// The first `limit` people of each city by age and id.
  func find(cities: Texts, limit: Int) throws -> QueryResult
  func find(companies: [Int64]) throws -> QueryResult
  func find(emailPrefix: String) throws -> QueryResult
  func find(cityPrefix: String) throws -> QueryResult
  /// How many are at least as old, as rows and as checksum.
  func count(from age: Int) throws -> QueryResult
  func find(scoreAbove: Double) throws -> QueryResult
  func top(scores limit: Int) throws -> QueryResult
}

/// What a session's engine is asked, its own form of the texts still to be made.
enum TextQuery {
  case emails
  case cities(limit: Int)
}

extension QueryEngine {
  /// Runs a query for each of the texts; only the queries are timed.
  func time(
    _ query: TextQuery, _ texts: [String], _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, result: QueryResult) {
    let prepared = prepare(texts)
    var result = QueryResult(rows: 0, checksum: 0)
    let nanoseconds = try stopwatch.time {
      switch query {
      case .emails: result = try find(emails: prepared)
      case .cities(let limit): result = try find(cities: prepared, limit: limit)
      }
    }
    return (nanoseconds, result)
  }
}
