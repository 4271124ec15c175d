import BenchmarkFigures
import Workload

/// Makes the operations of a shape: each is a step, prepared untimed, and judged by SQLite.
struct ShapeOperations<S: Shape, Step> where S.Element: HashedRow {
  private let name: String
  private let shape: @Sendable (_ size: Int) -> S

  private let limit = RunSummary.Limit.slowest(must: 1, aim: 0.5)

  init(_ name: String, _ shape: @escaping @Sendable (_ size: Int) -> S) {
    (self.name, self.shape) = (name, shape)
  }

  /// The checksum of all records that are loaded, to the last byte.
  func expected(_ size: Int) -> QueryResult {
    var result = QueryResult()
    let shape = shape(size)
    for index in 1...shape.count { shape.record(index).add(to: &result, .bytes) }
    return result
  }

  /// Records, or whatever the others need, in one transaction.
  func load(
    _ operation: String, _ what: String, per unit: String = "record",
    before: (@Sendable (S) -> Step)? = nil, _ step: @escaping @Sendable (S) -> Step
  ) -> Operation {
    make(operation, what, per: unit, .load, isNeeded: true) { session in
      let shape = shape(session.size)
      if let before { _ = try session.prepare(before(shape))() }
      return try measure(operation, step(shape), session)
    }
  }

  func size() -> Operation {
    make("size", "size after loading", per: "bytes", .load) {
      try Operation.size(name + ".size", $0)
    }
  }

  /// So many queries in one read.
  func read(
    _ operation: String, _ what: String, per unit: String = "query", _ number: Int,
    _ step: @escaping @Sendable (S, Int) -> Step
  ) -> Operation {
    make(operation, what, per: unit, .read) { session in
      let run = try session.prepare(step(shape(session.size), number))
      // Once untimed, as for all queries that run a few times only.
      _ = try run()
      return try Operation.query(name + "." + operation, operations: number, session, run)
    }
  }

  /// A query over the whole store: a few runs, each a read of its own.
  func repeated(
    _ operation: String, _ what: String, _ step: @escaping @Sendable (S) -> Step
  ) -> Operation {
    make(operation, what, per: "query", .read) { session in
      let run = try session.prepare(step(shape(session.size)))
      return try Operation.repeatedQuery(name + "." + operation, session, run)
    }
  }

  func scan() -> Operation {
    make("scan", "read every record", per: "query", .read) { session in
      try Operation.repeatedQuery(name + ".scan", session) { try session.engine.scan() }
    }
  }

  /// So many changes in one transaction.
  func write(
    _ operation: String, _ what: String, per unit: String = "record", once: Bool = false,
    _ number: Int, _ step: @escaping @Sendable (S, Int) -> Step
  ) -> Operation {
    make(operation, what, per: unit, .write, runsOnce: once) { session in
      try measure(operation, step(shape(session.size), number), session)
    }
  }

  /// Durable transactions of one insert each; the step gets the first index behind those loaded.
  func single(
    _ what: String = "insert one, durable commit", per unit: String = "commit", _ number: Int = 100,
    _ step: @escaping @Sendable (S, _ number: Int, _ first: Int) -> Step
  ) -> Operation {
    make("single", what, per: unit, .write) { session in
      let first = session.takeIndexes(number)
      return try measure("single", step(shape(session.size), number, first), session)
    }
  }

  /// A step that tells how many changes it made.
  private func measure(
    _ operation: String, _ step: Step, _ session: Session
  ) throws -> Measurement {
    let run = try session.prepare(step)
    var result = QueryResult()
    let nanoseconds = try session.stopwatch.time { result = try run() }
    return Measurement(
      operation: name + "." + operation, nanoseconds: nanoseconds,
      operations: max(1, Int(result.rows)), rows: result.rows, checksum: result.checksum)
  }

  private func make(
    _ operation: String, _ what: String, per unit: String, _ stage: Operation.Stage,
    isNeeded: Bool = false, runsOnce: Bool = false,
    _ run: @escaping @Sendable (Session) throws -> Measurement?
  ) -> Operation {
    let name = name + "." + operation
    return Operation(
      name: name, what: what, unit: unit, stage: stage, limit: limit, slowest: "sqlite",
      memberwise: (name, limit), isNeeded: isNeeded, runsOnce: runsOnce
    ) { session in
      // How commits are made changes nothing for reads.
      stage == .read && session.peer == "larch-log" ? nil : try run(session)
    }
  }
}

extension Session {
  /// The step with its values in the form of this peer.
  func prepare<Step>(_ step: Step) throws -> () throws -> QueryResult {
    guard let store = engine as? any ShapeStore<Step> else {
      throw BenchmarkError("\(peer) has no store for \(Step.self)")
    }
    return try store.prepare(step)
  }
}
