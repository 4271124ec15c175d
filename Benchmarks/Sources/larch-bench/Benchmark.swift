import Workload

/// Operations, and the stores that they run on.
struct Benchmark {
  /// Operations that share a store of each peer.
  struct Part {
    /// Nothing for a benchmark of one part.
    var name: String
    var peers: [any StoreEngine.Type]
    var operations: [Operation]
    /// What every store must hold after loading, from the generator alone.
    var expected: (_ size: Int) -> QueryResult

    /// What tells the names of comparisons apart.
    var suffix: String { name.isEmpty ? "" : "." + name }
  }

  var parts: [Part]
  /// Columns, in their order.
  var peers: [String]
  /// Peers that this program can be built without, with what to do to have them.
  var optionalPeers: [String: String]
  /// A ratio is to the first of these that runs the operation.
  var units: [String]
  /// The peer whose growth is that which is allowed.
  var yardstick: String
  var ratioTitle: String
  var growthTitle: String
  /// Lines below the table.
  var notes: [String] = []

  var operations: [Operation] { parts.flatMap(\.operations) }

  /// The workload of people, beside raw LMDB.
  static var people: Benchmark {
    let peers: [any StoreEngine.Type] =
      [RawLMDBEngine.self] + larchPeers + [SQLiteEngine.self] + sortedFilesPeers
    let part = Part(name: "", peers: peers, operations: Operation.people) { size in
      var fingerprint = Fingerprint()
      for index in 1...size { fingerprint.add(WorkloadPerson(index: index, size: size)) }
      return QueryResult(rows: UInt64(fingerprint.count), checksum: fingerprint.value)
    }
    return Benchmark(
      parts: [part], peers: peers.map { $0.peer },
      optionalPeers: [
        "rocksdb": "install it and build again", "leveldb": "install it and build again",
      ],
      units: ["lmdb"], yardstick: "lmdb", ratioTitle: "ratios to raw LMDB",
      growthTitle: "growth beside that of raw LMDB")
  }
}
