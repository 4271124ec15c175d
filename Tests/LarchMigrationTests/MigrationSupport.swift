import Foundation
import LarchTestSupport

@testable import Larch

/// Runs a body with the path of a file that is not there yet, and removes what it makes.
func withScratchPath<T>(_ body: (String) throws -> T) rethrows -> T {
  let path = ScratchFile.freshPath()
  defer { ScratchFile.remove(path) }
  return try body(path)
}

/// The error that a body throws, nil when it throws none of Larch.
func caught(_ body: () throws -> Void) -> LarchError? {
  do {
    try body()
    return nil
  } catch {
    return error as? LarchError
  }
}

extension Store.Options {
  /// Nothing is flushed, as befits a file that is thrown away.
  static var quick: Self {
    var options = Self()
    options.durability = .none
    return options
  }

  func with(_ change: (inout Self) -> Void) -> Self {
    var options = self
    change(&options)
    return options
  }
}

extension Store {
  /// The store at `path` for the time of `body`.
  static func using<T>(
    _ path: String, _ types: any Record.Type..., migrations: [Migration] = [],
    options: Options = .quick, _ body: (Store) throws -> T = { _ in () }
  ) throws -> T {
    let store = try Store(
      path: path, types: types, options: options.with { $0.migrations = migrations },
      isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  func saveAll<R: Record>(_ records: [R]) throws {
    try write { tx throws in
      for record in records {
        var record = record
        try tx.save(&record)
      }
    }
  }

  func all<R: Record>(_ type: R.Type = R.self) throws -> [R] {
    try read { tx throws in Array(try tx.all(type)) }
  }

  /// What `verify()` finds wrong.
  var faults: [String] {
    get throws {
      try verify().faults.map(\.description)
    }
  }

  var migrationNames: [String] {
    get throws {
      try CatalogLoader(environment, StoreSchema()).appliedMigrations().map(\.name)
    }
  }
}

/// What closures of migrations leave behind for a test to look at.
final class Notes: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []

  func add(_ line: String) { lock.withLock { lines.append(line) } }
  var all: [String] { lock.withLock { lines } }
}
