import Foundation
import Larch
package import Workload

struct Reading: Record {
  var id = RecordID<Reading>()
  var sensor: Int
  var at: Date
  var value: Double

  static let schema = Schema<Reading> {
    Index(\.sensor, \.at, \.value)
  }
}

package final class ReadingStore: ShapeStore {
  package static var peer: String { LarchPeer.name }

  private let store: Store

  package init(path: String) throws {
    store = try Store(at: path, for: Reading.self, options: LarchPeer.options)
  }

  package func close() { store.close() }
  package func scan() throws -> QueryResult { try store.scan(Reading.self) }
  package func fingerprint() throws -> QueryResult { try store.scan(Reading.self, .bytes) }

  package func prepare(_ step: ReadingStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let readings): return store.insert(readings.map(Reading.init))
    case .insertEach(let readings): return store.insertEach(readings.map(Reading.init))
    case .find(let ids): return store.find(Reading.self, ids.map { RecordID($0) })
    case .page(let spans, let limit):
      return store.fetch(spans.map(Span.init)) { span in
        Reading.where { $0.sensor == span.sensor && $0.at < span.to }
          .sorted(by: \.at, .descending).limit(limit)
      }
    case .range(let spans): return store.fetch(spans.map(Span.init)) { $0.query }
    case .count(let spans):
      return store.each(spans.map(Span.init)) { tx, span, result in
        result.add(number: try tx.count(span.query))
      }
    case .countsBySensor:
      return store.each([()]) { tx, _, result in
        for group in try tx.counts(by: \Reading.sensor) {
          result.add(group: group.value, count: group.count)
        }
      }
    case .sum(let spans):
      return store.each(spans.map(Span.init)) { tx, span, result in
        result.add(number: try tx.sum(\.value, of: span.query))
      }
    case .highest(let spans):
      return store.each(spans.map(Span.init)) { tx, span, result in
        result.add(number: try tx.max(\.value, of: span.query) ?? 0)
      }
    case .update(let changes):
      return store.update(Reading.self, changes.map { (RecordID<Reading>($0.id), $0.value) }) {
        $0.value = $1
      }
    case .delete(let ids): return store.delete(Reading.self, ids.map { RecordID($0) })
    }
  }
}

private struct Span {
  var sensor: Int
  var from: Date
  var to: Date

  init(_ span: SensorSpan) {
    sensor = span.sensor
    from = Date(timeIntervalSinceReferenceDate: span.from)
    to = Date(timeIntervalSinceReferenceDate: span.to)
  }

  @inline(__always)
  var query: Query<Reading> {
    Reading.where { $0.sensor == sensor && $0.at >= from && $0.at < to }
  }
}

extension Reading {
  init(_ reading: WorkloadReading) {
    sensor = reading.sensor
    at = Date(timeIntervalSinceReferenceDate: reading.at)
    value = reading.value
  }
}

extension Reading: HashedRow {
  @inline(__always)
  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id.rawValue)
    row.add(sensor)
    row.add(at.timeIntervalSinceReferenceDate)
    row.add(value)
    result.add(row)
  }
}
