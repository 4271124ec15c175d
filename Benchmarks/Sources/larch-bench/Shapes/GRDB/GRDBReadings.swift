#if BENCH_GRDB
  import Foundation
  import GRDB
  import Workload

  private struct Reading: Codable, GRDBRecord {
    static let databaseTableName = "reading"

    var id: Int64?
    var sensor: Int
    var at: Date
    var value: Double

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }

    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
      .timeIntervalSinceReferenceDate
    }

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
      .timeIntervalSinceReferenceDate
    }

    init(_ reading: WorkloadReading) {
      (sensor, value) = (reading.sensor, reading.value)
      at = Date(timeIntervalSinceReferenceDate: reading.at)
    }

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      var row = RowHash()
      row.add(id ?? 0)
      row.add(sensor)
      row.add(at.timeIntervalSinceReferenceDate)
      row.add(value)
      result.add(row)
    }
  }

  final class GRDBReadings: GRDBShape {
    let queue: DatabaseQueue

    init(path: String) throws {
      queue = try DatabaseQueue(benchmark: path, SQLiteReadings.schema)
    }

    func scan() throws -> QueryResult { try queue.scan(Reading.self) }
    func fingerprint() throws -> QueryResult { try queue.scan(Reading.self, .bytes) }

    func prepare(_ step: ReadingStep) throws -> () throws -> QueryResult {
      let value = Column("value")
      switch step {
      case .insert(let readings):
        return queue.change(readings.map(Reading.init)) { db, reading in
          _ = try reading.inserted(db)
        }
      case .insertEach(let readings):
        return queue.change(readings.map(Reading.init), each: true) { db, reading in
          _ = try reading.inserted(db)
        }
      case .find(let ids): return queue.find(Reading.self, ids)
      case .page(let spans, let limit):
        return queue.fetch(spans) {
          Reading.filter(Column("sensor") == $0.sensor && Column("at") < $0.to)
            .order(Column("at").desc).limit(limit)
        }
      case .range(let spans): return queue.fetch(spans) { Self.at($0) }
      case .count(let spans):
        return queue.each(spans) { db, span, result in
          result.add(number: try Self.at(span).fetchCount(db))
        }
      case .countsBySensor:
        return queue.groups("SELECT sensor, count(*) FROM reading GROUP BY sensor")
      case .sum(let spans):
        return queue.each(spans) { db, span, result in
          let sum = Self.at(span).select(sum(value), as: Double.self)
          result.add(number: try sum.fetchOne(db) ?? 0)
        }
      case .highest(let spans):
        return queue.each(spans) { db, span, result in
          let highest = Self.at(span).select(max(value), as: Double.self)
          result.add(number: try highest.fetchOne(db) ?? 0)
        }
      case .update(let changes):
        return queue.update(Reading.self, changes.map { ($0.id, $0.value) }) { $0.value = $1 }
      case .delete(let ids): return queue.delete(Reading.self, ids)
      }
    }

    private static func at(_ span: SensorSpan) -> QueryInterfaceRequest<Reading> {
      let at = Column("at")
      return Reading.filter(
        Column("sensor") == span.sensor && at >= span.from && at < span.to)
    }
  }
#endif
