import BenchmarkFigures
import Foundation
import Workload

/// Sets the state up untimed, then runs one operation again and again.
func runProfile(_ name: String, _ arguments: Arguments) throws {
  if ["encode", "decode"].contains(name) {
    return try profileCoding(isEncoding: name == "encode", arguments)
  }
  let names = { (operation: Operation) in [operation.name, operation.memberwise?.name] }
  let parts = arguments.benchmark.parts
  guard let part = parts.first(where: { $0.operations.contains { names($0).contains(name) } }),
    let operation = part.operations.first(where: { names($0).contains(name) })
  else { throw BenchmarkError("no operation \(name)") }
  guard let peer = part.peers.first(where: { $0.peer == arguments.profilePeer }) else {
    throw BenchmarkError("\(arguments.profilePeer) does not run \(name)")
  }
  // A second load needs an empty store, a second delete the records that the first one deleted.
  let needsFreshStore = operation.isNeeded || operation.runsOnce
  var session: Session?
  defer { try? session?.finish() }
  for repetition in 1...arguments.repetitions {
    if session == nil || needsFreshStore {
      try session?.finish()
      session = try Session(
        peer, size: arguments.size, parent: URL(filePath: arguments.directory))
      if let session {
        for load in part.operations
        where load.isNeeded && load.name != operation.name { _ = try load.run(session) }
      }
      if let session, operation.stage == .read { _ = try session.engine.scan() }
    }
    session?.stopwatch.isProfiling = true
    guard let session, let measurement = try operation.run(session) else {
      throw BenchmarkError("\(peer.peer) does not run \(name)")
    }
    session.stopwatch.isProfiling = false
    print("\(repetition): \(peer.peer) \(name) \(decimal(measurement.figure, 1)) ns")
  }
}

/// A thousand records a repetition.
private func profileCoding(isEncoding: Bool, _ arguments: Arguments) throws {
  let types: [any CodingPeer.Type] = [HandWrittenCoding.self] + larchCodingPeers
  guard let type = types.first(where: { $0.name == arguments.profilePeer }) else {
    throw BenchmarkError("no coder \(arguments.profilePeer); there are \(types.map { $0.name })")
  }
  let peer = try type.init(WorkloadPerson.records(1...1_000, size: 100_000))
  // Whatever is learned once is learned before.
  _ = try peer.encodeAll()
  _ = try peer.decodeAll()
  let nanoseconds = try Stopwatch(isProfiling: true).time {
    for _ in 0..<arguments.repetitions {
      _ = isEncoding ? UInt64(try peer.encodeAll()) : try peer.decodeAll()
    }
  }
  print("\(type.name): \(decimal(nanoseconds / Double(1_000 * arguments.repetitions), 1)) ns")
}
