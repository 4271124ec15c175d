#if BENCH_GRDB
  import GRDB
  import Workload

  private struct Wide: Codable, GRDBRecord {
    static let databaseTableName = "wide"

    var id: Int64?
    var n0: Int, n1: Int, n2: Int, n3: Int, n4: Int
    var n5: Int, n6: Int, n7: Int, n8: Int, n9: Int
    var n10: Int, n11: Int, n12: Int, n13: Int, n14: Int
    var n15: Int, n16: Int, n17: Int, n18: Int, n19: Int
    var r0: Double, r1: Double, r2: Double, r3: Double, r4: Double
    var r5: Double, r6: Double, r7: Double, r8: Double, r9: Double
    var t0: String, t1: String, t2: String, t3: String, t4: String
    var t5: String, t6: String, t7: String, t8: String, t9: String

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }

    init(_ record: WorkloadWide) {
      let (n, r, t) = (record.numbers, record.reals, record.texts)
      (n0, n1, n2, n3, n4) = (n[0], n[1], n[2], n[3], n[4])
      (n5, n6, n7, n8, n9) = (n[5], n[6], n[7], n[8], n[9])
      (n10, n11, n12, n13, n14) = (n[10], n[11], n[12], n[13], n[14])
      (n15, n16, n17, n18, n19) = (n[15], n[16], n[17], n[18], n[19])
      (r0, r1, r2, r3, r4) = (r[0], r[1], r[2], r[3], r[4])
      (r5, r6, r7, r8, r9) = (r[5], r[6], r[7], r[8], r[9])
      (t0, t1, t2, t3, t4) = (t[0], t[1], t[2], t[3], t[4])
      (t5, t6, t7, t8, t9) = (t[5], t[6], t[7], t[8], t[9])
    }

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      var row = RowHash()
      row.add(id ?? 0)
      for number in [n0, n1, n2, n3, n4] { row.add(number) }
      for number in [n5, n6, n7, n8, n9] { row.add(number) }
      for number in [n10, n11, n12, n13, n14] { row.add(number) }
      for number in [n15, n16, n17, n18, n19] { row.add(number) }
      for real in [r0, r1, r2, r3, r4] { row.add(real) }
      for real in [r5, r6, r7, r8, r9] { row.add(real) }
      for text in [t0, t1, t2, t3, t4] { row.add(text, depth) }
      for text in [t5, t6, t7, t8, t9] { row.add(text, depth) }
      result.add(row)
    }
  }

  /// The fields that queries use.
  private struct Extract: Codable, FetchableRecord, HashedRow {
    var t0: String
    var n0: Int
    var n1: Int

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      var row = RowHash()
      row.add(t0, depth)
      row.add(n0)
      row.add(n1)
      result.add(row)
    }
  }

  final class GRDBWide: GRDBShape {
    let queue: DatabaseQueue

    init(path: String) throws {
      queue = try DatabaseQueue(benchmark: path, SQLiteWide.schema)
    }

    func scan() throws -> QueryResult { try queue.scan(Wide.self) }
    func fingerprint() throws -> QueryResult { try queue.scan(Wide.self, .bytes) }

    func prepare(_ step: WideStep) throws -> () throws -> QueryResult {
      let (region, grade, amount) = (Column("t0"), Column("n0"), Column("n1"))
      switch step {
      case .insert(let records):
        return queue.change(records.map(Wide.init)) { db, record in _ = try record.inserted(db) }
      case .insertEach(let records):
        return queue.change(records.map(Wide.init), each: true) { db, record in
          _ = try record.inserted(db)
        }
      case .find(let ids): return queue.find(Wide.self, ids)
      case .page(let places, let limit):
        return queue.fetch(places) {
          Wide.filter(region == $0.region && grade >= $0.grade)
            .order(grade, amount, Column("id")).limit(limit)
        }
      case .range(let places):
        return queue.fetch(places) {
          Self.at($0).select(region, grade, amount).asRequest(of: Extract.self)
        }
      case .count(let places):
        return queue.each(places) { db, place, result in
          result.add(number: try Self.at(place).fetchCount(db))
        }
      case .countsByRegion: return queue.groups("SELECT t0, count(*) FROM wide GROUP BY t0")
      case .sum(let places):
        return queue.each(places) { db, place, result in
          let sum = Self.at(place).select(sum(amount), as: Int.self)
          result.add(number: try sum.fetchOne(db) ?? 0)
        }
      case .filter(let limit):
        return queue.fetch([limit]) {
          Wide.filter(Column("n2") < $0).select(region, grade, amount).asRequest(of: Extract.self)
        }
      case .update(let changes):
        return queue.update(Wide.self, changes.map { ($0.id, $0.grade) }) { $0.n0 = $1 }
      case .delete(let ids): return queue.delete(Wide.self, ids)
      }
    }

    private static func at(_ place: WidePlace) -> QueryInterfaceRequest<Wide> {
      let grade = Column("n0")
      return Wide.filter(
        Column("t0") == place.region && grade >= place.grade && grade < place.grade + 10)
    }
  }
#endif
