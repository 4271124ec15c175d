import Larch

// The control for requests: each can be run where it is written, by the verbs of readers and by its
// own, and its rows taken apart there. An associated type that is made of a pack would make the
// compiler search without an end in these very lines.
// swiftc: -warnings-as-errors -Xfrontend -solver-scope-threshold=2000

struct Firm: Record {
  var id = RecordID<Firm>()
  var name: String

  static let staff = HasMany<Firm, Worker>(\.firmID)
}

struct Worker: Record {
  var id = RecordID<Worker>()
  var name: String
  var age: Int
  var firmID: RecordID<Firm>?

  static let firm = BelongsTo<Worker, Firm>(\.firmID)
}

func inline(_ store: Store, _ tx: ReadTransaction) throws {
  let q = Worker.where { $0.age > 3 }
  for (name, age) in try store.fetch(q.select(\.name, \.age)) { print(name, age) }
  for (name, age, id) in try q.select(\.name, \.age, \.id).fetch(in: tx) { print(name, age, id) }
  let age = try store.first(q.select(\.age)) ?? 0
  let sum = try store.fetch(q.select(\.age)).reduce(age, +)
  print(sum, try store.fetch(q.select(\.name)) == ["a"], try q.select(\.name).fetch() == ["a"])
  try store.forEach(q.select(\.name, \.age)) { name, age in print(name, age) }
  for (worker, firm) in try store.fetch(q.with(Worker.firm)) {
    print(worker.name, firm?.name ?? "")
  }
  for (firm, staff) in try Firm.all.with(Firm.staff, from: q).fetch(in: tx) {
    print(firm.name, staff.map(\.age).max() ?? 0)
  }
  try Firm.all.with(Firm.staff).forEach { firm, staff in print(firm.name, staff.count) }
  for (worker, firm) in try store.fetch(q.joined(with: Firm.all, on: \.firmID, kind: .left)) {
    print(worker.name, firm?.name ?? "")
  }
  print(try store.count(Worker.all) + q.count() + Firm.all.with(Firm.staff).count(in: tx))
}

/// A function that takes whatever can be asked.
func rows<Row>(of request: some Request<Row>, in reader: some RecordReading) throws -> [Row] {
  guard try reader.exists(request) else { return [] }
  return try reader.fetch(request)
}

func passed(_ store: Store) throws {
  print(try rows(of: Worker.all, in: store).map(\.name))
  print(try rows(of: Worker.select(\.name, \.age), in: store).map(\.0))
  let any: any Request<Worker> = Worker.all
  print(try any.fetch(in: store).map(\.name))
}

/// A type is no request.
func observed(_ store: Store, _ id: Worker.ID) {
  _ = store.observe(Worker.self)  // error: observe a request
  _ = store.observe(Worker.self) { _ in }  // error: observe a request
  _ = store.observe(Worker.all)
  _ = store.observe(Worker.all) { print($0.rows) }
  _ = store.observe(Worker.self, id)
  _ = store.observe(Worker.self, id) { print($0.value as Any) }
}
