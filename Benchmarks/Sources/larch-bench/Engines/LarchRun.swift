import Larch
import Workload

/// The operations as a user would write them. Inlined into the engines, whose record types are
/// concrete as a user's are.
enum LarchRun {
  @inline(__always)
  static func insert<R: BenchmarkRecord>(_ batch: inout [R], into store: Store) throws -> Int64 {
    try store.write { tx in
      for index in batch.indices { try tx.insert(&batch[index]) }
    }
    return batch.last?.id.rawValue ?? 0
  }

  @inline(__always)
  static func timeConcurrentInserts<R: BenchmarkRecord>(
    _ writers: [[R]], into store: Store, _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, last: Int64) {
    try ConcurrentWriters.inTasks(writers.count, stopwatch) { number in
      var last: Int64 = 0
      for person in writers[number] {
        let id = try await store.write { tx in
          var person = person
          try tx.insert(&person)
          return person.id.rawValue
        }
        last = max(last, id)
      }
      return last
    }
  }

  @inline(__always)
  static func incrementAges<R: BenchmarkRecord>(
    _ type: R.Type, _ ids: [Int64], in store: Store
  ) throws -> UInt64 {
    try store.write { tx in
      for id in ids {
        guard var person = try tx.find(type, RecordID(id)) else { throw missing(type, id) }
        person.age = (person.age + 1) % 100
        try tx.save(&person)
      }
    }
    return UInt64(ids.count)
  }

  @inline(__always)
  static func delete<R: BenchmarkRecord>(
    _ type: R.Type, _ ids: [Int64], from store: Store
  ) throws -> UInt64 {
    var deleted: UInt64 = 0
    try store.write { tx in
      deleted = 0
      for id in ids where try tx.delete(type, RecordID(id)) { deleted += 1 }
    }
    return deleted
  }

  @inline(__always)
  static func find<R: BenchmarkRecord>(
    _ type: R.Type, _ ids: [Int64], in store: Store
  ) throws -> QueryResult {
    try store.read { tx in
      var result = QueryResult(rows: 0, checksum: 0)
      for id in ids {
        guard let person = try tx.find(type, RecordID(id)) else { throw missing(type, id) }
        result.add(person)
      }
      return result
    }
  }

  @inline(__always)
  static func findEach<R: BenchmarkRecord>(
    _ type: R.Type, _ ids: [Int64], in store: Store
  ) throws -> QueryResult {
    var result = QueryResult(rows: 0, checksum: 0)
    for id in ids {
      guard let person = try store.read({ tx in try tx.find(type, RecordID(id)) }) else {
        throw missing(type, id)
      }
      result.add(person)
    }
    return result
  }

  @inline(__always)
  static func scan<R: BenchmarkRecord>(_ type: R.Type, _ store: Store) throws -> QueryResult {
    try store.read { tx in
      var result = QueryResult(rows: 0, checksum: 0)
      for person in try tx.all(type) { result.add(person) }
      return result
    }
  }

  static func fingerprint<R: BenchmarkRecord>(
    _ type: R.Type, _ store: Store
  ) throws -> QueryResult {
    try store.read { tx in
      var fingerprint = Fingerprint()
      for person in try tx.all(type) { fingerprint.add(person.workloadPerson) }
      return QueryResult(rows: UInt64(fingerprint.count), checksum: fingerprint.value)
    }
  }
}

extension QueryResult {
  @inline(__always)
  mutating func add<R: BenchmarkRecord>(_ person: R) {
    rows += 1
    checksum &+= person.checksum
  }
}

private func missing<R: BenchmarkRecord>(_ type: R.Type, _ id: Int64) -> BenchmarkError {
  BenchmarkError("\(type) \(id) is not in the store")
}
