package import Larch

// Helpers that many tests of this package use. Users have `Store.temporary`.

/// A path for a store that is removed after `body`.
package func withScratchPath<T>(_ body: (String) throws -> T) rethrows -> T {
  let path = ScratchFile.freshPath()
  defer { ScratchFile.remove(path) }
  return try body(path)
}

/// The error of Larch that a closure throws, or nil.
package func caught(_ work: () throws -> Void) -> LarchError? {
  do {
    try work()
    return nil
  } catch {
    return error as? LarchError
  }
}

extension Store.Options {
  /// Nothing is flushed, since the file is temporary.
  package static var quick: Self {
    var options = Self()
    options.durability = .none
    return options
  }

  package func with(_ change: (inout Self) -> Void) -> Self {
    var options = self
    change(&options)
    return options
  }
}

extension Store {
  /// The store at `path`, open during `body`.
  package static func using<T>(
    _ path: String, _ types: any Record.Type..., migrations: [Migration] = [],
    options: Options = .quick, _ body: (Store) throws -> T = { _ in () }
  ) throws -> T {
    let store = try Store(
      path: path, types: types, options: options.with { $0.migrations = migrations },
      isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  /// A store in its own file during `body`: it can be closed and opened again, unlike a `temporary`
  /// one.
  package static func scratch<T>(
    _ types: any Record.Type..., body: (Store) throws -> T
  ) throws -> T {
    try withScratchPath { path throws in
      let store = try Store(path: path, types: types, options: .quick, isTemporary: false)
      defer { store.close() }
      return try body(store)
    }
  }

  /// Saves records of one type in one write.
  package func saveAll<R: Record>(_ records: [R]) throws {
    try write { tx throws in
      for record in records {
        var record = record
        try tx.save(&record)
      }
    }
  }

  /// All records of a type, in the order of their ids.
  package func everything<R: Record>(_ type: R.Type = R.self) throws -> [R] {
    try read { tx throws in Array(try tx.all(type)) }
  }
}
