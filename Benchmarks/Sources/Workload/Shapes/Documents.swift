/// Documents of 4,096 bytes, by an id that is a text.
package struct Documents: Shape {
  package static let number: UInt64 = 3
  package static let areas = ["notes", "letters", "drafts", "minutes", "reports", "essays"]
  static let bodyBytes = 4_096

  package let count: Int

  package init(size: Int) {
    count = max(1, size / 5)
  }

  var folders: Int { max(1, count / 100) }

  /// Everything but the body, which takes longest.
  private func head(_ index: Int) -> (id: String, area: String, title: String, revision: Int) {
    var stream = RandomStream(shape: Self.number, record: index)
    let area = stream.skewed(Self.areas)
    let folder = stream.below(folders)
    let title = stream.pick(Vocabulary.lastNames) + " and " + stream.pick(Vocabulary.lastNames)
    let id = "\(area)/\(10_000 + folder)/\(1_000_000 + index)"
    return (id, area, title, stream.below(1_000))
  }

  package func record(_ index: Int) -> WorkloadDocument {
    let head = head(index)
    return WorkloadDocument(
      id: head.id, area: head.area, title: head.title, body: body(index, edition: 0),
      revision: head.revision)
  }

  func body(_ index: Int, edition: Int) -> String {
    var stream = RandomStream(shape: Self.number + UInt64(100 + edition), record: index)
    return String(stream.sentence(Self.bodyBytes).utf8.prefix(Self.bodyBytes)) ?? ""
  }

  package func ids(_ indexes: [Int]) -> [String] { indexes.map { head($0).id } }

  /// The beginning of the ids of a folder, which holds about a hundred documents in six areas.
  package func folders(_ number: Int, _ operation: UInt64) -> [String] {
    indexes(number, operation).map { index in
      head(index).id.split(separator: "/").prefix(2).joined(separator: "/") + "/"
    }
  }

  package func areas(_ number: Int, _ operation: UInt64) -> [String] {
    var stream = stream(operation)
    return (0..<number).map { _ in stream.pick(Self.areas) }
  }

  /// Documents that get another body of the same length.
  package func changes(_ number: Int, _ operation: UInt64) -> [(id: String, body: String)] {
    distinctIndexes(number, operation).map { (head($0).id, body($0, edition: 1)) }
  }
}

package struct WorkloadDocument: HashedRow, Equatable, Sendable {
  package var id: String
  package var area: String
  package var title: String
  package var body: String
  package var revision: Int

  package init(
    id: String, area: String = "", title: String = "", body: String, revision: Int = 0
  ) {
    (self.id, self.area, self.title) = (id, area, title)
    (self.body, self.revision) = (body, revision)
  }

  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id, depth)
    row.add(area, depth)
    row.add(title, depth)
    row.add(body, depth)
    row.add(revision)
    result.add(row)
  }
}

package enum DocumentStep {
  case insert([WorkloadDocument])
  case insertEach([WorkloadDocument])
  case find([String])
  /// The first ids after each of these, with their documents.
  case page([String], limit: Int)
  /// The documents whose ids begin so.
  case range([String])
  case countOfPrefix([String])
  /// The ids that begin so, without their documents.
  case idsOfPrefix([String])
  case countsByArea
  /// The revisions of an area.
  case sum([String])
  case update([(id: String, body: String)])
  case delete([String])
}
