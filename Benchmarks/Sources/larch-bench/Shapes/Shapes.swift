import LarchShapes
import LarchShapesLogged
import LarchShapesMemberwise
import Workload

private typealias Plain = LarchShapes.LarchPeer
private typealias Memberwise = LarchShapesMemberwise.LarchPeer
private typealias Logged = LarchShapesLogged.LarchPeer

extension Benchmark {
  /// Eight shapes of records, beside SQLite; raw LMDB is the unit where it is written.
  static var shapes: Benchmark {
    Benchmark(
      parts: [events, orders, documents, wide, scores, tags, graph, readings],
      peers: ["lmdb", "larch", "larch-m", "larch-log", "sqlite"] + grdb("events").map { $0.peer },

      optionalPeers: ["grdb": "build again with LARCH_BENCH_GRDB=/path/to/GRDB.swift"],
      units: ["lmdb", "sqlite"], yardstick: "sqlite",
      ratioTitle: "ratios to raw LMDB where it is there, otherwise to SQLite",
      growthTitle: "growth beside that of SQLite",
      notes: grdb("events").isEmpty
        ? ["GRDB was left out: LARCH_BENCH_GRDB named no checkout when this program was built"] : []
    )
  }

  /// Nothing where this program was built without it.
  private static func grdb(_ shape: String) -> [any StoreEngine.Type] {
    #if BENCH_GRDB
      GRDBPeer.store(shape).map { [$0] } ?? []
    #else
      []
    #endif
  }

  private static var events: Part {
    let make = ShapeOperations<Events, EventStep>("events") { Events(size: $0) }
    let operations = [
      make.load("insert", "insert all in one transaction") { .insert($0.all) },
      make.size(),
      make.read("find", "find by UUID", per: "find", 10_000) { .find($0.ids($0.indexes($1, 1))) },
      make.read("page", "the 50 before a date", 300) { .page($0.dates($1, 2), limit: 50) },
      make.read("kind", "the 50 of a kind before a date", 300) {
        .pageOfKind($0.spans($1, events: 5_000, 3), limit: 50)
      },
      make.read("range", "500 events between dates", 20) { .range($0.spans($1, events: 500, 4)) },
      make.read("count", "count of a kind between dates", 300) {
        .count($0.spans($1, events: 10_000, 5))
      },
      make.read("sum", "sum over a kind between dates", 50) {
        .sum($0.spans($1, events: 5_000, 6))
      },
      make.repeated("kinds", "counts by kind, an enum") { _ in .countsByKind },
      make.repeated("devices", "counts by device, a text") { _ in .countsByDevice },
      make.repeated("distinct", "the kinds that there are") { _ in .distinctKinds },
      make.scan(),
      make.single { .insertEach($0.further($1, from: $2)) },
      make.write("update", "change the kind", 3_000) { .update($0.changes($1, 7)) },
      make.write("delete", "delete by UUID", once: true, 3_000) {
        .delete($0.ids($0.distinctIndexes($1, 8)))
      },
    ]
    return Part(
      name: "events",
      peers: [
        RawLMDBEvents.self, Plain.events, Memberwise.events, Logged.events, SQLiteEvents.self,
      ]
        + grdb("events"),
      operations: operations, expected: make.expected)
  }

  private static var orders: Part {
    let make = ShapeOperations<Orders, OrderStep>("orders") { Orders(size: $0) }
    let operations = [
      make.load("insert", "insert all in one transaction") { .insert($0.all) },
      make.size(),
      make.read("find", "find by id, with its lines", per: "find", 5_000) { .find($0.ids($1, 1)) },
      make.read("page", "the last 5 of a customer", 300) { .page($0.customers($1, 2), limit: 5) },
      make.read("range", "orders in a state between dates", 50) {
        .range($0.spans($1, orders: 500, 3))
      },
      make.read("product", "orders with a product", 200) { .withProduct($0.products($1, 4)) },
      make.read("count", "count in a state between dates", 300) {
        .count($0.spans($1, orders: 5_000, 5))
      },
      make.read("sum", "what a customer has ordered", 2_000) { .sum($0.customers($1, 6)) },
      make.repeated("states", "counts by state, an enum") { _ in .countsByState },
      make.scan(),
      make.single { .insertEach($0.further($1, from: $2)) },
      make.write("update", "change the state", 2_000) { .update($0.changes($1, 7)) },
      make.write("delete", "delete by id, with its lines", once: true, 2_000) {
        .delete($0.distinctIndexes($1, 8).map(Int64.init))
      },
    ]
    return Part(
      name: "orders",
      peers: [Plain.orders, Memberwise.orders, Logged.orders, SQLiteOrders.self] + grdb("orders"),
      operations: operations, expected: make.expected)
  }

  private static var documents: Part {
    let make = ShapeOperations<Documents, DocumentStep>("documents") { Documents(size: $0) }
    let operations = [
      make.load("insert", "insert all in one transaction") { .insert($0.all) },
      make.size(),
      make.read("find", "find by id, a text", per: "find", 5_000) {
        .find($0.ids($0.indexes($1, 1)))
      },
      make.read("page", "the 20 after an id", 200) {
        .page($0.ids($0.indexes($1, 2)), limit: 20)
      },
      make.read("range", "all whose id has a prefix", 200) { .range($0.folders($1, 3)) },
      make.read("count", "count of ids with a prefix", 2_000) { .countOfPrefix($0.folders($1, 4)) },
      make.read("ids", "ids with a prefix", 1_000) { .idsOfPrefix($0.folders($1, 5)) },
      make.read("sum", "sum over an area", 50) { .sum($0.areas($1, 6)) },
      make.repeated("areas", "counts by area, a text") { _ in .countsByArea },
      make.scan(),
      make.single { .insertEach($0.further($1, from: $2)) },
      make.write("update", "change the body", 1_000) { .update($0.changes($1, 7)) },
      make.write("delete", "delete by id", once: true, 1_000) {
        .delete($0.ids($0.distinctIndexes($1, 8)))
      },
    ]
    return Part(
      name: "documents",
      peers: [
        RawLMDBDocuments.self, Plain.documents, Memberwise.documents, Logged.documents,
        SQLiteDocuments.self,
      ]
        + grdb("documents"),
      operations: operations, expected: make.expected)
  }

  private static var wide: Part {
    let make = ShapeOperations<WideRecords, WideStep>("wide") { WideRecords(size: $0) }
    let operations = [
      make.load("insert", "insert all in one transaction") { .insert($0.all) },
      make.size(),
      make.read("find", "find by id, 40 fields", per: "find", 5_000) { .find($0.ids($1, 1)) },
      make.read("page", "20 of a region by grade", 200) { .page($0.places($1, 2), limit: 20) },
      make.read("range", "3 fields of ten grades of a region", 200) { .range($0.places($1, 3)) },
      make.read("count", "count of ten grades of a region", 500) { .count($0.places($1, 4)) },
      make.read("sum", "sum over ten grades of a region", 500) { .sum($0.places($1, 5)) },
      make.repeated("regions", "counts by region, a text") { _ in .countsByRegion },
      make.repeated("filter", "3 fields of 0.5 %, no index") { _ in .filter(below: 5_000) },
      make.scan(),
      make.single { .insertEach($0.further($1, from: $2)) },
      make.write("update", "change the grade", 2_000) { .update($0.changes($1, 6)) },
      make.write("delete", "delete by id", once: true, 2_000) {
        .delete($0.distinctIndexes($1, 7).map(Int64.init))
      },
    ]
    return Part(
      name: "wide",
      peers: [Plain.wide, Memberwise.wide, Logged.wide, SQLiteWide.self] + grdb("wide"),
      operations: operations, expected: make.expected)
  }

  private static var scores: Part {
    let make = ShapeOperations<Scores, ScoreStep>("scores") { Scores(size: $0) }
    let operations = [
      make.load("insert", "insert all in one transaction") { .insert($0.all) },
      make.size(),
      make.read("find", "find by id, 2 fields", per: "find", 50_000) { .find($0.ids($1, 1)) },
      make.read("page", "the best 50 below a number", 500) {
        .page($0.ranges($1, scores: 50, 2), limit: 50)
      },
      make.read("range", "200 records by points", 200) { .range($0.ranges($1, scores: 200, 3)) },
      make.read("count", "count of 5,000 by points", 500) {
        .count($0.ranges($1, scores: 5_000, 4))
      },
      make.read("sum", "sum over a player", 5_000) { .sum($0.players($1, 5)) },
      make.repeated("players", "counts by player, a number") { _ in .countsByPlayer },
      make.repeated("totals", "count, sum and best by player") { _ in .totalsByPlayer },
      make.scan(),
      make.single { .insertEach($0.further($1, from: $2)) },
      make.write("update", "change the points", 5_000) { .update($0.changes($1, 6)) },
      make.write("delete", "delete by id", once: true, 5_000) {
        .delete($0.distinctIndexes($1, 7).map(Int64.init))
      },
    ]
    return Part(
      name: "scores",
      peers: [Plain.scores, Memberwise.scores, Logged.scores, SQLiteScores.self] + grdb("scores"),
      operations: operations, expected: make.expected)
  }

  private static var tags: Part {
    let make = ShapeOperations<TaggedItems, TagStep>("tags") { TaggedItems(size: $0) }
    let operations = [
      make.load("insert", "insert all in one transaction") { .insert($0.all) },
      make.size(),
      make.read("find", "find by id, with 20 tags", per: "find", 5_000) { .find($0.ids($1, 1)) },
      make.read("page", "the first 20 with a tag", 500) { .page($0.tags($1, 2), limit: 20) },
      make.read("both", "all with both of two tags", 100) { .withBoth($0.pairs($1, 3)) },
      make.read("count", "count with a tag", 2_000) { .count($0.tags($1, 4)) },
      make.read("any", "count with any of two tags", 200) { .countOfAny($0.pairs($1, 5)) },
      make.scan(),
      make.single { .insertEach($0.further($1, from: $2)) },
      make.write("update", "change one tag", 2_000) { .update($0.changes($1, 6)) },
      make.write("delete", "delete by id, with its tags", once: true, 1_000) {
        .delete($0.distinctIndexes($1, 7).map(Int64.init))
      },
    ]
    return Part(
      name: "tags",
      peers: [Plain.tags, Memberwise.tags, Logged.tags, SQLiteTags.self] + grdb("tags"),
      operations: operations, expected: make.expected)
  }

  private static var graph: Part {
    let make = ShapeOperations<Graph, GraphStep>("graph") { Graph(size: $0) }
    let operations = [
      make.load("insert", "insert all places in one transaction") { .insert($0.all) },
      make.load(
        "link", "link members and groups in one transaction", per: "link",
        before: { .insertSchool(members: $0.members, groups: $0.groups) },
        { .link($0.allLinks) }),
      make.size(),
      make.read("find", "find by id", per: "find", 10_000) { .find($0.places($1, 2)) },
      make.read("children", "the places below one", 5_000) { .children($0.places($1, 3)) },
      make.read("count", "count of the places below one", 5_000) {
        .countOfChildren($0.places($1, 4))
      },
      make.read("path", "from a place up to the top", 1_000) { .path($0.places($1, 5)) },
      make.read("branch", "a place and all below it", 20) { .branch($0.branches($1, 6)) },
      make.read("groups", "the groups of a member", 2_000) { .groups($0.members($1, 7)) },
      make.read("members", "count of the members of a group", 2_000) {
        .countOfMembers($0.groups($1, 8))
      },
      make.scan(),
      make.single("link two, durable commit") { .linkEach($0.newLinks($1, from: $2)) },
      make.write("update", "move a place", 2_000) { .update($0.moves($1, 10)) },
      make.write("delete", "delete a place that nothing is below", once: true, 2_000) {
        .delete($0.leaves($1, 10))
      },
      make.write("unlink", "take members out of groups", per: "link", once: true, 5_000) {
        .unlink(Array($0.allLinks.prefix($1)))
      },
    ]
    return Part(
      name: "graph",
      peers: [Plain.graph, Memberwise.graph, Logged.graph, SQLiteGraph.self] + grdb("graph"),
      operations: operations
    ) { size in
      var result = make.expected(size)
      for link in Graph(size: size).allLinks {
        result.add(link: link.member, link.group)
        result.add(link: link.group, link.member)
      }
      return result
    }
  }

  private static var readings: Part {
    let make = ShapeOperations<Readings, ReadingStep>("readings") { Readings(size: $0) }
    let operations = [
      make.load("insert", "insert all in one transaction") { .insert($0.all) },
      make.size(),
      make.read("find", "find by id", per: "find", 20_000) { .find($0.ids($1, 1)) },
      make.read("page", "the last 50 of a sensor", 300) {
        .page($0.spans($1, readings: 50, 2), limit: 50)
      },
      make.read("range", "100 readings of a sensor", 200) {
        .range($0.spans($1, readings: 100, 3))
      },
      make.read("count", "count of 1,000 readings", 500) {
        .count($0.spans($1, readings: 1_000, 4))
      },
      make.read("sum", "sum of 1,000 readings", 200) { .sum($0.spans($1, readings: 1_000, 5)) },
      make.read("max", "the highest of 1,000 readings", 200) {
        .highest($0.spans($1, readings: 1_000, 6))
      },
      make.repeated("sensors", "counts by sensor, a number") { _ in .countsBySensor },
      make.scan(),
      make.single { .insertEach($0.further($1, from: $2)) },
      make.write("update", "change the value", 5_000) { .update($0.changes($1, 7)) },
      make.write("delete", "delete by id", once: true, 5_000) {
        .delete($0.distinctIndexes($1, 8).map(Int64.init))
      },
    ]
    return Part(
      name: "readings",
      peers: [Plain.readings, Memberwise.readings, Logged.readings, SQLiteReadings.self]
        + grdb("readings"),
      operations: operations, expected: make.expected)
  }
}
