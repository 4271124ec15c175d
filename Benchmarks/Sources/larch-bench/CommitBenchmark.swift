import BenchmarkFigures
import Foundation
import Workload

/// Durable commits of one record, for a while, with all that they cause later: checkpoints, compaction,
/// growth. One peer after the other on a store of the workload, in rounds.
enum CommitBenchmark {
  /// What one peer did in all rounds.
  private struct Stream {
    var commits = 0
    var seconds = 0.0
    /// Of each commit, in nanoseconds; of writers at once, of each of their turns.
    var times: [UInt64] = []
    var bytes = 0

    func time(_ share: Double) -> Double {
      times.isEmpty ? 0 : Double(times.sorted()[Int(Double(times.count - 1) * share)]) / 1000
    }
  }

  static func run(_ arguments: Arguments) throws {
    let seconds = Double(arguments.seconds)
    let peers = arguments.benchmark.parts.flatMap(\.peers).compactMap { $0 as? any Engine.Type }
      .filter { arguments.peers.contains($0.peer) }
    for writers in [1, 8, 64] {
      var streams: [String: Stream] = [:]
      for _ in 0..<arguments.rounds {
        for peer in peers {
          try measure(peer, writers, seconds / Double(arguments.rounds), arguments, &streams)
        }
      }
      show(writers, peers.map { $0.peer }, streams)
    }
  }

  private static func measure(
    _ peer: any Engine.Type, _ writers: Int, _ seconds: Double, _ arguments: Arguments,
    _ streams: inout [String: Stream]
  ) throws {
    let session = try Session(
      peer, size: arguments.size, parent: URL(fileURLWithPath: arguments.directory))
    _ = try session.people.timeInserts([session.take(arguments.size)], session.stopwatch)
    var stream = streams[peer.peer] ?? Stream()
    let start = DispatchTime.now().uptimeNanoseconds
    var now = start
    while Double(now - start) / 1e9 < seconds {
      if writers == 1 {
        // One batch at a time, so that nothing but the commit is between two looks at the clock.
        for record in session.take(50) {
          let before = DispatchTime.now().uptimeNanoseconds
          _ = try session.people.timeInserts([[record]], session.stopwatch)
          now = DispatchTime.now().uptimeNanoseconds
          stream.times.append(now - before)
        }
        stream.commits += 50
      } else {
        let records = (0..<writers).map { _ in session.take(10) }
        let time = try session.people.timeConcurrentInserts(records, session.stopwatch)
        stream.times.append(UInt64(time.nanoseconds))
        stream.commits += writers * 10
      }
      now = DispatchTime.now().uptimeNanoseconds
    }
    stream.seconds += Double(now - start) / 1e9
    stream.bytes = try session.sizeOnDisk()
    streams[peer.peer] = stream
    try session.finish()
  }

  private static func show(_ writers: Int, _ peers: [String], _ streams: [String: Stream]) {
    print("\n\(writers) writer\(writers == 1 ? "" : "s"), microseconds a commit")
    let unit = writers == 1 ? "commit" : "10 turns of all"
    print("peer         mean   of lmdb  | p50, p99, longest \(unit)          MB")
    let base = streams["lmdb"].map { $0.seconds / Double(max($0.commits, 1)) }
    for peer in peers {
      guard let stream = streams[peer] else { continue }
      let mean = stream.seconds / Double(max(stream.commits, 1))
      print(
        peer.padded(to: 12), String(format: "%8.1f", mean * 1e6),
        String(format: "%8.2f ", base.map { mean / $0 } ?? .nan), "|",
        String(format: "%9.1f %9.1f %9.1f", stream.time(0.5), stream.time(0.99), stream.time(1)),
        String(format: "%10.1f", Double(stream.bytes) / 1e6))
    }
  }
}
