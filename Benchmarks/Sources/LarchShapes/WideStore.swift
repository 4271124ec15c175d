import Larch
package import Workload

struct Wide: Record {
  var id = RecordID<Wide>()
  var grade: Int
  var amount: Int
  var n02: Int, n03: Int, n04: Int, n05: Int, n06: Int, n07: Int
  var n08: Int, n09: Int, n10: Int, n11: Int, n12: Int, n13: Int
  var n14: Int, n15: Int, n16: Int, n17: Int, n18: Int, n19: Int
  var r0: Double, r1: Double, r2: Double, r3: Double, r4: Double
  var r5: Double, r6: Double, r7: Double, r8: Double, r9: Double
  var region: String
  var t1: String, t2: String, t3: String, t4: String, t5: String
  var t6: String, t7: String, t8: String, t9: String

  static let schema = Schema<Wide> {
    Index(\.region, \.grade, \.amount)
  }
}

package final class WideStore: ShapeStore {
  package static var peer: String { LarchPeer.name }

  private let store: Store

  package init(path: String) throws {
    store = try Store(at: path, for: Wide.self, options: LarchPeer.options)
  }

  package func close() { store.close() }
  package func scan() throws -> QueryResult { try store.scan(Wide.self) }
  package func fingerprint() throws -> QueryResult { try store.scan(Wide.self, .bytes) }

  package func prepare(_ step: WideStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let records): return store.insert(records.map(Wide.init))
    case .insertEach(let records): return store.insertEach(records.map(Wide.init))
    case .find(let ids): return store.find(Wide.self, ids.map { RecordID($0) })
    case .page(let places, let limit):
      return store.fetch(places) { place in
        Wide.where { $0.region == place.region && $0.grade >= place.grade }
          .sorted(by: \.grade, \.amount).limit(limit)
      }
    case .range(let places):
      return store.each(places) { tx, place, result in
        let selection = Wide.at(place).select(\.region, \.grade, \.amount)
        for row in try tx.fetch(selection) { result.add(row.0, row.1, row.2) }
      }
    case .count(let places):
      return store.each(places) { tx, place, result in
        result.add(number: try tx.count(Wide.at(place)))
      }
    case .countsByRegion:
      return store.each([()]) { tx, _, result in
        for group in try tx.counts(by: \Wide.region) {
          result.add(group: group.value, count: group.count)
        }
      }
    case .sum(let places):
      return store.each(places) { tx, place, result in
        result.add(number: try tx.sum(\.amount, of: Wide.at(place)))
      }
    case .filter(let limit):
      return store.each([limit]) { tx, limit, result in
        let selection = Wide.where { $0.n02 < limit }.select(\.region, \.grade, \.amount)
        for row in try tx.fetch(selection) { result.add(row.0, row.1, row.2) }
      }
    case .update(let changes):
      return store.update(Wide.self, changes.map { (RecordID<Wide>($0.id), $0.grade) }) {
        $0.grade = $1
      }
    case .delete(let ids): return store.delete(Wide.self, ids.map { RecordID($0) })
    }
  }
}

extension QueryResult {
  @inline(__always)
  fileprivate mutating func add(_ region: String, _ grade: Int, _ amount: Int) {
    var row = RowHash()
    row.add(region, .lengths)
    row.add(grade)
    row.add(amount)
    add(row)
  }
}

extension Wide {
  @inline(__always)
  static func at(_ place: WidePlace) -> Query<Wide> {
    let end = place.grade + 10
    return Wide.where { $0.region == place.region && $0.grade >= place.grade && $0.grade < end }
  }

  init(_ record: WorkloadWide) {
    let (n, r, t) = (record.numbers, record.reals, record.texts)
    (grade, amount) = (n[0], n[1])
    (n02, n03, n04, n05, n06, n07) = (n[2], n[3], n[4], n[5], n[6], n[7])
    (n08, n09, n10, n11, n12, n13) = (n[8], n[9], n[10], n[11], n[12], n[13])
    (n14, n15, n16, n17, n18, n19) = (n[14], n[15], n[16], n[17], n[18], n[19])
    (r0, r1, r2, r3, r4) = (r[0], r[1], r[2], r[3], r[4])
    (r5, r6, r7, r8, r9) = (r[5], r[6], r[7], r[8], r[9])
    region = t[0]
    (t1, t2, t3, t4, t5) = (t[1], t[2], t[3], t[4], t[5])
    (t6, t7, t8, t9) = (t[6], t[7], t[8], t[9])
  }
}

extension Wide: HashedRow {
  @inline(__always)
  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id.rawValue)
    row.add(grade)
    row.add(amount)
    row.add(n02, n03, n04, n05, n06, n07)
    row.add(n08, n09, n10, n11, n12, n13)
    row.add(n14, n15, n16, n17, n18, n19)
    row.add(r0, r1, r2, r3, r4)
    row.add(r5, r6, r7, r8, r9)
    row.add(region, depth)
    row.add(t1, t2, t3, depth)
    row.add(t4, t5, t6, depth)
    row.add(t7, t8, t9, depth)
    result.add(row)
  }
}

extension RowHash {
  @inline(__always)
  fileprivate mutating func add(_ a: Int, _ b: Int, _ c: Int, _ d: Int, _ e: Int, _ f: Int) {
    add(a)
    add(b)
    add(c)
    add(d)
    add(e)
    add(f)
  }

  @inline(__always)
  fileprivate mutating func add(_ a: Double, _ b: Double, _ c: Double, _ d: Double, _ e: Double) {
    add(a)
    add(b)
    add(c)
    add(d)
    add(e)
  }

  @inline(__always)
  fileprivate mutating func add(_ a: String, _ b: String, _ c: String, _ depth: HashDepth) {
    add(a, depth)
    add(b, depth)
    add(c, depth)
  }
}
