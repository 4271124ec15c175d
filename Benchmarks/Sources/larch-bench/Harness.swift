import Foundation
import Workload

/// Runs operations round after round, all peers taking turns, and keeps what each round gave.
struct Harness {
  var arguments: Arguments
  var report: Report

  init(arguments: Arguments, file: FileHandle?) {
    self.arguments = arguments
    report = Report(arguments: arguments, file: file)
  }

  mutating func run() throws {
    var shuffle = RandomStream(state: arguments.seed)
    let parts = arguments.benchmark.parts.filter { part in
      part.operations.contains(where: arguments.wants)
    }
    let expected = parts.map { $0.expected(arguments.size) }
    for round in 1...arguments.rounds {
      for (part, expected) in zip(parts, expected) {
        try run(part, round, &shuffle, expected: expected)
      }
    }
  }

  private mutating func run(
    _ part: Benchmark.Part, _ round: Int, _ shuffle: inout RandomStream, expected: QueryResult
  ) throws {
    let directory = URL(filePath: arguments.directory)
    let sessions = try part.peers.filter { arguments.peers.contains($0.peer) }.map {
      try Session($0, size: arguments.size, parent: directory)
    }
    for session in sessions {
      session.stopwatch.countsProcessorTime = arguments.countsProcessorTime
    }
    defer { for session in sessions { try? session.finish() } }
    for stage in Operation.Stage.allCases {
      if stage == .read {
        // As they are after a while: a log that is not merged yet, or a file, would be luck.
        for session in sessions { try session.engine.settle() }
        // Everything is in the page cache, and the stores hold what the workload says, or it ends.
        try compare("V.load" + part.suffix, round, sessions) { try $0.engine.fingerprint() }
        for session in sessions where try session.engine.fingerprint() != expected {
          throw BenchmarkError(
            "\(session.peer)\(part.suffix): the loaded store differs from the workload")
        }
      }
      for operation in part.operations where operation.stage == stage {
        let isWanted = arguments.wants(operation)
        guard isWanted || operation.isNeeded else { continue }
        var measurements: [String: Measurement] = [:]
        for session in shuffled(sessions, &shuffle) {
          if stage == .read { _ = try session.engine.scan() }
          measurements[session.peer] = try operation.run(session)
        }
        if isWanted { try report.add(operation, round, measurements) }
      }
      if stage == .write {
        try compare("V.end" + part.suffix, round, sessions) { try $0.engine.fingerprint() }
      }
    }
    // Sums over all records, which do not tell who of the concurrent writers came first.
    try compare("V.concurrent" + part.suffix, round, sessions) { try $0.engine.scan() }
  }

  private mutating func compare(
    _ name: String, _ round: Int, _ sessions: [Session], _ body: (Session) throws -> QueryResult
  ) throws {
    var measurements: [String: Measurement] = [:]
    for session in sessions {
      let result = try body(session)
      measurements[session.peer] = Measurement(
        operation: name, rows: result.rows, checksum: result.checksum)
    }
    try report.addUntimed(name, round, measurements)
  }

  private func shuffled(_ sessions: [Session], _ stream: inout RandomStream) -> [Session] {
    var order = sessions
    for index in order.indices.dropLast() {
      order.swapAt(index, index + stream.below(order.count - index))
    }
    return order
  }
}
