import Foundation
import LarchTestSupport

@testable import Larch

/// The error of a piece of work, or nil when there was none.
func caught(_ work: () throws -> Void) -> LarchError? {
  do {
    try work()
    return nil
  } catch {
    return error as? LarchError
  }
}

/// A path for a store that is removed after `body`.
func withScratchPath<T>(_ body: (String) throws -> T) rethrows -> T {
  let path = ScratchFile.freshPath()
  defer { ScratchFile.remove(path) }
  return try body(path)
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
    _ path: String, _ types: any Record.Type..., options: Options = .quick,
    _ body: (Store) throws -> T
  ) throws -> T {
    let store = try Store(path: path, types: types, options: options, isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  /// Saves records of one type in one write.
  func saveAll<R: Record>(_ records: [R]) throws {
    try write { tx throws in
      for record in records {
        var record = record
        try tx.save(&record)
      }
    }
  }

  func everything<R: Record>(_ type: R.Type) throws -> [R] {
    try read { tx throws in Array(try tx.all(type)) }
  }

  /// The lines of the dump that show the entries of one index, without the indentation.
  func entries(_ index: String) throws -> [String] {
    var isInside = false
    var found: [String] = []
    for line in try dump().split(separator: "\n") {
      let text = line.drop { $0 == " " }
      let depth = line.count - text.count
      if depth == 2 { isInside = text.contains(" \(index): ") && !text.hasPrefix("{") }
      if depth == 4, isInside { found.append(String(text)) }
    }
    return found
  }
}
