import Workload

/// A change of one record: what its body is to become.
struct TextChange {
  var id: Int64
  var body: String
}

/// A record as a program gets it from a peer.
struct FoundText {
  var id: Int64
  var title: String
  var body: String
  var year: Int
}

/// What the bytes of a file are for.
struct TextSizes {
  /// Of the file, after everything is in it.
  var file: Int
  /// Of the pages that have something.
  var used: Int
}

/// A store of texts with an index of their words.
///
/// What is looked for is written as people type it; both peers read words, `"phrases"`, `prefixes*` and
/// `OR` alike.
protocol TextPeer: AnyObject {
  static var name: String { get }

  /// A new store, or one that is there.
  ///
  /// - Parameter isIndexed: whether it has an index of words; otherwise it has only the records.
  init(directory: String, isIndexed: Bool, isLogged: Bool) throws
  func close()

  /// Saves all, in transactions of 100,000 records, under the ids from 1.
  func save(_ texts: [TextWorkload.Text]) throws
  /// What this peer can do so that reads are as fast as possible; false if there is nothing to do.
  func optimize() throws -> Bool
  /// Reads each record, and changes its body and the index; all in one durable transaction.
  func change(_ changes: ArraySlice<TextChange>) throws

  func count(_ typed: String) throws -> Int
  /// The first by id.
  func first(_ limit: Int, _ typed: String) throws -> [FoundText]
  /// The best first, by the formula of the peer.
  func best(_ limit: Int, _ typed: String) throws -> [FoundText]

  func all() throws -> QueryResult
  func sizes() throws -> TextSizes
  /// Compares the whole index with the records.
  func verify() throws
}

extension FoundText {
  func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    row.add(title, depth)
    row.add(body, depth)
    row.add(year)
    result.add(row)
  }
}
