import Foundation
import LarchTestSupport

@testable import Larch

extension Store {
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

/// What closures of migrations record for a test to check.
final class Notes: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []

  func add(_ line: String) { lock.withLock { lines.append(line) } }
  var all: [String] { lock.withLock { lines } }
}
