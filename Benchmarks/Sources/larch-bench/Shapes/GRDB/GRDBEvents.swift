#if BENCH_GRDB
  import Foundation
  import GRDB
  import Workload

  private struct Event: Codable, GRDBRecord {
    static let databaseTableName = "event"

    var id: UUID
    var at: Date
    var kind: Kind
    var device: String
    var amount: Int
    var note: String?

    enum Kind: String, Codable {
      case opened, clicked, bought, returned, failed, closed
    }

    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
      .timeIntervalSinceReferenceDate
    }

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
      .timeIntervalSinceReferenceDate
    }

    init(_ event: WorkloadEvent) {
      id = event.id
      at = Date(timeIntervalSinceReferenceDate: event.at)
      kind = Kind(rawValue: event.kind) ?? .opened
      device = event.device
      amount = event.amount
      note = event.note
    }

    func add(to result: inout QueryResult, _ depth: HashDepth) {
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

  final class GRDBEvents: GRDBShape {
    let queue: DatabaseQueue

    init(path: String) throws {
      queue = try DatabaseQueue(benchmark: path, SQLiteEvents.schema)
    }

    func scan() throws -> QueryResult { try queue.scan(Event.self) }
    func fingerprint() throws -> QueryResult { try queue.scan(Event.self, .bytes) }

    func prepare(_ step: EventStep) throws -> () throws -> QueryResult {
      let (at, kind) = (Column("at"), Column("kind"))
      switch step {
      case .insert(let events):
        return queue.change(events.map(Event.init)) { db, event in
          _ = try event.inserted(db)
        }
      case .insertEach(let events):
        return queue.change(events.map(Event.init), each: true) { db, event in
          _ = try event.inserted(db)
        }
      case .find(let ids): return queue.find(Event.self, ids)
      case .page(let dates, let limit):
        return queue.fetch(dates) { Event.filter(at < $0).order(at.desc).limit(limit) }
      case .pageOfKind(let spans, let limit):
        return queue.fetch(spans) {
          Event.filter(kind == $0.kind && at < $0.to).order(at.desc).limit(limit)
        }
      case .range(let spans):
        return queue.fetch(spans) { Event.filter(at >= $0.from && at < $0.to) }
      case .count(let spans):
        return queue.each(spans) { db, span, result in
          result.add(number: try Self.at(span).fetchCount(db))
        }
      case .sum(let spans):
        return queue.each(spans) { db, span, result in
          let sum = Self.at(span).select(sum(Column("amount")), as: Int.self)
          result.add(number: try sum.fetchOne(db) ?? 0)
        }
      case .countsByKind: return queue.groups("SELECT kind, count(*) FROM event GROUP BY kind")
      case .countsByDevice:
        return queue.groups("SELECT device, count(*) FROM event GROUP BY device")
      case .distinctKinds:
        return queue.each([()]) { db, _, result in
          for kind in try Event.select(kind, as: String.self).distinct().fetchAll(db) {
            var row = RowHash()
            row.add(kind, .bytes)
            result.add(row)
          }
        }
      case .update(let changes):
        return queue.update(Event.self, changes.map { ($0.id, Event.Kind(rawValue: $0.kind)) }) {
          $0.kind = $1 ?? .opened
        }
      case .delete(let ids): return queue.delete(Event.self, ids)
      }
    }

    private static func at(_ span: EventSpan) -> QueryInterfaceRequest<Event> {
      Event.filter(
        Column("kind") == span.kind && Column("at") >= span.from && Column("at") < span.to)
    }
  }
#endif
