import Foundation
import Larch
package import Workload

struct Event: Record {
  var id = UUID()
  var at: Date
  var kind: Kind
  var device: String
  var amount: Int
  var note: String?

  static let schema = Schema<Event> {
    Index(\.kind, \.at)
    Index(\.at)
    Index(\.device)
  }

  enum Kind: String, Codable, Sendable, IndexKey {
    case opened, clicked, bought, returned, failed, closed
  }
}

package final class EventStore: ShapeStore {
  package static var peer: String { LarchPeer.name }

  private let store: Store

  package init(path: String) throws {
    store = try Store(at: path, for: Event.self, options: LarchPeer.options)
  }

  package func close() { store.close() }
  package func scan() throws -> QueryResult { try store.scan(Event.self) }
  package func fingerprint() throws -> QueryResult { try store.scan(Event.self, .bytes) }

  package func prepare(_ step: EventStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let events): return store.insert(try events.map(Event.init))
    case .insertEach(let events): return store.insertEach(try events.map(Event.init))
    case .find(let ids): return store.find(Event.self, ids)
    case .page(let dates, let limit):
      return store.fetch(dates.map(Date.init(timeIntervalSinceReferenceDate:))) { date in
        Event.where { $0.at < date }.sorted(by: \.at, .descending).limit(limit)
      }
    case .pageOfKind(let spans, let limit):
      return store.fetch(try spans.map(Span.init)) { span in
        Event.where { $0.kind == span.kind && $0.at < span.to }
          .sorted(by: \.at, .descending).limit(limit)
      }
    case .range(let spans):
      return store.fetch(try spans.map(Span.init)) { span in
        Event.where { $0.at >= span.from && $0.at < span.to }
      }
    case .count(let spans):
      return store.each(try spans.map(Span.init)) { tx, span, result in
        result.add(number: try tx.count(span.query))
      }
    case .sum(let spans):
      return store.each(try spans.map(Span.init)) { tx, span, result in
        result.add(number: try tx.sum(\.amount, of: span.query))
      }
    case .countsByKind:
      return store.each([()]) { tx, _, result in
        for group in try tx.counts(by: \Event.kind) {
          result.add(group: group.value.rawValue, count: group.count)
        }
      }
    case .countsByDevice:
      return store.each([()]) { tx, _, result in
        for group in try tx.counts(by: \Event.device) {
          result.add(group: group.value, count: group.count)
        }
      }
    case .distinctKinds:
      return store.each([()]) { tx, _, result in
        for kind in try tx.fetch(Event.select(\.kind).distinct()) {
          var row = RowHash()
          row.add(kind.rawValue, .bytes)
          result.add(row)
        }
      }
    case .update(let changes):
      return store.update(Event.self, try changes.map { ($0.id, try Event.kind($0.kind)) }) {
        $0.kind = $1
      }
    case .delete(let ids): return store.delete(Event.self, ids)
    }
  }
}

private struct Span {
  var kind: Event.Kind
  var from: Date
  var to: Date

  init(_ span: EventSpan) throws {
    kind = try Event.kind(span.kind)
    from = Date(timeIntervalSinceReferenceDate: span.from)
    to = Date(timeIntervalSinceReferenceDate: span.to)
  }

  @inline(__always)
  var query: Query<Event> {
    Event.where { $0.kind == kind && $0.at >= from && $0.at < to }
  }
}

extension Event {
  init(_ event: WorkloadEvent) throws {
    id = event.id
    at = Date(timeIntervalSinceReferenceDate: event.at)
    kind = try Event.kind(event.kind)
    device = event.device
    amount = event.amount
    note = event.note
  }

  static func kind(_ name: String) throws -> Kind {
    guard let kind = Kind(rawValue: name) else { throw BenchmarkError("no kind \(name)") }
    return kind
  }
}

extension Event: HashedRow {
  @inline(__always)
  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    row.add(at.timeIntervalSinceReferenceDate)
    row.add(kind.rawValue, depth)
    row.add(device, depth)
    row.add(amount)
    row.add(note, depth)
    result.add(row)
  }
}
