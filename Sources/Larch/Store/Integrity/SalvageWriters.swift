/// The number of records or links in one transaction of the new store.
private let batchSize = 10_000

/// Collects records and writes them in batches.
struct SalvagedRecords {
  private let environment: LMDBEnvironment
  private let name: String
  private var batch: [(key: [UInt8], value: [UInt8])] = []
  private var batchKeys: Set<[UInt8]> = []

  init(_ environment: LMDBEnvironment, _ name: String) {
    self.environment = environment
    self.name = name
  }

  mutating func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    batch.append((Array(key), Array(value)))
    if batch.count == batchSize { try flush() }
  }

  mutating func addIfAbsent(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws -> Bool {
    let keyBytes = Array(key)
    if batchKeys.contains(keyBytes) { return false }
    let isThere = try environment.openDatabases { transaction in
      try LMDBDatabase.open(name, in: transaction)?.get(key, in: transaction) != nil
    }
    if isThere { return false }
    batchKeys.insert(keyBytes)
    try add(key, value)
    return true
  }

  mutating func flush() throws {
    let batch = batch
    self.batch = []
    batchKeys = []
    if batch.isEmpty { return }
    try environment.write { transaction in
      guard let database = try LMDBDatabase.open(name, in: transaction) else { return }
      for (key, value) in batch {
        _ = try key.withUnsafeBytes { key in
          try value.withUnsafeBytes { try database.put(key, $0, in: transaction) }
        }
      }
    }
  }
}
/// Collects links whose records both exist, and writes them in batches.
struct SalvagedLinks {
  private let environment: LMDBEnvironment
  private let lists: StoredLists
  private var batch: [(first: [UInt8], second: [UInt8])] = []
  private(set) var copied = 0
  private(set) var dropped = 0

  init(_ environment: LMDBEnvironment, _ lists: StoredLists) {
    self.environment = environment
    self.lists = lists
  }

  mutating func add(first: UnsafeRawBufferPointer, second: UnsafeRawBufferPointer) throws {
    batch.append((Array(first), Array(second)))
    if batch.count == batchSize { try flush() }
  }

  mutating func flush() throws {
    let batch = batch
    self.batch = []
    if batch.isEmpty { return }
    let lists = lists
    let counts = try environment.write { transaction in
      var copied = 0
      var dropped = 0
      for (first, second) in batch {
        try first.withUnsafeBytes { first in
          try second.withUnsafeBytes { second in
            guard try lists.first.records.get(first, in: transaction) != nil,
              try lists.second.records.get(second, in: transaction) != nil
            else {
              dropped += 1
              return
            }
            let isNew = try lists.databases.forward.put(
              first, second, in: transaction, mode: .ifPairAbsent)
            try lists.databases.inverse.put(
              second, first, in: transaction, mode: .ifPairAbsent)
            if isNew { copied += 1 }
          }
        }
      }
      return (copied: copied, dropped: dropped)
    }
    copied += counts.copied
    dropped += counts.dropped
  }
}
